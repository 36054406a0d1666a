"""The types of a run's events, one for each kind of line in `events.jsonl`. Every number shown anywhere is rebuilt from them.

Each event carries the attempt that wrote it: a run resumed from step 40 writes step 40 again.
Readers keep the last attempt.
Times are for people; nothing computes with them but speed.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.renamed import OldName


@dataclass(frozen=True)
class Event:
    step: int
    attempt: int = 0
    time: float = 0.0

    def to_json(self) -> dict[str, Any]:
        return {"type": type(self).__name__, **dataclasses.asdict(self)}


@dataclass(frozen=True)
class Started(Event):
    """A process began, or began again, at `step`, to end after `steps` of them or when a `budget` is spent. `weights` is the
    hash of those that a run began with, where it trains any."""

    steps: int = 0
    budget: float = 0.0
    unit: str = ""
    spent: float = 0.0
    weights: str = ""


@dataclass(frozen=True)
class StepDone(Event):
    """A step's metrics. `tokens`, `calls` and `episodes` count everything played, judges and searches included; `read` are
    tokens that any model read, `updates` those of all learners, `env_steps` those of worlds in lock step."""

    metrics: dict[str, float] = field(default_factory=dict)
    tokens: int = 0
    calls: int = 0
    episodes: int = 0
    seconds: float = 0.0
    read: int = 0
    updates: int = 0
    env_steps: int = 0

    @property
    def spent(self) -> dict[str, float]:
        """What the step cost, in every unit of a budget."""
        cost = {"tokens": self.tokens, "read": self.read, "updates": self.updates, "seconds": self.seconds}
        return {**cost, "env_steps": self.env_steps, "samples": self.episodes, "steps": 1}

    @property
    def unreadable(self) -> dict[str, tuple[int, int]]:
        """Replies of models asked in a role that could not be read, and how many were asked for, by role."""
        asked = {name[len(ROLES) : -len(ASKED)]: n for name, n in self.metrics.items() if _is_count(name)}
        return {role: (int(self.metrics.get(f"{ROLES}{role}/unreadable", 0)), int(n)) for role, n in asked.items()}


ROLES, ASKED = "roles/", "/asked"  # around a role in the names of metrics


def _is_count(name: str) -> bool:
    return name.startswith(ROLES) and name.endswith(ASKED)


@dataclass(frozen=True)
class Evaluated(Event):
    """Held-out results after `step + 1` steps (-1: before the first); `result` has the numbers of all exams, those of a named
    one as `NAME/metric`. `problems` has by exam the result of each problem, so that runs with the same ones can be compared
    (`guerdon.exams.tries`). A study's are those of its runs, one after the other, with what it had `spent` by then in
    every unit of a budget."""

    result: dict[str, Any] = field(default_factory=dict)
    spent: dict[str, float] = field(default_factory=dict)
    problems: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Saved(Event):
    """A checkpoint is on disk and complete."""

    path: str = ""
    weights: str = ""


@dataclass(frozen=True)
class ScoresMissing(Event):
    """A column has entries that failed or timed out; `first` is the first exception in full, `causes` counts them by kind."""

    column: str = ""
    failed: int = 0
    timed_out: int = 0
    of: int = 0
    first: str = ""
    causes: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class TimeoutFired(Event):
    """A clock decided something. The one thing that may make a resumed run differ from an unbroken one."""

    what: str = ""


@dataclass(frozen=True)
class Warned(Event):
    message: str = ""


@dataclass(frozen=True)
class Alarmed(Event):
    """A rule of the watch found that something goes wrong: what happened, in `message`, and what to do, the `fix`.
    `severity` is bad, warn or note; `about` the column, part or metric it is about. `rollouts` are the clearest of the step:
    which they are (step, episode, last segment), question and answer, cut where long, and their numbers."""

    rule: str = ""
    severity: str = "warn"
    about: str = ""
    message: str = ""
    fix: str = ""
    numbers: dict[str, float] = field(default_factory=dict)
    rollouts: list[dict[str, Any]] = field(default_factory=list)

    mend = OldName("fix")


@dataclass(frozen=True)
class Stopped(Event):
    """The run stopped before its last step: a fault, or the user asked."""

    why: str = ""


@dataclass(frozen=True)
class Ended(Event):
    """The run is complete. Of a study, `result` is the checksum of the file that holds what its body returned."""

    weights: str = ""
    result: str = ""


TYPES = {
    t.__name__: t
    for t in (Started, StepDone, Evaluated, Saved, ScoresMissing, TimeoutFired, Warned, Alarmed, Stopped, Ended)
}
DEFAULTS = {t: dataclasses.asdict(t(0)) for t in TYPES.values()}  # what a field holds shows what it may hold

NUMBERS = ("causes", "spent", "numbers")  # hold numbers by name; metrics are the user's, who may log what they like
LARGEST = 2**63  # what is counted stays below
FORMERLY = {"mend": "fix"}  # fields that runs of 0.2 wrote by another name


def from_json(row: dict[str, Any]) -> Event:
    """An event from its line. Fields that a newer version added are ignored; an unknown type is refused."""
    kind = TYPES.get(str(row.get("type")))
    if kind is None:
        raise UserError(f"unknown event type {row.get('type')!r}: this run was written by a newer guerdon")
    defaults = DEFAULTS[kind]
    fields = {now: value for name, value in row.items() if (now := FORMERLY.get(name, name)) in defaults}
    for name, value in fields.items():
        if not _is_like(value, defaults[name]) or (name in NUMBERS and not _are_numbers(value)):
            shown = repr(value)
            shown = shown if len(shown) < 80 else f"{shown[:77]}..."
            raise UserError(f"{name!r} of a {row['type']} in events.jsonl is {shown}: that is not of our writing")
    return kind(**fields)


def _are_numbers(value: Any) -> bool:
    return not isinstance(value, dict) or all(map(_is_number, value.values()))


def _is_like(value: Any, default: Any) -> bool:
    if isinstance(default, float):
        return _is_number(value)
    return isinstance(value, type(default)) and (not isinstance(default, int) or _is_number(value))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and not abs(value) >= LARGEST
