"""The learning rate of an arm: the best of a grid that is extended until the best lies inside it.

Chosen on seeds that no estimate is made of. Nothing else is tuned.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

STEP = 3.0  # between neighbours of the grid
THREE = (-1, 0, 1)  # powers of the step, times the default: where a grid begins
FIVE = (-2, -1, 0, 1, 2)  # of the baselines of a setting
MOST = 7  # rates
TUNING_SEEDS = range(2000, 2002)


def grid(powers: tuple[int, ...]) -> list[float]:
    """Factors of the default learning rate.

    >>> [round(factor, 3) for factor in grid(THREE)]
    [0.333, 1.0, 3.0]
    """
    return [STEP**power for power in powers]


def best(scores: Mapping[float, float], better: str = "higher") -> float:
    """The factor with the best mean score; of equal ones the smallest.

    >>> best({1 / 3: 0.50, 1.0: 0.55, 3.0: 0.56})
    3.0
    """
    sign = 1.0 if better == "higher" else -1.0
    return max(sorted(scores), key=lambda factor: sign * scores[factor])


def is_inside(scores: Mapping[float, float], better: str = "higher") -> bool:
    """Whether a lower and a higher rate than the best were tried.

    >>> is_inside({1 / 3: 0.50, 1.0: 0.55, 3.0: 0.56}), is_inside({1 / 3: 0.50, 1.0: 0.55, 3.0: 0.46})
    (False, True)
    """
    return min(scores) < best(scores, better) < max(scores)


def wider(scores: Mapping[float, float], better: str = "higher") -> float | None:
    """The factor to try next: beyond the edge that the best lies on; None where it is inside or seven were tried.

    >>> wider({1 / 3: 0.69, 1.0: 0.39, 3.0: 0.09}) == 1 / 9
    True
    """
    if is_inside(scores, better) or len(scores) >= MOST:
        return None
    taken = best(scores, better)
    power = round(math.log(taken, STEP))
    return STEP ** (power + 1 if taken == max(scores) else power - 1)
