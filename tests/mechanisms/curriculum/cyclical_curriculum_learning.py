"""Cyclical curriculum learning: passes over a part of the examples that grows and shrinks, easy ones drawn more often."""

from __future__ import annotations

from itertools import islice

import torch
from harness import Mechanism, World

from guerdon.recipes.curriculum.cyclical_curriculum_learning import cycle, drawn
from guerdon.studies.digits import Examples

TEN = Examples(torch.arange(10.0)[:, None], torch.arange(10))
ALL = (1.0, 1.0, 0.5)  # of the examples, in every pass
EASY = torch.tensor([1.0] * 5 + [1e-9] * 5, dtype=torch.float64)


def shares(n, *how):
    return list(islice(cycle(*how), n))


def batches(samples, batch, scores=None, how=(0.5, 1.0, 0.5)):
    chances = torch.ones(10, dtype=torch.float64) if scores is None else scores
    return [each.y.tolist() for each in drawn(TEN, chances, cycle(*how), samples, batch, 3)]


def easy(scores):
    """The share of easy examples in the first passes, which take half of all."""
    first = batches(5, 5, EASY if scores == "easy" else None)[0]
    return sum(label < 5 for label in first) / 5


mechanism = Mechanism(
    "cyclical-curriculum-learning",
    source="arXiv:2202.05531 and its authors' code: sizes grow by 1/alpha and shrink by alpha; examples by scores",
    numbers={
        "up and down": (lambda: shares(7, 0.25, 1.0, 0.5), [0.25, 0.5, 1.0, 0.5, 0.25, 0.5, 1.0]),
        "bounded by both ends": (lambda: shares(5, 0.3, 0.5, 0.5), [0.3, 0.5, 0.3, 0.5, 0.3]),
        "steps of another size": (lambda: shares(6, 0.4, 1.0, 0.8), [0.4, 0.5, 0.625, 0.78125, 0.9765625, 1.0]),
        "sizes of passes, cut in batches": (lambda: [len(each) for each in batches(20, 4)], [4, 1, 4, 4, 2, 4, 1]),
        "the last pass is cut short": (lambda: [len(each) for each in batches(8, 9)], [5, 3]),
        "one at least": (lambda: [len(each) for each in batches(2, 9, how=(0.01, 0.01, 0.5))], [1, 1]),
        "no example twice in a pass": (
            lambda: len({row for each in batches(15, 9, how=ALL)[:2] for row in each}),
            10,
        ),
        "by their scores": (lambda: sorted(batches(5, 5, EASY)[0]), [0, 1, 2, 3, 4]),
        "shuffled anew": (
            lambda: batches(20, 10, how=ALL)[0] != batches(20, 10, how=ALL)[1],
            True,
        ),
    },
    world=World(
        says="half of the examples are easy: the first pass takes those",
        measure=easy,
        on={"scores": "easy"},
        off={"scores": "equal"},
        moves=0.2,
    ),
    equal={
        "cycle: True -> False": "at its start it grows anyhow",
        "drawn: rows[torch.randperm(len(rows), generator=draw)][:left] shuffled": "another order by lot",
        "drawn: rows[torch.randperm(len(rows), generator=draw)] shuffled": "another order by lot",
    },
    without={
        "cyclical_curriculum_learning": "the study around the passes; tests/recipes/test_studies.py trains its networks"
    },
)
