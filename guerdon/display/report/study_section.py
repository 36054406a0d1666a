"""A study on the page: the runs in it, each with a way to its own report, and what its body returned."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from guerdon.core.manifest import Damaged
from guerdon.display.report.shown_numbers import ShownNumber, Style, key_of, number
from guerdon.display.report.troubles import Note
from guerdon.runs.headline import exam_headline
from guerdon.runs.run import Run


@dataclass(frozen=True)
class InnerRun:
    """One run of a study."""

    folder: str
    name: str
    numbers: list[ShownNumber | None]  # seed, steps done, steps, held-out headline before and after
    status: str


@dataclass(frozen=True)
class ResultRow:
    """A leaf of what the body returned: a number, or in words what is none."""

    name: str
    number: ShownNumber | None
    words: str


@dataclass(frozen=True)
class StudySection:
    """`notes` say what could not be read."""

    runs: list[InnerRun]
    result: list[ResultRow]
    notes: list[Note]


def study_section(run: Run) -> StudySection:
    """From the runs inside, and from `result.json`."""
    runs = [_inner(inner) for inner in run.inner]
    if not run.folder.result.is_file():
        return StudySection(runs, [], [])
    try:
        leaves = _leaves("", run.result)
    except Damaged as error:
        return StudySection(runs, [], [Note("", str(error))])
    return StudySection(runs, [_result_row(name, value) for name, value in leaves], [])


def _inner(inner: Run) -> InnerRun:
    folder = inner.path.name
    headline = exam_headline(inner.evaluations if inner.folder.events.exists() else [])
    before, after = (headline.points[0].value, headline.points[-1].value) if headline is not None else (None, None)
    style: Style = "share" if headline is not None and headline.is_share else "number"
    config = inner.config
    values: list[tuple[str, Any, Style]] = [
        ("seed", config.get("seed"), "count"),
        ("steps_done", inner.steps_done, "count"),
        ("steps", config.get("steps"), "count"),
        ("before", before, style),
        ("after", after, style),
    ]
    numbers = [number(key_of("inner", folder, name), value, style) for name, value, style in values]
    return InnerRun(folder, inner.name, numbers, inner.status)


def _result_row(name: str, value: Any) -> ResultRow:
    words = value if isinstance(value, str) else json.dumps(value)
    return ResultRow(name, number(key_of("result", name), value), words)


def _leaves(at: str, value: Any) -> list[tuple[str, Any]]:
    """The leaves of a JSON value with their paths."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    if inside is None:
        return [] if value is None and not at else [(at, value)]
    return [leaf for k, v in inside for leaf in _leaves(f"{at}/{k}" if at else str(k), v)]
