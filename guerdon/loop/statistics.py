"""Pass rates and how sure we are of them."""

from __future__ import annotations

import math
from collections.abc import Sequence

Z95 = 1.959963984540054


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that at least one of `k` tries is right, without bias from `n >= k` tries (arXiv:2107.03374)."""
    if not 0 <= right <= n or not 1 <= k <= n:
        raise ValueError(f"pass@{k} from {right} right of {n}")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def interval(rates: Sequence[float], z: float = Z95) -> tuple[float, float, float]:
    """Mean of one rate per task with a 95 % interval: Wilson's, on the effective sample size.

    Tries at one task are not independent, so the sample is the tasks: their variance gives the number of independent
    yes/no trials they are worth (never fewer than the tasks, which keeps the interval honest when all rates are equal).
    """
    m = len(rates)
    if m == 0:
        return math.nan, math.nan, math.nan
    mean = math.fsum(rates) / m
    spread = math.fsum((r - mean) ** 2 for r in rates) / (m - 1) if m > 1 else 0.0
    worth = max(float(m), m * mean * (1 - mean) / spread) if spread > 0 else float(m)
    middle = (mean + z * z / (2 * worth)) / (1 + z * z / worth)
    half = z / (1 + z * z / worth) * math.sqrt(mean * (1 - mean) / worth + z * z / (4 * worth * worth))
    return mean, max(0.0, middle - half), min(1.0, middle + half)
