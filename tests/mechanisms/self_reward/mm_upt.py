"""MM-UPT: what most tries at a problem say is right."""

from __future__ import annotations

import torch
from harness import Mechanism, World, learned, made, paid, said_texts

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.rewards.text.agreement import majority


def votes(*texts, **knobs):
    return paid(made("mm-upt", **knobs), said(*texts))


def whys(*texts):
    recipe = made("mm-upt")
    return [each["why"] for each in gd.score_samples(recipe.stages.scores[-1].reward, said(*texts)).details]


def said(*texts):
    return [{"completion": text} for text in texts]


def advantages(*texts):
    recipe, batch = made("mm-upt"), said_texts(("a", texts[:3]), ("b", texts[3:]))
    for stage in (recipe.stages.scores[-1], *recipe.stages.credit):
        batch = stage(batch, ExamplePlay())
    return batch["advantage"].tolist()


def refused():
    """A step in which no problem has more than one try."""
    try:
        made("mm-upt").stages.scores[-1](said_texts(("a", ["4"]), ("b", ["5"])), ExamplePlay())
    except UserError as error:
        return str(error)


def accuracy(method=True, right=0.4):
    """How likely the right one of ten answers is after 12 steps without the truth, from `right`; the others share the rest."""
    dice = torch.Generator().manual_seed(0)
    start = torch.tensor([[right, *[(1 - right) / 9] * 9]]).log()

    def draw(step, p):
        answer = torch.multinomial(p[0], 16, replacement=True, generator=dice)
        return said_texts(("a", [str(n) for n in answer.tolist()])), torch.zeros(16, dtype=torch.long), answer

    return float(learned(made("mm-upt"), draw, start, steps=12 if method else 0)[0, 0])


S = (1 / 3) ** 0.5 + 1e-4  # of 1, 1, 0
mechanism = Mechanism(
    "mm-upt",
    source="arXiv:2505.22453; waltonfuture/MM-UPT, verl/workers/reward/function.py, lines 148-163, and ties shared",
    also=[majority],
    without={
        "majority._tally": "sections of a group are for rlccf",
        "majority._heard": "sections of a group are for rlccf",
        "majority._cast": "sections of a group are for rlccf",
        "majority._places": "sections of a group are for rlccf",
        "majority.__post_init__": "it refuses knobs",
    },
    equal={"majority.score: place[1] shuffled": "a group has one section here"},
    numbers={
        "the majority": (lambda: votes("4", "so 4.0", "5", "who knows"), [1.0, 1.0, 0.0, 0.0]),
        "ties share": (lambda: votes("4", "4", "5", "5"), [0.5] * 4),
        "and which came first is no matter": (lambda: votes("5", "4", "4", "5", "6"), [0.5, 0.5, 0.5, 0.5, 0.0]),
        "the share of the votes": (lambda: votes("4", "4", "4", "5", "?", share=True), [0.75, 0.75, 0.75, 0.25, 0.0]),
        "texts": (lambda: votes("Answer: Rome", "answer:  rome", "Answer: Oslo", votes="text"), [1.0, 1.0, 0.0]),
        "nobody has an answer": (lambda: votes("?", "!"), [None, None]),
        "compared in the group": (
            lambda: advantages("4", "4", "5", "5", "6", "7"),
            [1 / 3 / S, 1 / 3 / S, -2 / 3 / S, 0.0, 0.0, 0.0],
        ),
        "the truth is logged": (
            lambda: [type(stage).__name__ for stage in made("mm-upt").stages],
            ["verified", "score", "centre", "Learn"],
        ),
        "what is told of each": (
            lambda: whys("4", "4", "5", "?") + whys("?"),
            [
                "2 of 3 votes for 4",
                "2 of 3 votes for 4",
                "1 of 3 votes for 5",
                "no answer",
                "nobody in the group has an answer",
            ],
        ),
        "a group of one": (
            refused,
            "majority compares tries at one problem, and no try has more than one vote: --set tries=8",
        ),
        "a wrong majority is amplified": (lambda: accuracy(right=0.05) < 0.02, True),
    },
    world=World(
        says="a right answer that four of ten tries give becomes more likely without the truth",
        measure=accuracy,
        off={"method": False},
        moves=0.4,
    ),
)
