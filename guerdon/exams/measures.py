"""How good a scorer's numbers are: as probabilities, and at finding the first wrong step.

Plain functions on lists.
Leaves out: where the numbers come from (`scorers.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

CERTAIN = 0.5  # a step that is less likely right than this is called wrong


class Bin(NamedTuple):
    """Predictions that were about equally sure."""

    size: int
    said: float  # their mean
    was: float  # how often what they said was so


def reliability(chance: Sequence[float], truth: Sequence[float], bins: int = 10) -> list[Bin]:
    """Predictions in `bins` equal parts of [0, 1], 1 in the last; empty parts are left out.

    >>> reliability([0.9, 0.8, 0.2], [1, 0, 0], bins=2)
    [Bin(size=1, said=0.2, was=0.0), Bin(size=2, said=0.8500000000000001, was=0.5)]
    """
    parts: list[list[tuple[float, float]]] = [[] for _ in range(bins)]
    for p, y in zip(chance, truth, strict=True):
        parts[min(int(p * bins), bins - 1)].append((p, y))
    return [
        Bin(len(part), math.fsum(p for p, _ in part) / len(part), math.fsum(y for _, y in part) / len(part))
        for part in parts
        if part
    ]


def calibration_error(chance: Sequence[float], truth: Sequence[float], bins: int = 10) -> float:
    r"""Expected calibration error, $\sum_b \frac{n_b}{n}|\text{said}_b - \text{was}_b|$ (Guo et al. 2017,
    arXiv:1706.04599). It depends on the bins and is biased upwards where they hold few.

    >>> round(calibration_error([0.9, 0.8, 0.2], [1, 0, 0], bins=2), 4)
    0.3
    """
    return math.fsum(b.size * abs(b.said - b.was) for b in reliability(chance, truth, bins)) / max(len(chance), 1)


def brier(chance: Sequence[float], truth: Sequence[float]) -> float:
    r"""Brier's score, the mean of $(p - y)^2$ (Brier 1950): 0 is perfect, 1/4 is what always saying 1/2 gets.

    >>> round(brier([0.9, 0.8, 0.2], [1, 0, 0]), 4)
    0.23
    """
    return math.fsum((p - y) ** 2 for p, y in zip(chance, truth, strict=True)) / max(len(chance), 1)


def first_wrong(chance: Sequence[float]) -> int | None:
    """The first step that is called wrong, None where none is."""
    return next((i for i, p in enumerate(chance) if p < CERTAIN), None)


def first_error_scores(predicted: Sequence[int | None], truth: Sequence[int | None]) -> dict[str, float]:
    r"""ProcessBench's protocol (Zheng et al. 2024, arXiv:2412.06559): the share of wrong solutions whose first error was
    named exactly, the share of right ones in which none was found, and F1, their harmonic mean.

    The paper chooses a model's threshold on one of its subsets; here it is 1/2. Where all solutions are of one kind there
    is no F1.

    >>> first_error_scores([1, 0, None, None], [1, 2, None, None])
    {'found_share': 0.5, 'cleared_share': 1.0, 'first_error_f1': 0.6666666666666666}
    """
    wrong = [s == t for s, t in zip(predicted, truth, strict=True) if t is not None]
    right = [s is None for s, t in zip(predicted, truth, strict=True) if t is None]
    scores = {name: sum(hits) / len(hits) for name, hits in (("found_share", wrong), ("cleared_share", right)) if hits}
    if len(scores) == 2:
        a, b = scores.values()
        scores["first_error_f1"] = 2 * a * b / (a + b) if a + b else 0.0
    return scores
