"""Curriculum Designer: orders of classes ranked by how far neighbours and mirrored ones are from each other."""

from __future__ import annotations

from itertools import permutations

import torch
from harness import Mechanism, World

from guerdon.recipes.curriculum.curriculum_designer import (
    distances,
    one_at_a_time,
    rank_agreement,
    similarity_score,
)
from guerdon.studies.digits import Examples

# classes 0, 1 and 2 along (1, 0), (0, 1) and (1, 1), each twice with another length
IMAGES = torch.tensor([[1.0, 0.0], [3.0, 0.0], [0.0, 1.0], [0.0, 3.0], [1.0, 1.0], [3.0, 3.0]])
THREE = Examples(IMAGES, torch.tensor([0, 0, 1, 1, 2, 2]))
C = 1 - 0.5**0.5  # cosine distance of a corner to the diagonal; of the corners, 1
APART = torch.tensor([[0.0, 0.6, 0.3, 0.1], [0.5, 0.0, 0.3, 0.2], [0.4, 0.4, 0.0, 0.2], [0.1, 0.3, 0.6, 0.0]])
SPREAD = [torch.tensor(row).var(correction=0).item() for row in APART.tolist()]


def taught(order, batch=2, keep=1):
    examples = Examples(torch.arange(8.0)[:, None], torch.tensor([0, 0, 0, 1, 1, 2, 2, 2]))
    return [each.y.tolist() for each in one_at_a_time(examples, order, batch, keep, 5)]


def neighbours(rank):
    """How far the classes that come first are from those after them, in the best order; by lot, over all orders."""
    orders = list(permutations(range(4)))
    best = [max(orders, key=lambda order: similarity_score(order, APART))] if rank == "similarity" else orders
    return sum(float(APART[order[0], order[1]] + APART[order[1], order[2]]) for order in best) / len(best)


MEAN = "examples.x[examples.y == c].double()"

mechanism = Mechanism(
    "curriculum-designer",
    source="arXiv:2211.15470, with the released code's ranking (ZhangLab-DeepNeuroCogLab/Learning2Learn)",
    numbers={
        "cosine distances of mean images, as shares": (
            lambda: distances(THREE, [0, 1, 2]),
            [[0.0, 1 / (1 + C), C / (1 + C)], [1 / (1 + C), 0.0, C / (1 + C)], [0.5, 0.5, 0.0]],
        ),
        "the score of 0 1 2 3": (
            lambda: similarity_score([0, 1, 2, 3], APART),
            1 - SPREAD[0] / sum(SPREAD) + (0.6 + 1 - 0.1) + (0.3 + 1 - 0.3),
        ),
        "the score of 2 0 3 1": (
            lambda: similarity_score([2, 0, 3, 1], APART),
            1 - SPREAD[2] / sum(SPREAD) + (0.4 + 1 - 0.4) + (0.1 + 1 - 0.1),
        ),
        "one class after the other, with what was kept": (
            lambda: taught([1, 0, 2]),
            [[1, 1], [0, 0, 1], [0, 1], [2, 2, *taught([1, 0, 2])[3][2:]], [2, *taught([1, 0, 2])[4][1:]]],
        ),
        "as many again as a batch has": (lambda: [len(each) for each in taught([0, 1, 2], keep=3)], [2, 1, 4, 4, 3]),
        "Spearman": (lambda: rank_agreement([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0]), 0.8),
        "ties share their ranks": (lambda: rank_agreement([1.0, 1.0, 2.0], [1.0, 2.0, 3.0]), 0.75**0.5),
        "two that agree": (lambda: rank_agreement([1.0, 2.0], [3.0, 4.0]), 1.0),
        "nothing said": (lambda: rank_agreement([1.0, 1.0], [1.0, 2.0]), 0.0),
    },
    world=World(
        says="some classes look alike: in the best order neighbours do not",
        measure=neighbours,
        on={"rank": "similarity"},
        off={"rank": "random"},
        moves=0.2,
    ),
    equal={
        f"distances: {MEAN}.mean(0) -> {MEAN}.sum(0)": "a factor that the length takes off",
        "distances: examples.x[examples.y == c] shuffled": "a mean has no order",
        "similarity_score: apart.var(...) without correction=": "a factor of all spreads alike",
        "similarity_score: 0 -> 1": "a factor of all spreads alike",
        "one_at_a_time: own[torch.randperm(len(own), generator=draw)] shuffled": "another order by lot",
        "one_at_a_time: rows[:0] shuffled": "none of them, in another order",
        "one_at_a_time: own[:keep] shuffled": "those kept, in another order",
    },
    without={"curriculum_designer": "the study around the orders; tests/recipes/test_studies.py trains its networks"},
)
