"""Pass rates and how sure we are of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Z95 = 1.959963984540054


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that at least one of `k` tries is right, without bias from `n >= k` tries (arXiv:2107.03374).

    >>> import guerdon as gd
    >>> gd.exams.pass_at_k(4, 2, 1), gd.exams.pass_at_k(4, 2, 4)
    (0.5, 1.0)
    """
    if not 0 <= right <= n or not 1 <= k <= n:
        raise ValueError(f"pass@{k} from {right} right of {n}")
    return 1.0 - math.comb(n - right, k) / math.comb(n, k)


def interval(rates: Sequence[float], z: float = Z95) -> tuple[float, float, float]:
    """Mean of one rate per task with a 95 % interval: Wilson's, on the effective sample size.

    Tries at one task are not independent, so the sample is the tasks: their variance gives the number of independent
    yes/no trials they are worth (never fewer than the tasks, which keeps the interval honest when all rates are equal).

    >>> import guerdon as gd
    >>> [round(x, 2) for x in gd.exams.interval([1.0, 1.0, 0.0, 1.0], 1)]  # the rate, and from where to where
    [0.75, 0.5, 0.9]
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


def even_mean(by_kind: Mapping[str, Sequence[float]]) -> tuple[float, float]:
    r"""The mean over kinds of the mean of each, $\frac1L\sum_l \bar x_l$, and its standard error
    $\frac1L\sqrt{\sum_l s_l^2/n_l}$: kinds weigh the same, however many values they have.

    >>> even_mean({"easy": [1.0, 1.0], "hard": [0.0, 1.0, 0.0, 1.0]})
    (0.75, 0.14433756729740643)
    """
    means, errors = [], []
    for values in by_kind.values():
        n = len(values)
        means.append(math.fsum(values) / n)
        spread = math.fsum((v - means[-1]) ** 2 for v in values) / (n - 1) if n > 1 else 0.0
        errors.append(spread / n)
    return math.fsum(means) / len(means), math.sqrt(math.fsum(errors)) / len(means)


def t_tail(t: float, freedom: int) -> float:
    """The chance that Student's t of so many degrees of freedom is further from 0 than `t`, to either side.

    By the finite sums for whole numbers of degrees (Abramowitz & Stegun 26.7.3 and 26.7.4), right to about 1e-15.
    """
    angle = math.atan(abs(t) / math.sqrt(freedom))
    cosine = math.cos(angle)
    odd = freedom % 2
    term = cosine if odd else 1.0
    total = term if freedom > 1 else 0.0
    for k in range(3 if odd else 2, freedom - 1, 2):
        term *= (k - 1) / k * cosine**2
        total += term
    inside = 2 / math.pi * (angle + math.sin(angle) * total) if odd else math.sin(angle) * total
    return max(0.0, 1.0 - inside)


def t_above(t: float, freedom: int) -> float:
    """The chance that Student's t of so many degrees of freedom is above `t`."""
    further = t_tail(t, freedom) / 2
    return further if t >= 0 else 1.0 - further


def t_quantile(confidence: float, freedom: int) -> float:
    """How far from 0, to either side, a share `confidence` of Student's t lies."""
    low, high = 0.0, 1.0
    while t_tail(high, freedom) > 1 - confidence:
        high *= 2
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if t_tail(middle, freedom) > 1 - confidence else (low, middle)
    return (low + high) / 2


def mean_and_spread(values: Sequence[float]) -> tuple[float, float]:
    """The mean of two or more values and their standard deviation (of a sample: by n - 1)."""
    n = len(values)
    if n < 2:
        raise ValueError(f"a spread needs two values, not {n}")
    mean = math.fsum(values) / n
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / (n - 1))


def t_interval(values: Sequence[float], confidence: float = 0.95) -> tuple[float, float, float, float]:
    """Mean, the two ends of its t-interval, and the two-sided p-value of a mean of 0.

    Values that are all the same have no spread to judge by: the interval is the mean itself, and p is 1 or 0.
    """
    mean, spread = mean_and_spread(values)
    if spread == 0:
        return mean, mean, mean, float(mean == 0)
    error, freedom = spread / math.sqrt(len(values)), len(values) - 1
    half = t_quantile(confidence, freedom) * error
    return mean, mean - half, mean + half, t_tail(mean / error, freedom)
