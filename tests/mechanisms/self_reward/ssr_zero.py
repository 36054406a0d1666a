"""SSR-Zero: the policy's own score from 0 to 100, and a bare translation, in place of a reference."""

from __future__ import annotations

import torch
from harness import Mechanism, World, learned, made, said_texts

import guerdon as gd
from guerdon.core.wordings import fit_wordings
from guerdon.recipes.self_reward.ssr_zero import ASKED, bare, of_100

SCORES = {
    "talu miro ame": "100",
    "miro talu ame": "40",
    '"talu"': "55",
    "shy": "0",
    "talu": "101",
    "miro": "-5",
    "ame": "much",
}


@gd.part
class rates(gd.Answerer):
    """Scores what it knows, in the form that is asked for, or as it likes."""

    async def answer(self, questions, models):
        texts = [each.messages[0][1] for each in questions]
        said = [next(score for text, score in SCORES.items() if f">\n{text}\n<" in asked) for asked in texts]
        return [gd.JudgeAnswer(f"It reads well.\nVerdict: {score}") for score in said]


class sentences:
    """Sentences with or without their translation."""

    name = "sentences"

    def __init__(self, answer):
        self.answer = answer

    def get(self, split, index):
        return gd.Task(str(index), "the dog loves the cat", self.answer)

    def size(self, split):
        return 1

    def check(self, task, completion):
        return float(completion == task.answer) if task.answer else None


def recipe(answer="", name="ssr-zero", **knobs):
    made_of = made(name, sentences(answer), **knobs)
    fit_wordings(made_of, knows_roles=False)
    for leaf in made_of.stages.scores[-1].reward.leaves if name == "ssr-zero" else ():
        if hasattr(leaf, "by"):
            leaf.by = rates()
    return made_of


def paid(*texts, answer="", **knobs):
    samples = [{"prompt": "the dog loves the cat", "completion": text, "answer": answer} for text in texts]
    return gd.score_samples(recipe(answer, **knobs).stages.scores[-1].reward, samples).whole


def composed(answer="", **knobs):
    built = made("ssr-zero", sentences(answer), **knobs)
    return [
        str(built.stages.scores[-1].reward.terms["own_score"].by),
        sorted(built.models),
        len(built.exams[0].metrics),
    ]


def best(name="ssr-zero", **knobs):
    """The probability of the best of three translations after 40 steps from even odds, without any reference."""
    texts = ["talu miro ame", "miro talu ame", "shy"]

    def draw(step, p):
        answer = torch.arange(6) % 3
        return said_texts(("0", [texts[i] for i in answer])), torch.zeros(6, dtype=torch.long), answer

    return float(learned(recipe(name=name, **knobs), draw, torch.zeros(1, 3), 40)[0, 0])


mechanism = Mechanism(
    "ssr-zero",
    source="arXiv:2505.16637, abstract and summaries: r = own score / 100 + format, GRPO; SSR-X adds COMET",
    numbers={
        "score and form": (
            lambda: paid("talu miro ame", "miro talu ame", '"talu"', "shy"),
            [1.1, 0.5, 0.55, 0.1],
        ),
        "outside 0 to 100": (lambda: paid("talu", "miro", "ame", "shy"), [None, None, None, 0.1]),
        "form alone": (lambda: [bare()(text) for text in ("a b", "“a", "a”", "a\nb", " ", " a ")], [1, 0, 0, 0, 0, 1]),
        "its weight": (lambda: paid("miro talu ame", form=0.5), [0.9]),
        "with chrF": (
            lambda: paid("talu miro ame", "shy", answer="talu miro ame", external=0.5),
            [1.1 + 0.5, 0.1],
        ),
        "with a reward of your own": (
            lambda: paid("talu miro ame", "shy", external=0.5, reward=gd.length(1, unit="words")),
            [1.1, 0.1 + 0.5],
        ),
        "asked": (lambda: [ASKED in str(leaf.prompt) for leaf in recipe().stages.scores[-1].reward.leaves[:1]], [True]),
        "of sprig's": (
            lambda: [of_100("sprig").scale, of_100("sprig").prompt, of_100("sprig").name],
            [[1, 5], "", "own_score"],
        ),
        "by the policy": (composed, ["run_model()", ["policy"], 0]),
        "by the start model": (
            lambda: composed(answer="dog", judged_by="start"),
            ["run_model(name='reference')", ["policy", "reference"], 2],
        ),
        "what it learns from": (lambda: recipe().stages.credit[0].reward, "reward"),
    },
    world=World(
        says="without a reference the translation that the policy scores highest becomes likelier",
        measure=best,
        off={"name": "grpo"},
        moves=0.3,
    ),
)
