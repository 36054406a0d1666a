"""Format and length as surrogates: what is paid is a readable answer of a middle length."""

from __future__ import annotations

import torch
from harness import Mechanism, World, learned, made, paid, said_texts

import guerdon as gd


def pay(*tries, limit=8, **knobs):
    """What tries of so many tokens are paid, the limit being 8."""
    recipe = made("format-length-surrogate", max_tokens=limit, **knobs)
    return paid(recipe, [{"completion": text, "actions": [0] * n} for text, n in tries])


def of_length(*lengths, **knobs):
    return pay(*(("= 4", n) for n in lengths), **knobs)


def readable(steps=12, formed=0.5):
    """How many of a model's tries can be read after learning; at first one in five, and all are equally long."""
    dice, recipe = torch.Generator().manual_seed(0), made("format-length-surrogate", max_tokens=8, formed=formed)
    texts = ["so = 4", "so it4"]

    def draw(step, p):
        answer = torch.multinomial(p[0], 16, replacement=True, generator=dice)
        return said_texts(("a", [texts[n] for n in answer.tolist()])), torch.zeros(16, dtype=torch.long), answer

    return float(learned(recipe, draw, torch.tensor([[0.2, 0.8]]).log(), steps)[0, 0])


mechanism = Mechanism(
    "format-length-surrogate",
    source="arXiv:2505.19439; insightLLM/rl-without-gt, rl/verl/lib/src/rewards/math_reward.py, lines 231 and 365",
    equal={"well_formed.__call__: x <= p -> x < p": "both sides are worth 1 at the turning point"},
    numbers={
        "the parabola": (lambda: of_length(0, 2, 4, 6, 8, formed=0.0), [0.0, 0.75, 1.0, 0.5, -1.0]),
        "beyond the limit": (lambda: of_length(9, 12, formed=0.0), [-1.0, -1.0]),
        "another turning point": (
            lambda: of_length(1, 2, 5, 8, formed=0.0, turning=0.25),
            [0.75, 1.0, 0.5, -1.0],
        ),
        "a readable answer": (lambda: of_length(2, 4, 8), [1.25, 1.5, -0.5]),
        "one that cannot be read": (
            lambda: pay(("so four", 0), ("so 4", 2), ("", 4), ("so 4", 8)),
            [0.0, 0.0, 0.0, -1.0],
        ),
        "after the usual marks": (
            lambda: pay((r"\boxed{4}", 2), ("#### 4", 2), ("answer: 4", 2), ("= x", 2), ("=4", 2)),
            [1.25, 1.25, 1.25, 0.0, 0.0],
        ),
        "texts after a mark of one's own": (
            lambda: pay(("is x", 2), ("= x", 2), ("4", 2), read="text", marks=("is ",)),
            [1.25, 0.0, 0.0],
        ),
        "tags": (
            lambda: pay(("<a>= 4</a>", 2), ("= 4", 2), ("<a>4</a>", 2), tags="<a>..</a>"),
            [1.75, 1.25, 0.0],
        ),
        "the run's own limit, and the truth unseen": (
            lambda: [
                made("format-length-surrogate").stages.scores[-1].reward.limit,
                *(type(stage).__name__ for stage in made("format-length-surrogate").stages),
            ],
            [256, "verified", "score", "centre", "Learn"],
        ),
        "right or wrong is no matter": (
            lambda: [
                gd.score_samples(
                    made("format-length-surrogate").stages.scores[-1].reward, [{**said, "answer": "4"}]
                ).whole
                for said in ({"completion": "= 4", "actions": [0] * 128}, {"completion": "= 5", "actions": [0] * 128})
            ],
            [[1.5], [1.5]],
        ),
    },
    world=World(
        says="a model that writes a readable answer one time in five comes to write it nearly always",
        measure=readable,
        off={"steps": 0},
        moves=0.5,
    ),
)
