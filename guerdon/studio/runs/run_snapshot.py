"""A run at one moment: its config and its events as they were when it was asked for, so that all numbers fit.

Whether it is running is not in its files: a process that writes a run holds the lock of its folder, which goes with the
process however that ends. The lock is looked up and never taken, for a run that begins would find it taken.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged
from guerdon.runs.event_types import Event
from guerdon.runs.folder import LOCK, RunFolder
from guerdon.runs.run import Missing, Run, Snapshot
from guerdon.runs.whole_files import file_mark
from guerdon.studio.library import ShelvedRun

RECENT = 120.0  # seconds since the last event in which a run that is not locked here may be running on another machine
LOCKS = Path("/proc/locks")
E = TypeVar("E", bound=Event)


def snapshot(shelved: ShelvedRun, keep: bool = True) -> Snapshot:
    """A run as it is now. With `keep` its events stay in memory, and only what is new is read the next time."""
    try:
        run = shelved.run if keep else Run(shelved.folder)
        return Snapshot(run.folder, run.config, run.log())
    except Damaged:
        raise
    except UserError as error:
        if not file_mark(shelved.folder.config_file):
            raise Missing(f"{shelved.name} is not there any more") from error
        raise


def held_inodes() -> set[int] | None:
    """The files on which a process of this machine holds a lock; None where that is unknown."""
    try:
        lines = LOCKS.read_text().splitlines()
    except OSError:
        return None
    return {int(number) for line in lines if (number := _inode(line.split())).isdecimal()}


def _inode(fields: Sequence[str]) -> str:
    """Of a line such as `1: FLOCK ADVISORY WRITE 4711 fe:00:1295529 0 EOF`."""
    return fields[5].rpartition(":")[2] if len(fields) > 5 and fields[1] == "FLOCK" else ""


def is_held(folder: RunFolder, held: set[int] | None) -> bool:
    mark = file_mark(folder.path / LOCK)
    return bool(mark) and held is not None and mark[0] in held


def standing(status: str, is_held: bool, last_time: float, now: float | None = None) -> tuple[str, str]:
    """How a run stands, in a word and why: `running`, `complete`, `stopped`."""
    if status == "complete":
        return "complete", ""
    if is_held:
        return "running", ""
    word, _, why = status.partition(": ")
    if word == "stopped":
        return "stopped", why
    if (time.time() if now is None else now) - last_time < RECENT:
        return "running", ""
    return "stopped", "cut short: no process holds it, and it did not report its end"
