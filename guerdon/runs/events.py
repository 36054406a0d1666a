"""`events.jsonl`: the truth of a run, written a line at a time and never rewritten.

Every line ends with its number in the file and a checksum of all that stands before it. By these, a line is one of three:

- *torn*: the last line, where it has no line end and does not match its checksum. A killed process or a full disk left it. It
is not damage: readers skip it, and the next writer cuts it off.
- *damaged*: any other line that does not match its checksum, and every number that is missing or comes twice.
- *old*: lines that guerdon wrote before it had checksums. They stand before all others; a broken one is passed over as torn.
"""

from __future__ import annotations

import copy
import dataclasses
import json
import os
import stat
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.runs.checksums import line_sum, seal_line
from guerdon.runs.event_types import Ended, Event, Saved, Started, Stopped, Warned, from_json
from guerdon.runs.listeners import Listener, Listeners
from guerdon.runs.whole_files import disk_errors, refuse_odd, sync

PROCESS = (Started, Saved, Warned, Stopped, Ended)
NAMED = 20  # damaged lines that are named
SEALED = {"line", "sum"}  # the keys that only lines with a checksum have
GAP = 1_000_000  # lines in a row that may be lost: a number beyond is none of ours


class EventLog:
    """Appends events, stamped with this process's attempt, and passes them to the listeners (progress, loggers)."""

    def __init__(self, path: Path, attempt: int, listeners: Iterable[Listener] = (), run: str = "") -> None:
        """`run` is the id of the run, which the first line of each attempt has."""
        self.path, self.attempt, self.listeners, self.run = path, attempt, Listeners(listeners), run
        self.is_named = False  # whether a line of this attempt has the run's id
        refuse_odd(path)
        with disk_errors(path):
            self.file = open(path, "ab", buffering=0)  # noqa: SIM115 - open as long as the run
        before = read_log(path)
        self.lines, self.size = before.lines, before.size
        self.torn = self.file.tell() != self.size  # what a killed process left of a line
        self.lead = b"" if before.ends else b"\n"  # it may have lost nothing but the line's end

    def emit(self, event: Event) -> None:
        event = dataclasses.replace(event, attempt=self.attempt, time=time.time())
        own = {"run": self.run} if self.run and not self.is_named else {}
        line = self.lead + seal_line({**event.to_json(), **own, "line": self.lines + 1}) + b"\n"
        with disk_errors(self.path):
            if self.torn:
                os.truncate(self.path, self.size)
            written = 0
            while written < len(line):
                self.torn = True  # until all of it is there: a full disk may take half a line
                written += self.file.write(line[written:]) or 0
        self.torn, self.lead, self.is_named = False, b"", True
        self.lines, self.size = self.lines + 1, self.size + len(line)
        for why in self.listeners.tell(event):
            self.emit(Warned(event.step, message=why))

    def sync(self) -> None:
        with disk_errors(self.path):
            os.fsync(self.file.fileno())
            sync(self.path.parent)

    def __enter__(self) -> EventLog:
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()


@dataclass(frozen=True)
class Log:
    """A file of events as it was read: the whole ones in order, the numbers of damaged lines, how many lines were written in
    all, up to which byte they reach and whether the last has its end; and the ids of the runs that say they wrote in it, by
    attempt."""

    events: list[Event]
    damaged: tuple[int, ...] = ()
    lines: int = 0
    size: int = 0
    ends: bool = True
    runs: Mapping[int, str] = field(default_factory=dict)

    @property
    def damage(self) -> str:
        """The damaged lines, counted and named; empty where there are none."""
        if not self.damaged:
            return ""
        more = f" and {len(self.damaged) - NAMED} more" if len(self.damaged) > NAMED else ""
        named = ", ".join(map(str, self.damaged[:NAMED])) + more
        return f"{len(self.damaged)} damaged line{'s' * (len(self.damaged) > 1)} in events.jsonl: {named}"


def next_attempt(events: Sequence[Event]) -> int:
    """The number of the attempt that comes after those that wrote `events`."""
    return 1 + max((e.attempt for e in events), default=-1)


def read_events(path: Path) -> list[Event]:
    """Every whole event in the order written; a run that wrote nothing yet has no events."""
    return read_log(path).events


def read_log(path: Path) -> Log:
    """Events and what became of their lines, by the rule above."""
    return LogReader(path).read()


class LogReader:
    """Reads a file of events as it grows: lines that were read are not read again, but in a file that was put in its place or
    is shorter than it was."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._begin(0)

    def read(self) -> Log:
        """All that the file holds now."""
        try:
            with open(self.path, "rb", opener=_at_once) as file:
                now = os.fstat(file.fileno())
                if not stat.S_ISREG(now.st_mode):
                    raise Damaged(f"{self.path} is not a regular file: put the events of the run back")
                if now.st_ino != self.inode or now.st_size < self.size:
                    self._begin(now.st_ino)
                file.seek(self.size)
                *lines, tail = file.read().split(b"\n")
        except FileNotFoundError:
            self._begin(0)
            return Log([])
        except OSError as error:
            raise UserError(f"cannot read {self.path}: {error.strerror}") from error
        for line in lines:
            self._take(line)
        self.size += sum(len(line) + 1 for line in lines)
        if _row(tail)[0] is None:
            return self._log(self.size, ends=True)
        with_tail = copy.copy(self)  # it is whole, though it has lost its end, or has not got it yet
        with_tail.events, with_tail.damaged, with_tail.runs = list(self.events), list(self.damaged), dict(self.runs)
        with_tail._take(tail)
        return with_tail._log(self.size + len(tail), ends=False)

    def _begin(self, inode: int) -> None:
        self.inode, self.size = inode, 0
        self.events: list[Event] = []
        self.damaged: list[int] = []
        self.runs: dict[int, str] = {}
        self.last = self.waiting = 0  # the number of the last whole line, and how many broken ones stand after it
        self.is_old = True

    def _take(self, line: bytes) -> None:
        row, number = _row(line)
        if row is None or (number is None and not self.is_old) or (number or 0) > self.last + GAP:
            self.waiting += 1
            return
        if number is None or (self.is_old and self.events):  # broken lines from before there were checksums were torn
            self.last, self.waiting = self.last + self.waiting, 0
        self.is_old, number = number is None, self.last + 1 if number is None else number
        self.damaged += range(self.last + 1, number)
        if number <= self.last:
            self.damaged.append(number)
            return
        self.events.append(from_json(row))
        if isinstance(row.get("run"), str):
            self.runs[self.events[-1].attempt] = row["run"]
        self.last, self.waiting = number, 0

    def _log(self, size: int, ends: bool) -> Log:
        is_old = self.is_old and self.events
        damaged = [] if is_old else range(self.last + 1, self.last + self.waiting + 1)
        return Log(
            list(self.events),
            tuple(sorted({*self.damaged, *damaged})),
            self.last + self.waiting,
            size,
            ends,
            dict(self.runs),
        )


def _at_once(path: str, flags: int) -> int:
    """Open it, without waiting for a pipe that has no writer."""
    return os.open(path, flags | os.O_NONBLOCK)


def _row(line: bytes) -> tuple[dict[str, Any] | None, int | None]:
    """The event of a line, and its number, which one without a checksum does not have; of a broken one nothing."""
    is_sealed = line_sum(line)
    try:
        row = json.loads(line) if is_sealed is not False else None
    except (ValueError, RecursionError):
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("step"), int):
        return None, None
    if is_sealed and not isinstance(row.get("line"), int):
        return None, None
    if is_sealed is None and SEALED & row.keys():  # it had a checksum, which is harmed: no old line
        return None, None
    return row, row["line"] if is_sealed else None


def latest(events: list[Event]) -> list[Event]:
    """Only what the last attempt at each step wrote, in order of steps. Events about the process itself are all kept."""
    last: dict[int, int] = {}
    for event in events:
        if not isinstance(event, PROCESS):
            last[event.step] = max(last.get(event.step, 0), event.attempt)
    kept = [e for e in events if isinstance(e, PROCESS) or e.attempt == last[e.step]]
    return sorted(kept, key=lambda e: e.step)
