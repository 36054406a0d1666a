"""The front door: a file of scores held to a protocol, every number with its interval over problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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
from guerdon.audits.scores.protocol_list import PROTOCOLS, Array, Ledger, Means, ScoreProtocol, ScoreSettings
from guerdon.audits.scores.rows_by_reward import scored_by
from guerdon.audits.scores.score_extras import extras
from guerdon.audits.scores.score_report import ScoreMeasure, ScoreReport
from guerdon.audits.scores.score_rows import read_scores
from guerdon.core.arguments import check_arguments
from guerdon.core.errors import UserError, unknown
from guerdon.core.statistics import Interval, bootstrap_intervals, weighted_means

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
    """Evaluate a reward model on a file of its scores, exactly as a public benchmark does: `protocol` is one of
    `score_protocols()`.

    `data` is a file (JSON, JSON lines, CSV, Parquet, JSON in gzip), a list of rows or a dictionary of columns. Rows with texts
    and no scores are scored by `reward` first (a function, a formula, FILE.py:NAME, the folder of a trained model).
    `threshold` is where scores of steps count as right, or the split on which the best one is looked for. Intervals are 95 %
    percentiles of `draws` of problems. A score that is missing is counted and leaves its row out; it is never a number.

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
