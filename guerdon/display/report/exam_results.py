"""What held-out exams measured: pass rates before and after training with their intervals, and every other number."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.report.charts import Whiskers, spark, whiskers
from guerdon.display.report.metric_curves import Curve
from guerdon.display.report.shown_numbers import ShownNumber, Style, key_of, number
from guerdon.runs.event_types import Evaluated
from guerdon.runs.headline import ENDS, finite

ELSEWHERE = ("steps_done", "tasks", "tries", "length", "missing")  # stand in the lead of the pass rates


@dataclass(frozen=True)
class Rate:
    """A pass rate at one evaluation, with its interval."""

    steps_done: ShownNumber | None
    value: ShownNumber | None
    low: ShownNumber | None
    high: ShownNumber | None
    whiskers: Whiskers


@dataclass(frozen=True)
class RateTile:
    """One pass rate at the first and the last evaluation, both on one line from none to all."""

    name: str
    first: Rate
    last: Rate
    whiskers: Whiskers


@dataclass(frozen=True)
class Accuracy:
    """The pass rates. `history` has every evaluation of the first rate, where there are some between first and last."""

    tasks: ShownNumber | None
    tries: ShownNumber | None
    length: ShownNumber | None
    missing: ShownNumber | None
    tiles: list[RateTile]
    history: list[Rate]


@dataclass(frozen=True)
class ExamRow:
    """A number that is not a pass rate: its curve as the path of a spark; first, last and the interval of the last."""

    name: str
    spark: str
    numbers: list[ShownNumber | None]


@dataclass(frozen=True)
class ExamResults:
    """`is_repeated` says whether there was more than one evaluation."""

    is_repeated: bool
    accuracy: Accuracy | None
    others: list[ExamRow]


def exam_results(events: Sequence[Evaluated]) -> ExamResults | None:
    """None where nothing was evaluated."""
    results = [{"steps_done": event.step + 1, **event.result} for event in events]
    if not results:
        return None
    return ExamResults(len(results) > 1, _accuracy(results), _others(results))


def _accuracy(results: Sequence[Mapping[str, Any]]) -> Accuracy | None:
    last = len(results) - 1
    names = [n for n in results[last] if n.startswith("pass@") and not n.endswith(ENDS)]
    if not names:
        return None
    return Accuracy(
        tasks=_number(results, last, "tasks", "count"),
        tries=_number(results, last, "tries", "count"),
        length=_number(results, last, "length"),
        missing=_number(results, last, "missing", "share"),
        tiles=[_tile(results, name) for name in names],
        history=[_rate(results, i, names[0]) for i in range(len(results))] if last > 1 else [],
    )


def _number(results: Sequence[Mapping[str, Any]], i: int, name: str, style: Style = "number") -> ShownNumber | None:
    return number(key_of("eval", i, name), results[i].get(name), style)


def _rate(results: Sequence[Mapping[str, Any]], i: int, name: str) -> Rate:
    return Rate(
        steps_done=_number(results, i, "steps_done", "count"),
        value=_number(results, i, name, "share"),
        low=_number(results, i, f"{name}_low", "share"),
        high=_number(results, i, f"{name}_high", "share"),
        whiskers=whiskers(_interval(results[i], name, "is")),
    )


def _tile(results: Sequence[Mapping[str, Any]], name: str) -> RateTile:
    last = len(results) - 1
    rows = _interval(results[0], name, "was") if last else []
    rows += _interval(results[last], name, "is")
    return RateTile(name, _rate(results, 0, name), _rate(results, last, name), whiskers(rows))


def _interval(result: Mapping[str, Any], name: str, tone: str) -> list[tuple[str, float, float, float]]:
    """A rate as a row of whiskers; none where a number of it is missing."""
    value, low, high = (finite(result.get(each)) for each in (name, f"{name}_low", f"{name}_high"))
    return [] if value is None or low is None or high is None else [(tone, value, low, high)]


def _others(results: Sequence[Mapping[str, Any]]) -> list[ExamRow]:
    """The numbers of named exams, and of the nameless one those other than accuracy."""
    rows, last = [], len(results) - 1
    for name in results[last]:
        value = _number(results, last, name)
        is_elsewhere = name in ELSEWHERE or name.endswith(("/tries", *ENDS)) or name.startswith("pass@")
        if value is None or is_elsewhere:
            continue
        values = [finite(result.get(name)) for result in results]
        done = [int(result["steps_done"]) for result in results]
        way = spark(Curve(name, name, done, values, None, last + 1)) if last else ""
        ends = [_number(results, last, f"{name}{end}") for end in ENDS]
        rows.append(ExamRow(name, way, [_number(results, 0, name), value, *ends]))
    return rows
