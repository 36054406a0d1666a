"""What went wrong: scores that failed or timed out, the run's own warnings, damage of its files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.display.report.shown_numbers import ShownNumber, key_of, number
from guerdon.runs.event_types import Event, ScoresMissing, TimeoutFired, Warned


@dataclass(frozen=True)
class ErrorText:
    """An exception: its last line, and the whole of it for who opens it."""

    line: str
    whole: str


@dataclass(frozen=True)
class MissingScores:
    """Scores of one column that failed or timed out, over the whole run, and the last step's first exception."""

    column: str
    failed: ShownNumber | None
    timed_out: ShownNumber | None
    of: ShownNumber | None
    steps: ShownNumber | None
    error: ErrorText | None


@dataclass(frozen=True)
class Note:
    """A warning: `lead` are the report's words, `text` the run's."""

    lead: str
    text: str


def error_text(error: str, otherwise: str = "") -> ErrorText:
    """Of an exception's traceback; `otherwise` is the line of one that says nothing."""
    return ErrorText((error.strip().splitlines() or [otherwise])[-1], error.strip())


def missing_scores(events: Sequence[Event]) -> list[MissingScores]:
    """Column by column."""
    first: dict[str, str] = {}
    counts: dict[str, Counter[str]] = {}
    for event in events:
        if isinstance(event, ScoresMissing):
            first[event.column] = event.first
            step = {"failed": event.failed, "timed_out": event.timed_out, "of": event.of, "steps": 1}
            counts.setdefault(event.column, Counter()).update(step)
    return [_missing(column, counts[column], error) for column, error in first.items()]


def _missing(column: str, counts: Counter[str], error: str) -> MissingScores:
    def count(name: str) -> ShownNumber | None:
        return number(key_of("missing", column, name), counts[name], "count")

    last_line = error_text(error) if error.strip() else None
    return MissingScores(column, count("failed"), count("timed_out"), count("of"), count("steps"), last_line)


def warnings_of(events: Sequence[Event]) -> list[Note]:
    """What the run warned of, and the clocks that decided something."""
    notes = []
    for event in events:
        if isinstance(event, Warned):
            notes.append(Note("", event.message))
        elif isinstance(event, TimeoutFired):
            notes.append(Note("a clock decided, so a resumed run may differ: ", event.what))
    return notes
