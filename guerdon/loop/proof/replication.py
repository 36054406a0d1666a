"""Does a result come out again with fresh seeds?

From the differences of a proof follows where the mean of so many new ones should lie (the prediction interval of a mean, which
has the uncertainty of both samples). A result outside of it has not been replicated: something besides the seeds differs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from guerdon.exams.statistics import mean_and_spread, t_quantile

FRESH = 8  # seeds
ROUNDING = 1e-9  # in units of the score: where there is no spread, the interval is one number


def prediction(differences: Sequence[float], fresh: int = FRESH, confidence: float = 0.95) -> tuple[float, float]:
    """Where the mean of `fresh` new differences should lie: mean -+ t s sqrt(1/n + 1/fresh).

    >>> low, high = prediction([1.0, 2.0, 3.0], fresh=3)  # t = 4.303 of 2 degrees, s = 1
    >>> round(low, 3), round(high, 3)
    (-1.513, 5.513)
    """
    mean, spread = mean_and_spread(differences)
    n = len(differences)
    half = t_quantile(confidence, n - 1) * spread * math.sqrt(1 / n + 1 / fresh)
    return mean - half, mean + half


def replicated(differences: Sequence[float], fresh_differences: Sequence[float]) -> dict[str, Any]:
    """The mean of fresh differences, the interval that it was to be in, and whether it is.

    >>> replicated([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])["inside"]
    True
    """
    low, high = prediction(differences, len(fresh_differences))
    mean = math.fsum(fresh_differences) / len(fresh_differences)
    return {"mean": mean, "low": low, "high": high, "inside": low - ROUNDING <= mean <= high + ROUNDING}
