"""A small model behind an OpenAI-compatible server as a judge: of each answer, and of answers against each other.

    pip install 'llama-cpp-python[server]' 'guerdon[judges]'
    python -m llama_cpp.server --model SmolLM2-135M-Instruct.Q4_1.gguf --port 8000 --logits_all true
    python examples/judge_smollm2.py http://127.0.0.1:8000/v1

Asked a second time, everything comes from the cache. A model of this size does not keep to the form of a verdict, so what it
would say is read from its probabilities (`sure`), and the prompts are short; a large one does with those of the judges.
"""

import sys

import guerdon as gd
from guerdon import score_samples

ANSWER = "Question: {prompt}\nAnswer: {completion}\n\n"
PAIR = "Question: {prompt}\nA: {first}\nB: {second}\n\nWhich answer is better, A or B? Reply with one letter."
QUESTIONS = [  # and a right answer, and a wrong one
    ("What is the capital of France?", "The capital of France is Paris.", "Bananas are yellow."),
    ("What is 2 + 2?", "2 + 2 is 4.", "2 + 2 is a dog."),
    ("Name a yellow fruit.", "A banana is a yellow fruit.", "A car has four wheels."),
    ("How many days are in a week?", "There are seven days in a week.", "My hat is blue."),
]


def judges(url, cache=True):
    by = gd.endpoint(url, "smollm2", prices=(0.1, 0.4), cache=cache)
    return [
        gd.judge(by, sure=True, prompt=ANSWER + "How good is this answer, from 1 to 5? Reply with one digit."),
        gd.yes(by, prompt=ANSWER + "Is this answer correct? Reply yes or no."),
        gd.pairwise(by, sure=True, prompt=PAIR),
    ]


def main(url, cache=True):
    samples = [{"prompt": q, "completion": text} for q, *pair in QUESTIONS for text in pair]
    made = judges(url, cache)
    for reward in made:
        values = score_samples(reward, samples, group=[n // 2 for n in range(len(samples))]).whole
        print(reward.name, ["none" if v is None else round(v, 2) for v in values])
        print("  asked {asked}, hits {hits}, tokens {tokens_in} + {tokens_out}, cost {cost:.6f}".format(**reward.total))
    return made


if __name__ == "__main__":
    main(*sys.argv[1:])
