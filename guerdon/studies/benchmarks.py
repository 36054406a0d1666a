"""What benchmarks of reward models are scored by, and how well their scores foretell something else.

Everything is over plain numbers: what a reward model said of candidates, and which of them are right.
Leaves out: where candidates come from, and choosing among tries (`exams/best_of_n.py`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from guerdon.core import statistics

Item = tuple[float, Sequence[float]]  # what was said of the right candidate, and of each of the wrong ones


def ranked_first(right: float, wrong: Sequence[float]) -> float:
    """1 where the right candidate scores highest, 0 where a wrong one does; where several do, its share of the first place.

    >>> ranked_first(2.0, [1.0, 0.0]), ranked_first(2.0, [2.0, 0.0]), ranked_first(2.0, [3.0])
    (1.0, 0.5, 0.0)
    """
    above, level = sum(w > right for w in wrong), sum(w == right for w in wrong)
    return 0.0 if above else 1.0 / (1 + level)


def reciprocal_rank(right: float, wrong: Sequence[float]) -> float:
    """One over the place of the right candidate; among equals it has the place in their middle.

    >>> reciprocal_rank(2.0, [3.0, 1.0]), reciprocal_rank(2.0, [2.0, 2.0])
    (0.5, 0.5)
    """
    above, level = sum(w > right for w in wrong), sum(w == right for w in wrong)
    return 1.0 / (1 + above + level / 2)


def first_places(items: Sequence[Item], against: int) -> float:
    """How often the right one is first among itself and `against` wrong ones: the first so many of each item."""
    return fmean(ranked_first(right, wrong[:against]) for right, wrong in items)


def mean_reciprocal_rank(items: Sequence[Item], against: int) -> float:
    return fmean(reciprocal_rank(right, wrong[:against]) for right, wrong in items)


def spearman(a: Sequence[float], b: Sequence[float]) -> float:
    """Spearman's rank correlation; 0 where one of the two is constant.

    >>> spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0]), spearman([1.0, 1.0], [1.0, 2.0])
    (0.5, 0.0)
    """
    r = statistics.spearman(a, b)
    return 0.0 if math.isnan(r) else r
