"""The learning rate of an arm: its default, unless another does better by an amount that counts.

Chosen on seeds that no verdict sees. Nothing else is tuned.
"""

from __future__ import annotations

from collections.abc import Mapping

FACTORS = (1 / 3, 1.0, 3.0)  # times the default
TUNING_SEEDS = range(2000, 2004)


def choose(scores: Mapping[float, float], effect: float, better: str = "higher") -> float:
    """The factor whose mean score is best, where it beats that of the default by the effect or more.

    >>> choose({1 / 3: 0.50, 1.0: 0.55, 3.0: 0.56}, effect=0.02)
    1.0
    >>> choose({1 / 3: 0.50, 1.0: 0.55, 3.0: 0.58}, effect=0.02)
    3.0
    """
    sign = 1.0 if better == "higher" else -1.0
    best = max(scores, key=lambda factor: sign * scores[factor])
    gain = sign * (scores[best] - scores[1.0])
    return best if gain >= effect * (1 - 1e-9) else 1.0
