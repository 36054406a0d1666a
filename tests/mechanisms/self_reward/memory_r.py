"""Memory-R+: likeness to remembered right tries and unlikeness to wrong ones are added to the outcome."""

from __future__ import annotations

import torch
from harness import Mechanism, World, learned, made, paid, said_texts

import guerdon as gd
from guerdon.rewards.memory.likeness import from_centroid, from_nearest, remembered_likeness
from guerdon.rewards.memory.novelty import hashed_ngrams

TASK = gd.tasks.load("chain:1")
FIRST, SECOND = (TASK.get("train", n) for n in (0, 5))
RIGHT, OTHER = f"4*4=16\n16*5=80\n= {FIRST.answer}", f"so\n= {FIRST.answer}"
WRONG, FAR = f"4*4=16\n16*5=81\n= {FIRST.answer}1", "I am not sure"
SAID = f"= {SECOND.answer}"


def reward(**knobs):
    return made("memory-r", TASK, **{"wait": 0, **knobs}).stages.scores[-1].reward


def samples(*texts, task=FIRST):
    return [{"task": task, "prompt": task.prompt, "completion": text} for text in texts]


def parts(formula, *texts, task=FIRST):
    scored = gd.score_samples(formula, samples(*texts, task=task)).parts
    return [scored[name] for name in ("exploit", "explore")]


def whole(*texts, **knobs):
    return paid(made("memory-r", TASK, **{"wait": 0, **knobs}), samples(*texts))


def vectors(*texts):
    return hashed_ngrams(texts, 256)


def placed(distances, recent=(), like=True):
    low, high = min([*distances, *recent]), max([*distances, *recent])
    return [abs(like - (each - low) / (high - low)) for each in distances]


def to_centre(texts, *right):
    return [float((vectors(text)[0] - vectors(*right).mean(0)).norm()) for text in texts]


def to_wrong(texts, *wrong):
    return [1 - float((vectors(text) @ vectors(*wrong).t()).max()) for text in texts]


def near(these, those):
    """Whether numbers are equal but for the rounding of half as many digits."""
    return [
        [a is b or abs(a - b) < 1e-5 for a, b in zip(one, other, strict=True)]
        for one, other in zip(these, those, strict=True)
    ]


def after(*steps, pick=0, **knobs):
    """What exploit (0) or explore (1) is in the last of some steps, each (a problem, texts)."""
    formula = reward(**knobs)
    return [parts(formula, *texts, task=task) for task, texts in steps][-1][pick]


def kept(**knobs):
    """The texts in both memories after a step, as how many of a right, a wrong and a try without a verdict are there."""
    memories = []
    for which in ("right", "wrong"):
        verdict = gd.reward(
            lambda completion: {RIGHT: 1.0, WRONG: 0.0, FAR: None, OTHER: 0.5}[completion], isolate=False
        )
        memory = remembered_likeness(verdict, which, **knobs)
        gd.score_samples(memory, samples(RIGHT, WRONG, FAR, OTHER))
        told = vectors(RIGHT, WRONG, FAR, OTHER).float()
        memories.append([int((memory.try_vectors == each).all(1).sum()) for each in told])
    return memories


def forgotten():
    """The prompts and tries that are left of more, oldest first."""
    memory = remembered_likeness(gd.exact(), prompts=2, tries=2)
    for prompt, texts in (("a", "11"), ("b", "1"), ("a", "11"), ("c", "1"), ("b", "11")):
        gd.score_samples(memory, [{"prompt": prompt, "completion": text, "answer": "1"} for text in texts])
    numbers = (memory.prompt_vectors.double() @ vectors("a", "b", "c").t()).argmax(1).tolist()
    return [numbers, len(memory.asked), [memory.asked.index(name) for name in memory.made_at], len(memory.try_vectors)]


def asked_once(**knobs):
    """How often a reward is asked whether two samples are right, by both memories together."""
    calls = []
    verdict = gd.reward(lambda completion: calls.append(completion) or 1.0, isolate=False)
    both = gd.blend(a=remembered_likeness(verdict), b=remembered_likeness(verdict, "wrong"))
    gd.score_samples(both, samples(RIGHT, FAR))
    return len(calls)


def among_wrong(steps=9, **knobs):
    """How likely the wrong try that is like a right one is, learned from groups in which no try is right."""
    recipe, dice = made("memory-r", TASK, **{"wait": 0, "explore": 0.0, **knobs}), torch.Generator().manual_seed(0)
    gd.score_samples(recipe.stages.scores[-1].reward, samples(RIGHT))
    texts = [WRONG, FAR]

    def draw(step, p):
        answer = torch.multinomial(p[0], 8, replacement=True, generator=dice)
        return (
            said_texts((gd.Ask(FIRST), [texts[n] for n in answer.tolist()])),
            torch.zeros(8, dtype=torch.long),
            answer,
        )

    return float(learned(recipe, draw, torch.zeros(1, 2), steps)[0, 0])


STEP = [RIGHT, OTHER, WRONG, FAR]
mechanism = Mechanism(
    "memory-r",
    source="arXiv:2504.02273; thaihungle/Memory-R at a193f4f6, rewards/ir_knn_st.py and run_gsm8k.py, lines 137-170",
    also=[remembered_likeness, from_centroid, from_nearest],
    numbers={
        "between two right ones": (
            lambda: [
                from_centroid(torch.tensor(y), torch.tensor([[0.0, 0.0], [2.0, 0.0]])) for y in ([1.0, 0.0], [1.0, 3.0])
            ],
            [0.0, 3.0],
        ),
        "the nearest wrong one": (
            lambda: from_nearest(torch.tensor([2.0, 0.0]), torch.tensor([[0.0, 1.0], [3.0, 4.0]])),
            0.4,
        ),
        "a step": (
            lambda: near(
                parts(reward(), *STEP),
                [placed(to_centre(STEP, RIGHT, OTHER)), placed(to_wrong(STEP, WRONG, FAR), like=False)],
            ),
            [[True] * 4] * 2,
        ),
        "the next one": (
            lambda: near(
                [after((FIRST, STEP), (FIRST, [WRONG, FAR, OTHER]))],
                [placed(to_centre([WRONG, FAR, OTHER], RIGHT, OTHER, OTHER), to_centre(STEP, RIGHT, OTHER))],
            ),
            [[True] * 3],
        ),
        "a short window": (
            lambda: near(
                [after((FIRST, STEP), (FIRST, [WRONG, OTHER]), window=2)],
                [placed(to_centre([WRONG, OTHER], RIGHT, OTHER, OTHER))],
            ),
            [[True] * 2],
        ),
        "the nearest prompt": (
            lambda: near(
                [after((FIRST, [RIGHT]), (SECOND, [SAID, FAR, WRONG]), k=k) for k in (1, 2)],
                [placed(to_centre([SAID, FAR, WRONG], *those), [0.0]) for those in ([SAID], [RIGHT, SAID])],
            ),
            [[True] * 3] * 2,
        ),
        "nothing right yet": (lambda: after((FIRST, [WRONG, FAR])), [None, None]),
        "all alike": (lambda: after((FIRST, [RIGHT, RIGHT])), [None, None]),
        "a wait": (
            lambda: [after((FIRST, STEP), (SECOND, [SAID, FAR]), pick=1, wait=n)[0] is None for n in (2, 3)],
            [False, True],
        ),
        "the wait of the code": (lambda: [made("memory-r", TASK).stages.scores[-1].reward.leaves[-1].wait], [500]),
        "what is kept": (kept, [[1, 0, 0, 1], [0, 1, 0, 0]]),
        "what is forgotten": (forgotten, [[1, 2], 2, [1, 0, 0], 3]),
        "asked once": (asked_once, 2),
        "weights": (
            lambda: [
                [round(x, 4) for x in whole(*STEP, exploit=a, explore=b)]
                for a, b in ((0.0, 0.0), (1.0, 0.0), (0.0, 0.5))
            ],
            [
                [1.0, 1.0, 0.0, 0.0],
                [round(a + b, 4) for a, b in zip([1, 1, 0, 0], placed(to_centre(STEP, RIGHT, OTHER)), strict=True)],
                [
                    round(a + b / 2, 4)
                    for a, b in zip([1, 1, 0, 0], placed(to_wrong(STEP, WRONG, FAR), like=False), strict=True)
                ],
            ],
        ),
        "tags": (
            lambda: whole(
                f"<a>= {FIRST.answer}</a>", "<a>7</a>", "7", tags="<a>..</a>", formed=0.25, exploit=0.0, explore=0.0
            ),
            [0.25, 0.25, 0.0],
        ),
        "a reward of one's own beside the truth": (
            lambda: paid(
                made("memory-r", TASK, reward=gd.length(1, unit="words"), exploit=0.0), samples(RIGHT, "a", WRONG)
            ),
            [gd.length(1, unit="words")(text) for text in (RIGHT, "a", WRONG)],
        ),
    },
    world=World(
        says="where no try is right, the one that is like a remembered right one becomes likelier",
        measure=among_wrong,
        off={"exploit": 0.0},
        moves=0.3,
    ),
    equal={
        "remembered_likeness.rate: hashlib.sha256(text.encode()).hexdigest()[:16] shuffled": "a name of a prompt",
        "remembered_likeness.rate: 16 -> 17": "its length",
        "remembered_likeness._between: high - low < FLAT -> high - low <= FLAT": "no spread is that to the last bit",
        "from_nearest: torch.cosine_similarity(...) with others before own[None]": "the cosine is symmetric",
    },
)
