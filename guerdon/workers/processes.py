"""Child processes: how to find them, how to end them, and how to end with one's parent.

On Linux a process can take over the orphans of its descendants.
So nothing that a call has started gets away, not even what has left its group and session.
Elsewhere there are process groups alone. Imports the standard library alone.

Leaves out: who has to end, and when (`dispatcher.py`).
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

_DEATH_SIGNAL, _DUMPABLE, _SUBREAPER = 1, 4, 36  # of prctl
MARK_VARIABLE = "GUERDON_WORKERS"  # the variable in the environment of whatever a template or its workers start


def _prctl(option: int, value: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(option, value)


def die_with_parent() -> None:
    """A parent that is killed itself could not kill this process: let the kernel do it."""
    _prctl(_DEATH_SIGNAL, signal.SIGKILL)


def hide_memory() -> None:
    """Other processes of the same user can neither read nor open what this one has, unless the user is root."""
    _prctl(_DUMPABLE, 0)


def adopt_orphans() -> None:
    """Become the parent of whatever a descendant leaves behind."""
    _prctl(_SUBREAPER, 1)


class ThreadTimes(NamedTuple):
    """Of one thread: seconds it has had a processor, seconds it waited for one, and whether it would run now."""

    used: float
    waited: float
    runs: bool


def thread_times(pid: int) -> dict[str, ThreadTimes]:
    """The threads of a process, by their number; none where the system does not report them."""
    times = {}
    for thread in _threads(pid):
        with contextlib.suppress(OSError):  # it has ended
            used, waited, _ = map(int, (thread / "schedstat").read_text().split())
            runs = (thread / "stat").read_text().rpartition(")")[2][1] == "R"
            times[thread.name] = ThreadTimes(used / 1e9, waited / 1e9, runs)
    return times


def children(pid: int) -> list[int]:
    """Of all threads of a process; none where the system does not report it."""
    pids: list[int] = []
    for thread in _threads(pid):
        with contextlib.suppress(OSError):
            pids += map(int, (thread / "children").read_text().split())
    return pids


def _threads(pid: int) -> list[Path]:
    try:
        return list(Path(f"/proc/{pid}/task").iterdir())
    except OSError:  # it has ended, or there is no /proc
        return []


def kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def kill_group(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(pid, signal.SIGKILL)


def end_children(but: Collection[int] = ()) -> None:
    """Kill and reap this process's children, and theirs as they become its own, until none is left. Needs `adopt_orphans`."""
    while left := [pid for pid in children(os.getpid()) if pid not in but]:
        for pid in left:
            kill(pid)
        for pid in left:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)


def end_marked(mark: str) -> None:
    """Kill whatever carries a mark among its arguments or in its environment: what a killed template has left behind."""
    sign = mark.encode()
    for path in Path("/proc").glob("[0-9]*"):
        if int(path.name) == os.getpid():
            continue
        for name in ("cmdline", "environ"):
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                if sign in (path / name).read_bytes():
                    kill(int(path.name))
