"""Problems drawn anew, many times: percentile intervals of whatever follows from weighted means (Efron's bootstrap).

A draw is how often each problem is in it. Every statistic here takes such weights, a row for each draw, and is for whole
weights exactly what it would be on a file in which problems stand that often: ranks too. Problems are drawn within their
strata (the subsets of a benchmark), whose sizes are facts of it; the rows of a problem go together. The same seed gives the
same draws.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from guerdon.audits.scores.protocol_list import Array, Means
from guerdon.core.seeds import derive

AT_ONCE = 100  # draws that are worked out together
ENDS = (2.5, 97.5)  # percentiles that an interval is between
Statistic = Callable[[Array], Means]


class Interval(NamedTuple):
    """A number, and the ends of its 95 % interval (NaN where there is none)."""

    value: float
    low: float
    high: float


def with_intervals(statistic: Statistic, strata: Sequence[str], draws: int, seed: int) -> dict[str, Interval]:
    """Each number of a statistic over problems, `strata` saying of each where it belongs."""
    values = statistic(np.ones((1, len(strata))))
    drawn = [statistic(weights) for weights in weights_of(strata, draws, seed)]
    result = {}
    for name, value in values.items():
        many = np.concatenate([each[name] for each in drawn]) if drawn else np.full(1, np.nan)
        many = many[~np.isnan(many)]
        low, high = np.percentile(many, ENDS) if len(many) else (np.nan, np.nan)
        result[name] = Interval(float(value[0]), float(low), float(high))
    return result


def weights_of(strata: Sequence[str], draws: int, seed: int) -> Iterator[Array]:
    """How often each problem is in a draw, for some draws at a time.

    >>> [weights.sum(axis=1).tolist() for weights in weights_of(["a", "a", "b"], 2, seed=0)]
    [[3.0, 3.0]]
    """
    chance = np.random.default_rng(derive(seed, "scores"))
    groups = [np.flatnonzero(np.array(strata) == name) for name in dict.fromkeys(strata)]
    for first in range(0, draws, AT_ONCE):
        many = min(AT_ONCE, draws - first)
        weights = np.zeros((many, len(strata)))
        for group in groups:
            picks = chance.integers(0, len(group), (many, len(group))) + len(group) * np.arange(many)[:, None]
            weights[:, group] = np.bincount(picks.ravel(), minlength=many * len(group)).reshape(many, len(group))
        yield weights


def weighted_means(weights: Array, values: Array) -> Array:
    """Means of columns (items by measures) over the items that have a value; NaN where none has.

    >>> weighted_means(np.array([[1.0, 3.0]]), np.array([[0.0, 1.0], [1.0, np.nan]])).tolist()
    [[0.75, 1.0]]
    """
    there = ~np.isnan(values)
    total, many = weights @ np.where(there, values, 0.0), weights @ there.astype(float)
    means: Array = np.divide(total, many, out=np.full(total.shape, np.nan), where=many > 0)
    return means


def correlation(weights: Array, x: Array, y: Array) -> Array:
    """Pearson's, of items by their weights; NaN in a draw where one of the two does not vary."""
    many = weights.sum(axis=1, keepdims=True)
    x, y = (each - (weights * each).sum(axis=1, keepdims=True) / many for each in (x, y))
    both, xx, yy = ((weights * each).sum(axis=1) for each in (x * y, x * x, y * y))
    scale = np.sqrt(xx * yy)
    varies = scale > 1e-12 * many[:, 0]
    r: Array = np.divide(both, scale, out=np.full(len(weights), np.nan), where=varies).clip(-1, 1)
    return r


def ranks_of(weights: Array, x: Array) -> Array:
    """The ranks of items where each stands there as often as its weight says; equal ones share the mean of theirs.

    >>> ranks_of(np.array([[1.0, 2.0, 1.0]]), np.array([5.0, 1.0, 5.0])).tolist()
    [[3.5, 1.5, 3.5]]
    """
    _, place = np.unique(x, return_inverse=True)
    order = np.argsort(place, kind="stable")
    last = np.flatnonzero(np.diff(place[order], append=place.max() + 1))
    up_to = np.cumsum(weights[:, order], axis=1)[:, last]
    before = np.concatenate([np.zeros((len(weights), 1)), up_to[:, :-1]], axis=1)
    ranks: Array = ((before + up_to + 1) / 2)[:, place]
    return ranks
