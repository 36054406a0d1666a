"""Run folders written event by event, for tests that know every number in them."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from run_configs import config

from guerdon.runs.event_types import Ended, Evaluated, Event, Started, StepDone
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder


def write_run(path: Path, events: Iterable[Event] = (), **said: Any) -> Path:
    RunFolder(path).create(config(**said))
    add_events(path, events)
    return path


def add_events(path: Path, events: Iterable[Event]) -> None:
    with EventLog(path / "events.jsonl", 0) as log:
        for event in events:
            log.emit(event)


def steps(metric: str, values: Iterable[float | None], tokens: int = 10, spread: float | None = None) -> list[Event]:
    """A step for each value of a metric; with a `spread`, it is a mean with that deviation."""
    more = {} if spread is None else {f"{metric.removesuffix('/mean')}/std": spread}
    said = [{} if v is None else {metric: v, **more} for v in values]
    return [StepDone(n, metrics=m, tokens=tokens, seconds=2.0, episodes=4) for n, m in enumerate(said)]


def whole(values: Iterable[float], before: float = 0.1, after: float = 0.6) -> list[Event]:
    """The events of a run that ended, with an exam before and after."""
    done = steps("correct/mean", values)
    found = [
        {"task": "sums", "tasks": 8, "pass@1": v, "pass@1_low": v - 0.1, "pass@1_high": v + 0.1}
        for v in (before, after)
    ]
    last = len(done) - 1
    begin, *_ = [Started(0, steps=len(done))]
    return [begin, Evaluated(-1, result=found[0]), *done, Evaluated(last, result=found[1]), Ended(last, weights="abc")]
