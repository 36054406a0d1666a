"""Statistics as plain functions on numbers: rates, intervals, Student's t, the bootstrap, correlation, AUC, calibration.

Every interval, rank and area under a curve in the package is computed here, so that one word means one number.
Needs numpy alone. Leaves out: decisions made of these numbers, and losses, which need gradients.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from guerdon.core.seeds import derive

Array = NDArray[np.float64]
Z95 = 1.959963984540054  # how many standard errors a 95 % interval of the normal distribution goes to either side
CONFIDENCE = 0.95
DRAWS = 10_000  # of `paired_bootstrap`
NONE_SEEN = 3.0  # where none of n differs, at most 3 in n do, at 95 % (the rule of three)
AT_ONCE = 100  # bootstrap samples that are worked out together
VARIES = 1e-12  # a weighted product of spreads below this is rounding

Statistic = Callable[[Array], dict[str, Array]]


class Interval(NamedTuple):
    """A number and the ends of its 95 % interval (NaN where there is none)."""

    value: float
    low: float
    high: float


# --- rates ------------------------------------------------------------------------------------------------------------


def pass_at_k(n: int, right: int, k: int) -> float:
    """The chance that at least one of `k` tries is right, without bias from `n >= k` tries (arXiv:2107.03374).

    Args:
        n: number of tries.
        right: how many are right.
        k: number of tries of which one has to be right.

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

    Args:
        rates: one rate for each task.
        z: quantile of the normal distribution.

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


def newcombe(a: tuple[float, float, float], b: tuple[float, float, float]) -> Interval:
    """Difference of two independent numbers that each come with an interval (value, low, high): Newcombe 1998, method 10.

    >>> newcombe((0.5, 0.25, 0.75), (0.5, 0.5, 0.5))
    Interval(value=0.0, low=-0.25, high=0.25)
    """
    value = a[0] - b[0]
    low = value - math.hypot(a[0] - a[1], b[2] - b[0])
    return Interval(value, low, value + math.hypot(a[2] - a[0], b[0] - b[1]))


# --- Student's t ------------------------------------------------------------------------------------------------------


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


def welch(a: Sequence[float], b: Sequence[float]) -> Interval:
    """Difference of two means with its 95 % t-interval, variances not being assumed equal (Welch 1947); degrees of freedom are
    rounded down.

    >>> welch([1.0, 1.0], [0.5, 0.5])
    Interval(value=0.5, low=0.5, high=0.5)
    """
    (mean_a, spread_a), (mean_b, spread_b) = mean_and_spread(a), mean_and_spread(b)
    parts = spread_a**2 / len(a), spread_b**2 / len(b)
    value, error = mean_a - mean_b, math.sqrt(sum(parts))
    if error == 0:
        return Interval(value, value, value)
    freedom = sum(parts) ** 2 / (parts[0] ** 2 / (len(a) - 1) + parts[1] ** 2 / (len(b) - 1))
    half = t_quantile(CONFIDENCE, max(1, math.floor(freedom + 1e-9))) * error
    return Interval(value, value - half, value + half)


# --- the bootstrap ----------------------------------------------------------------------------------------------------


def paired_bootstrap(groups: Sequence[Sequence[float]], draws: int = DRAWS) -> Interval:
    """The mean of differences, groups weighing the same, with its 95 % interval: each group is resampled with replacement.

    Where all differences are equal there is nothing to resample: then 3 in n of them may be otherwise, as far as they can.

    >>> paired_bootstrap([[0.0] * 30])
    Interval(value=0.0, low=-0.1, high=0.1)
    """
    arrays = [np.asarray(group, dtype=np.float64) for group in groups]
    value = float(np.mean([array.mean() for array in arrays]))
    if all(np.ptp(array) == 0 for array in arrays):
        share = min(1.0, NONE_SEEN / sum(map(len, arrays)))
        return Interval(value, value - share * (value + 1), value + share * (1 - value))
    dice = np.random.default_rng(0)
    means = np.zeros(draws)
    for array in arrays:
        counts = dice.multinomial(len(array), np.full(len(array), 1 / len(array)), size=draws)
        means += counts @ array / len(array) / len(arrays)
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return Interval(value, float(low), float(high))


def bootstrap_intervals(
    statistic: Statistic, strata: Sequence[str], draws: int, seed: int, name: str
) -> dict[str, Interval]:
    """Percentile intervals (Efron's) of every number that follows from how often each item counts.

    Args:
        statistic: from weights, a row for each bootstrap sample and a column for each item, to named numbers, one a row.
            For whole weights it gives what it would give on a file in which items stand that often.
        strata: the stratum of each item; items are resampled within theirs.
        draws: bootstrap samples; with 0 the ends are NaN.
        seed, name: what the samples are drawn by.
    """
    values = statistic(np.ones((1, len(strata))))
    drawn = [statistic(weights) for weights in bootstrap_weights(strata, draws, seed, name)]
    result = {}
    for key, value in values.items():
        many = np.concatenate([each[key] for each in drawn]) if drawn else np.full(1, np.nan)
        many = many[~np.isnan(many)]
        low, high = np.percentile(many, (2.5, 97.5)) if len(many) else (np.nan, np.nan)
        result[key] = Interval(float(value[0]), float(low), float(high))
    return result


def bootstrap_weights(strata: Sequence[str], draws: int, seed: int, name: str) -> Iterator[Array]:
    """How often each item is in a bootstrap sample, for at most 100 samples at a time; items are resampled within their strata.

    >>> [weights.sum(axis=1).tolist() for weights in bootstrap_weights(["a", "a", "b"], 2, 0, "scores")]
    [[3.0, 3.0]]
    """
    dice = np.random.default_rng(derive(seed, name))
    groups = [np.flatnonzero(np.array(strata) == stratum) for stratum in dict.fromkeys(strata)]
    for first in range(0, draws, AT_ONCE):
        many = min(AT_ONCE, draws - first)
        weights = np.zeros((many, len(strata)))
        for group in groups:
            picks = dice.integers(0, len(group), (many, len(group))) + len(group) * np.arange(many)[:, None]
            weights[:, group] = np.bincount(picks.ravel(), minlength=many * len(group)).reshape(many, len(group))
        yield weights


def weighted_means(weights: Array, values: Array) -> Array:
    """Means of columns (items by measures) over the items that have a value, for each row of weights; NaN where none has.

    >>> weighted_means(np.array([[1.0, 3.0]]), np.array([[0.0, 1.0], [1.0, np.nan]])).tolist()
    [[0.75, 1.0]]
    """
    there = ~np.isnan(values)
    total, many = weights @ np.where(there, values, 0.0), weights @ there.astype(float)
    means: Array = np.divide(total, many, out=np.full(total.shape, np.nan), where=many > 0)
    return means


# --- ranks and correlation --------------------------------------------------------------------------------------------


def ranks(x: ArrayLike) -> Array:
    """1, 2, 3 ... from the smallest; equal numbers share the mean of their ranks.

    >>> ranks([0.5, 0.1, 0.5]).tolist()
    [2.5, 1.0, 2.5]
    """
    _, place, count = np.unique(np.asarray(x, dtype=np.float64), return_inverse=True, return_counts=True)
    shared: Array = (np.cumsum(count) - (count - 1) / 2)[place]
    return shared


def pearson(x: ArrayLike, y: ArrayLike) -> float:
    r"""Pearson's correlation; NaN for fewer than two items, and where one of the two does not vary.

    $\sum_i (x_i-\bar x)(y_i-\bar y) / \sqrt{\sum_i (x_i-\bar x)^2 \sum_i (y_i-\bar y)^2}$

    >>> pearson([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    1.0
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if len(one) < 2 or one.min() == one.max() or other.min() == other.max():
        return math.nan
    one, other = one - one.mean(), other - other.mean()
    return max(-1.0, min(1.0, float(one @ other) / math.sqrt(float(one @ one) * float(other @ other))))


def spearman(x: ArrayLike, y: ArrayLike) -> float:
    """Spearman's rank correlation: Pearson's of the ranks; NaN where that has none.

    >>> spearman([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
    0.5
    """
    return pearson(ranks(x), ranks(y))


def weighted_pearson(weights: Array, x: Array, y: Array) -> Array:
    """Pearson's correlation of items for each row of weights; NaN in a row where one of the two does not vary.

    `x` and `y` are one number for each item, or a row of them for each row of weights.
    """
    many = weights.sum(axis=1, keepdims=True)
    x, y = (each - (weights * each).sum(axis=1, keepdims=True) / many for each in (x, y))
    both, xx, yy = ((weights * each).sum(axis=1) for each in (x * y, x * x, y * y))
    scale = np.sqrt(xx * yy)
    r: Array = np.divide(both, scale, out=np.full(len(weights), np.nan), where=scale > VARIES * many[:, 0]).clip(-1, 1)
    return r


def weighted_ranks(weights: Array, x: Array) -> Array:
    """The ranks of items, each repeated by its weight, for each row of weights; equal ones share the mean of
    theirs.

    >>> weighted_ranks(np.array([[1.0, 2.0, 1.0]]), np.array([5.0, 1.0, 5.0])).tolist()
    [[3.5, 1.5, 3.5]]
    """
    _, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=place.max() + 1))
    up_to = np.cumsum(weights[:, order], axis=1)[:, last]
    before = np.concatenate([np.zeros((len(weights), 1)), up_to[:, :-1]], axis=1)
    shared: Array = ((before + up_to + 1) / 2)[:, place]
    return shared


# --- how well scores distinguish --------------------------------------------------------------------------------------


def auc(positive: ArrayLike, negative: ArrayLike) -> float:
    """Area under the ROC curve: the share of pairs in which the positive has the higher score, ties half. NaN where there is no
    pair.

    >>> auc([3.0, 1.0], [2.0, 1.0])  # above in two pairs of four, level in one
    0.625
    """
    return stratified_auc([(positive, negative)])


def stratified_auc(strata: Sequence[tuple[ArrayLike, ArrayLike]]) -> float:
    """The same over the pairs of several strata together: positives are compared with negatives of their own stratum alone.

    >>> stratified_auc([([3.0], [2.0]), ([0.0], [1.0])])
    0.5
    """
    twice = pairs = 0
    for positive, negative in strata:
        ours, theirs = np.asarray(positive, dtype=np.float64), np.sort(np.asarray(negative, dtype=np.float64))
        twice += sum(int(np.searchsorted(theirs, ours, side).sum()) for side in ("left", "right"))
        pairs += len(ours) * len(theirs)
    return twice / (2 * pairs) if pairs else math.nan


def auc_interval(
    scores: ArrayLike, positive: ArrayLike, strata: Sequence[object] | None = None, draws: int = 1000, seed: int = 0
) -> Interval:
    """AUC with a percentile bootstrap: positives and negatives are resampled separately, each as many as there are.

    Args:
        scores: one for each item, finite.
        positive: which items are positives.
        strata: the stratum of each item; only pairs of one stratum count, such as right answers among themselves.
        draws: bootstrap samples.
        seed: what the samples are drawn by.
    """
    values, of = np.asarray(scores, dtype=np.float64), np.asarray(positive, dtype=bool)
    group = np.zeros(len(values), int) if strata is None else np.unique(list(map(str, strata)), return_inverse=True)[1]

    def area(rows: NDArray[np.intp]) -> float:
        parts = [rows[group[rows] == each] for each in np.unique(group[rows])]
        return stratified_auc([(values[part[of[part]]], values[part[~of[part]]]) for part in parts])

    ours, theirs = np.flatnonzero(of), np.flatnonzero(~of)
    dice = np.random.default_rng(derive(seed, "bootstrap"))
    drawn = [
        area(np.concatenate([dice.choice(ours, len(ours)), dice.choice(theirs, len(theirs))]))
        for _ in range(draws if len(ours) and len(theirs) else 0)
    ]
    usable = [each for each in drawn if each == each]
    low, high = np.quantile(usable, (0.025, 0.975)) if usable else (math.nan, math.nan)
    return Interval(area(np.arange(len(values))), float(low), float(high))


# --- how good probabilities are ---------------------------------------------------------------------------------------


class Bin(NamedTuple):
    """Predictions that were about equally sure."""

    size: int
    said: float  # their mean
    was: float  # how often they were right


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
    r"""Brier's score, the mean of $(p - y)^2$ (Brier 1950): 0 is perfect, 1/4 is that of always predicting 1/2.

    >>> round(brier([0.9, 0.8, 0.2], [1, 0, 0]), 4)
    0.23
    """
    return math.fsum((p - y) ** 2 for p, y in zip(chance, truth, strict=True)) / max(len(chance), 1)


def kendall(first: Sequence[float], second: Sequence[float]) -> float:
    """Kendall's coefficient of two rankings without ties: pairs in the same order less those in the other, over all.

    >>> kendall([0, 1, 2], [0, 1, 2]), kendall([0, 1, 2], [2, 1, 0]), round(kendall([0, 1, 2], [0, 2, 1]), 4)
    (1.0, -1.0, 0.3333)
    """
    pairs = combinations(range(len(first)), 2)
    signs = [1 if (first[i] < first[j]) == (second[i] < second[j]) else -1 for i, j in pairs]
    return sum(signs) / len(signs)
