"""What any file of scores can be asked beside its protocol: calibration, length, and what best of N gains.

- Calibration of pairs: p = sigmoid(chosen - rejected), or the file's own probability. Brier is the mean of (1 - p)^2. ECE sorts
  pairs by how sure p is, max(p, 1 - p), into ten bins from 0.5 to 1: the sum over bins of |share right - mean sure|, by size.
- Length: Pearson's and Spearman's correlation of scores with lengths, over all answers, and within problems (each problem's
  means taken off first).
- Best of N: the label of the best scored of N answers to a problem, drawn without replacement, exactly and in the mean over
  problems; answers with equal scores share. Beside it what an oracle would choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from guerdon.audits.scores.protocol_list import Array, Ledger, Means, ScoredPair, ScoredTry
from guerdon.core.statistics import weighted_means, weighted_pearson, weighted_ranks

BINS = 10
FEWEST = 3  # answers to a problem, from where on there is something to choose
Statistic = Callable[[Array], Means]


def extras(ledger: Ledger, number: dict[str, int]) -> tuple[list[Statistic], dict[str, int]]:
    """What can be worked out beside a protocol from the weights of problems, `number` being the place of each; and how many
    rows each group is over."""
    statistics: list[Statistic] = []
    counts: dict[str, int] = {}
    pairs = [each for each in ledger.pairs if each.problem in number]
    tries = [each for each in ledger.tries if each.problem in number]
    if pairs:
        statistics.append(_calibration(pairs, number))
        counts["calibration"] = len(pairs)
    long = [each for each in tries if each.length is not None]
    if len(long) > 1:
        statistics.append(_length(long, number))
        counts["length"] = len(long)
    labelled = [each for each in tries if each.right is not None]
    curve = best_of_curve(labelled)
    if curve:
        statistics.append(_best_of(curve, number))
        counts |= {f"{group} {n}": len(curve) for n in next(iter(curve.values())) for group in ("best of", "oracle of")}
    return statistics, counts


def _calibration(pairs: Sequence[ScoredPair], number: dict[str, int]) -> Statistic:
    problem = np.array([number[each.problem] for each in pairs])
    p = np.array([each.probability for each in pairs])
    sure, right = sureness(pairs)
    bins = np.minimum(((sure - 0.5) * 2 * BINS).astype(int), BINS - 1)
    gap = np.zeros((len(pairs), BINS))
    gap[np.arange(len(pairs)), bins] = right - sure

    def statistic(weights: Array) -> Means:
        each = weights[:, problem]
        many = each.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            return {
                "calibration/ECE": np.abs(each @ gap).sum(axis=1) / many,
                "calibration/Brier": each @ (1 - p) ** 2 / many,
            }

    return statistic


def sureness(pairs: Sequence[ScoredPair]) -> tuple[Array, Array]:
    """How sure each pair's probability is, and whether the side that it is sure of is the chosen one; level is half."""
    p = np.array([each.probability for each in pairs])
    right = np.array([(1 + np.sign(each.margin)) / 2 for each in pairs])
    return np.maximum(p, 1 - p), right


def _length(tries: Sequence[ScoredTry], number: dict[str, int]) -> Statistic:
    problem = np.array([number[each.problem] for each in tries])
    score = np.array([each.score for each in tries])
    length = np.array([float(each.length or 0.0) for each in tries])
    inner = [_off_means(each, problem) for each in (score, length)]

    def statistic(weights: Array) -> Means:
        each = weights[:, problem]
        return {
            "length/Pearson": weighted_pearson(each, score, length),
            "length/Spearman": weighted_pearson(each, weighted_ranks(each, score), weighted_ranks(each, length)),
            "length/Pearson within problems": weighted_pearson(each, inner[0], inner[1]),
            "length/Spearman within problems": weighted_pearson(
                each, weighted_ranks(each, inner[0]), weighted_ranks(each, inner[1])
            ),
        }

    return statistic


def _off_means(values: Array, problem: Array) -> Array:
    total, many = np.bincount(problem, values), np.bincount(problem)
    return values - (total / np.maximum(many, 1))[problem]


def best_of_curve(tries: Sequence[ScoredTry]) -> dict[str, dict[int, tuple[float, float]]]:
    """For each problem and N: the expected label of the best scored of N answers, and of the best that there is among them.
    N goes in doublings up to what every problem has that has three answers or more."""
    by_problem: dict[str, list[ScoredTry]] = {}
    for each in tries:
        by_problem.setdefault(each.problem, []).append(each)
    several = {name: of for name, of in by_problem.items() if len(of) >= FEWEST}
    most = min(map(len, several.values()), default=0)
    sizes = sorted({*(1 << k for k in range(most.bit_length())), most} - {0}) if most else []
    return {
        name: {
            n: (
                best_of([each.score for each in of], [each.right or 0.0 for each in of], n),
                best_of([each.right or 0.0 for each in of], [each.right or 0.0 for each in of], n),
            )
            for n in sizes
        }
        for name, of in several.items()
    }


def best_of(scores: Sequence[float], labels: Sequence[float], n: int) -> float:
    """The expected label of the best scored of `n` answers drawn without replacement; equal scores share.

    >>> best_of([0.1, 0.9, 0.5], [1.0, 0.0, 1.0], 2)  # the second is chosen in two of three draws
    0.3333333333333333
    """
    expected, below = 0.0, 0
    for score in sorted(set(scores)):
        level = [label for each, label in zip(scores, labels, strict=True) if each == score]
        chance = (math.comb(below + len(level), n) - math.comb(below, n)) / math.comb(len(scores), n)
        expected += chance * sum(level) / len(level)
        below += len(level)
    return expected


def _best_of(curve: dict[str, dict[int, tuple[float, float]]], number: dict[str, int]) -> Statistic:
    problem = np.array([number[name] for name in curve])
    sizes = list(next(iter(curve.values())))
    values = np.array([[value for n in sizes for value in of[n]] for of in curve.values()])
    names = [f"{group}/{n}" for n in sizes for group in ("best of", "oracle of")]

    def statistic(weights: Array) -> Means:
        means = weighted_means(weights[:, problem], values)
        return {name: means[:, at] for at, name in enumerate(names)}

    return statistic
