"""Paired differences as an estimate: mean, 95 % interval, and the effect that so many pairs can detect.

A difference is the method's score minus the baseline's of the same seed, with the sign turned so that positive is better.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.core.statistics import mean_and_spread, t_above, t_quantile

LEVEL, POWER = 0.05, 0.80
ROUNDING = 1e-9  # of the minimum effect: differences that spread by less are all the same


@dataclass(frozen=True)
class Estimate:
    """The differences, the `first` ones and then those of fresh seeds, and their combined estimate.

    `low` and `high` are the 95 % t-interval of the mean over all pairs; `detectable` is the effect that a t-test of as many
    pairs at 5 % finds with 80 % power; `effect` is the minimum effect, stated before the runs.
    """

    differences: list[float]
    first: int
    mean: float
    sd: float
    low: float
    high: float
    detectable: float
    effect: float

    @property
    def halves(self) -> tuple[list[float], list[float]]:
        """The differences of the first seeds and those of the fresh ones."""
        return self.differences[: self.first], self.differences[self.first :]

    @property
    def is_within(self) -> bool:
        """Whether the whole interval lies within the effect on both sides of 0."""
        edge = self.effect * (1 - ROUNDING)
        return -edge <= self.low and self.high <= edge


def estimate(differences: Sequence[float], effect: float, first: int = 0) -> Estimate:
    """An estimate from paired differences; without `first` all of them are of the first seeds.

    >>> found = estimate([1.0, 2.0, 3.0], effect=0.5)  # t = 4.303 of 2 degrees, s = 1
    >>> found.mean, round(found.low, 3), round(found.high, 3)
    (2.0, -0.484, 4.484)
    """
    if not all(math.isfinite(d) for d in differences):
        raise ValueError("a difference is not a number: a run without a score cannot be compared")
    if not effect > 0:
        raise ValueError(f"the minimum effect is above 0, not {effect}")
    mean, sd = mean_and_spread(differences)
    half = quantile(1 - LEVEL, len(differences) - 1) * sd / math.sqrt(len(differences))
    able = detectable(sd, len(differences))
    return Estimate(list(differences), first or len(differences), mean, sd, mean - half, mean + half, able, effect)


def paired(
    ours: Sequence[float], theirs: Sequence[float], effect: float, better: str = "higher", first: int = 0
) -> Estimate:
    """The estimate of two arms whose scores are in the order of their seeds.

    >>> round(paired([0.5, 0.6], [0.4, 0.4], effect=0.02).mean, 3), round(paired([9.0, 8.0], [9.5, 9.5], 1, "lower").mean, 3)
    (0.15, 1.0)
    """
    sign = 1.0 if better == "higher" else -1.0
    return estimate([sign * (a - b) for a, b in zip(ours, theirs, strict=True)], effect, first)


def detectable(sd: float, pairs: int) -> float:
    r"""The mean difference that a two-sided t-test at 5 % finds with 80 % power, $(t_{0.975} + t_{0.8})\,s/\sqrt n$.

    >>> round(detectable(1.2, 8), 3), round(detectable(1.2, 16), 3)  # in points
    (1.383, 0.899)
    """
    sure, likely = (quantile(share, pairs - 1) for share in (1 - LEVEL, 2 * POWER - 1))
    return (sure + likely) * sd / math.sqrt(pairs)


def p_above(values: Sequence[float], bound: float, effect: float) -> float:
    """The p-value of the one-sided t-test that the mean is above `bound`; of values that are all the same 0 or 1.

    >>> round(p_above([1.0, 2.0, 3.0], 0.0, effect=0.5), 3)  # t = 2 / (1 / sqrt 3) = 3.464, of 2 degrees
    0.037
    """
    mean, sd = mean_and_spread(values)
    if sd <= ROUNDING * effect:
        return 0.0 if mean - bound > ROUNDING * effect else 1.0
    return t_above((mean - bound) / (sd / math.sqrt(len(values))), len(values) - 1)


@functools.lru_cache(maxsize=256)
def quantile(confidence: float, freedom: int) -> float:
    """`t_quantile`, which takes longer than all the rest, once for each sample size."""
    return t_quantile(confidence, freedom)
