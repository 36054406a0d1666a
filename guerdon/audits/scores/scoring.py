"""`audit_scores`: a file of scores evaluated by a protocol, every number with its interval over problems, and three extras.

- Calibration of pairs: p = sigmoid(chosen - rejected), or the file's own probability. Brier is the mean of (1 - p)^2. ECE sorts
  pairs by how sure p is, max(p, 1 - p), into ten bins from 0.5 to 1: the sum over bins of |share right - mean sure|, by size.
- Length: Pearson's and Spearman's correlation of scores with lengths, over all answers, and within problems (each problem's
  means taken off first).
- Best of N: the label of the best scored of N answers to a problem, drawn without replacement, exactly and in the mean over
  problems; answers with equal scores share. Beside it what an oracle would choose.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from guerdon.audits.scores import (  # noqa: F401  each puts its protocols on the list
    dimension_probes,
    judge_orders,
    one_against_nine,
    preference_pairs,
    reward_bench_rules,
    step_judgements,
    style_grid,
)
from guerdon.audits.scores.rows import (
    PROTOCOLS,
    Array,
    Ledger,
    Means,
    ScoredPair,
    ScoredTry,
    ScoreProtocol,
    ScoreSettings,
    read_scores,
    scored_by,
)
from guerdon.audits.scores.score_report import ScoreMeasure, ScoreReport
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError, unknown
from guerdon.core.statistics import Interval, bootstrap_intervals, weighted_means, weighted_pearson, weighted_ranks

NO_SHARES = ("calibration", "length")  # extras that are plain numbers


def audit_scores(
    data: Any,
    protocol: str,
    *,
    reward: Any = None,
    threshold: int | float | str = 0.5,
    draws: int = 1000,
    seed: int = 0,
) -> ScoreReport:
    """Evaluate a reward model on a file of its scores, exactly as a public benchmark does.

    A missing score is counted and leaves its row out; it is never a number.

    Args:
        data: a file (JSON, JSON lines, CSV, Parquet, JSON in gzip), a list of rows or a dictionary of columns.
        protocol: one of `score_protocols()`.
        reward: what scores rows with texts and no scores: a function, a formula, FILE.py:NAME, the folder of a trained model.
        threshold: where scores of steps count as right, or the split on which the best one is looked for.
        draws: bootstrap samples of problems, for 95 % intervals.
        seed: what they are drawn by.

    >>> import guerdon as gd
    >>> rows = [{"chosen_score": 2.0, "rejected_score": 1.0}, {"chosen_score": 0.5, "rejected_score": 3.0},
    ...         {"chosen_score": 1.0, "rejected_score": 1.0}, {"chosen_score": None, "rejected_score": 3.0}]
    >>> report = gd.audits.audit_scores(rows, "pairs", draws=100)
    >>> round(report["accuracy"], 3), report["accuracy, ties half"], report.missing
    (0.333, 0.5, 1)
    """
    check_arguments("audit_scores", audit_scores, locals())
    chosen = find_protocol(protocol)
    if draws < 0:
        raise UserError(f"audit_scores: draws must be 0 or more, not {draws}")
    rows = read_scores(data)
    if reward is not None:
        rows = scored_by(reward, rows, chosen)
    ledger = chosen.read(rows, ScoreSettings(threshold, seed))
    if not ledger.problems:
        raise UserError(f"{rows.name}: no row has all the scores that {protocol} needs")
    problems = list(dict.fromkeys(ledger.problems))
    return ScoreReport(
        protocol=protocol,
        file=rows.name,
        source=chosen.source,
        problems=len(problems),
        rows=len(rows),
        measures=measures_of(ledger, problems, draws, seed),
        counts={"missing scores": 0, **ledger.counts},
        remarks=ledger.remarks,
        draws=draws,
        seed=seed,
    )


def score_protocols() -> dict[str, str]:
    """Every protocol by name, in a line.

    >>> import guerdon as gd
    >>> list(gd.audits.score_protocols())[:3]
    ['contrast', 'dimensions', 'judgebench']
    """
    return {name: PROTOCOLS[name].says for name in sorted(PROTOCOLS)}


def find_protocol(name: str) -> ScoreProtocol:
    if name not in PROTOCOLS:
        raise unknown("protocol", name, PROTOCOLS)
    return PROTOCOLS[name]


def measures_of(ledger: Ledger, problems: Sequence[str], draws: int, seed: int) -> list[ScoreMeasure]:
    """The numbers that follow from what a protocol noted, and what else it permits."""
    number = {name: place for place, name in enumerate(problems)}
    names = list(dict.fromkeys(name for row in ledger.notes_of_rows for name in row))
    values = np.array([[row.get(name, np.nan) for name in names] for row in ledger.notes_of_rows])
    row_problem = np.array([number[each] for each in ledger.problems])
    stratum = dict(zip(reversed(ledger.problems), reversed(ledger.strata), strict=True))
    others, other_counts = extras(ledger, number)

    def statistic(weights: Array) -> Means:
        table = weighted_means(weights[:, row_problem], values)
        means: Means = {name: table[:, at] for at, name in enumerate(names)}
        result = {**ledger.derive(means), **means}
        for other in others:
            result |= other(weights)
        return result

    intervals = bootstrap_intervals(statistic, [stratum[name] for name in problems], draws, seed, "scores")
    counts = {name: int((~np.isnan(values[:, at])).sum()) for at, name in enumerate(names)} | other_counts
    return [
        ScoreMeasure(name, of.value, of.low, of.high, _count(name, counts), _is_share(name, ledger.plain))
        for name, of in _in_order(intervals).items()
        if not name.startswith("_")
    ]


def _in_order(intervals: Mapping[str, Interval]) -> dict[str, Interval]:
    """Measures without a group first; groups as they appear."""
    groups = list(dict.fromkeys(name.partition("/")[0] if "/" in name else "" for name in intervals))
    groups.sort(key=lambda group: (group != "", group in ("calibration", "length", "best of", "oracle of")))
    place = {group: at for at, group in enumerate(groups)}
    return dict(sorted(intervals.items(), key=lambda item: place[item[0].partition("/")[0] if "/" in item[0] else ""]))


def _count(name: str, counts: Mapping[str, int]) -> int | None:
    return counts.get(name, counts.get(name.partition("/")[0], counts.get(name.replace("/", " "))))


def _is_share(name: str, plain: Sequence[str]) -> bool:
    group = name.partition("/")[0]
    return name not in plain and group not in plain and group not in NO_SHARES


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
