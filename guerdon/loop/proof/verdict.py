"""From paired differences to one of four words.

Pure arithmetic, decided before anything is run.
A difference is the method's score minus the baseline's of the same seed, turned so that more is better.
The verdict follows from the 95 % t-interval of the mean difference and the smallest effect that counts,
which the claim states beforehand:

- **holds**: the interval lies above 0 and the mean is at least the effect;
- **reversed**: the interval lies below 0 and the mean is at most minus the effect;
- **no difference**: the whole interval lies within the effect either side of 0;
- **inconclusive**: anything else; more seeds would tell.

Over a family of claims, *holds* and *reversed* must also survive control of the false discovery rate (Benjamini &
Hochberg 1995): of the discoveries that are reported, 5 % at most are expected to be false.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from guerdon.exams.statistics import t_interval

Verdict = Literal["holds", "reversed", "no difference", "inconclusive"]
CONFIDENCE = 0.95
FALSE_DISCOVERIES = 0.05


@dataclass(frozen=True)
class Comparison:
    """Two arms, seed by seed."""

    differences: list[float]
    mean: float
    low: float
    high: float
    p: float
    effect: float
    verdict: Verdict


def compare(ours: Sequence[float], theirs: Sequence[float], effect: float, better: str = "higher") -> Comparison:
    """The paired difference of two arms whose scores are in the order of their seeds."""
    sign = 1.0 if better == "higher" else -1.0
    differences = [sign * (a - b) for a, b in zip(ours, theirs, strict=True)]
    mean, low, high, p = t_interval(differences, CONFIDENCE)
    return Comparison(differences, mean, low, high, p, effect, decide(mean, low, high, effect))


def decide(mean: float, low: float, high: float, effect: float) -> Verdict:
    if low > 0 and mean >= effect:
        return "holds"
    if high < 0 and mean <= -effect:
        return "reversed"
    if -effect < low and high < effect:
        return "no difference"
    return "inconclusive"


def discoveries(p: Sequence[float], rate: float = FALSE_DISCOVERIES) -> list[bool]:
    """Which of several p-values are discoveries at a false discovery rate: all up to the largest k with p_(k) <= rate k / m."""
    order = sorted(range(len(p)), key=lambda i: p[i])
    last = max((k for k, i in enumerate(order, start=1) if p[i] <= rate * k / len(p)), default=0)
    discovered = set(order[:last])
    return [i in discovered for i in range(len(p))]


def among(verdict: Verdict, is_discovery: bool) -> Verdict:
    """What a verdict comes to beside the others of its family."""
    return verdict if is_discovery or verdict in ("no difference", "inconclusive") else "inconclusive"
