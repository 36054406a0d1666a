"""`events.jsonl`: the truth of a run, written a line at a time and never rewritten."""

from __future__ import annotations

import dataclasses
import json
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from guerdon.core.errors import UserError
from guerdon.store.files import disk_errors, sync
from guerdon.store.happened import Ended, Event, Started, Stopped, Warned, from_json

Listener = Callable[[Event], None]
PROCESS = (Started, Warned, Stopped, Ended)


class EventLog:
    """Appends events, stamped with this process's attempt, and tells the listeners (progress, loggers)."""

    def __init__(self, path: Path, attempt: int, listeners: tuple[Listener, ...] = ()) -> None:
        self.path, self.attempt, self.listeners = path, attempt, listeners
        with disk_errors(path):
            self.file = open(path, "ab", buffering=0)  # noqa: SIM115 - open as long as the run
            # a killed process may have left a torn line: the next one starts anew, and readers pass the torn one over
            self.torn = self.file.tell() > 0 and not _ends_whole(path)

    def emit(self, event: Event) -> None:
        event = dataclasses.replace(event, attempt=self.attempt, time=time.time())
        line = (json.dumps(event.to_json()) + "\n").encode()
        if self.torn:
            line = b"\n" + line
        with disk_errors(self.path):
            written = 0
            while written < len(line):
                self.torn = True  # until all of it is there: a full disk may take half a line
                written += self.file.write(line[written:]) or 0
            self.torn = False
        for listener in self.listeners:
            listener(event)

    def sync(self) -> None:
        with disk_errors(self.path):
            os.fsync(self.file.fileno())
            sync(self.path.parent)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _ends_whole(path: Path) -> bool:
    with open(path, "rb") as file:
        file.seek(-1, os.SEEK_END)
        return file.read(1) == b"\n"


def next_attempt(events: Sequence[Event]) -> int:
    """The number of the attempt that comes after those that wrote `events`."""
    return 1 + max((e.attempt for e in events), default=-1)


def read_events(path: Path) -> list[Event]:
    """Every whole event in the order written. Torn lines, which only a killed process leaves, are passed over; a run
    that wrote nothing yet has no events."""
    if not path.exists():
        return []
    try:
        lines = path.read_bytes().split(b"\n")
    except OSError as error:
        raise UserError(f"cannot read {path}: {error.strerror}") from error
    found = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if isinstance(row, dict):
            found.append(from_json(row))
    return found


def latest(events: list[Event]) -> list[Event]:
    """Only what the last attempt at each step wrote, in order of steps. Events about the process itself are all kept."""
    last: dict[int, int] = {}
    for event in events:
        if not isinstance(event, PROCESS):
            last[event.step] = max(last.get(event.step, 0), event.attempt)
    kept = [e for e in events if isinstance(e, PROCESS) or e.attempt == last[e.step]]
    return sorted(kept, key=lambda e: e.step)
