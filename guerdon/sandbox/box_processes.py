"""The processes of a box that may have several: how many there are, and what memory they take together.

Linux has limits for one process and for all of a user, and none for a tree of them that needs no privilege. So every start
is told to the box's first process, which counts, and looks at the sum from time to time.
Leaves out: who is told (`box_init.py`), the limits of each process (`boxed_program.py`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import time
from dataclasses import dataclass
from typing import Any

from guerdon.sandbox import kernel_calls
from guerdon.sandbox.seccomp_filter import starts_process

_PENDING = 64  # the newest process ids, which may be about to live


@dataclass(frozen=True)
class BoxConfig:
    """What all boxes of a zygote have in common."""

    isolation: str
    see: tuple[str, ...]
    landlock: int  # its version, or 0
    scratch: str  # where working folders are made, where there are no mounts
    addresses: int  # bytes of addresses that the interpreter has itself
    resident: int  # and of memory
    counts_apart: bool  # whether the processes of a user namespace are counted by themselves
    proc: int  # a descriptor of /proc, which no program has
    fork_hooks: tuple[dict[str, Any], ...]  # what modules want done where a program forks


class BoxProcesses:
    """Those of one box."""

    def __init__(self, most: int, config: BoxConfig) -> None:
        self.most, self.config = most, config
        self.started = 0  # processes and threads that the program started
        self.living = {2}  # process ids that may be alive
        self.clocks: dict[int, float] = {}  # seconds of processor that each was last seen to have taken

    def start_refused(self, name: str, flags: int) -> int:
        """Whether the program may start a process or thread: 0, or the error that it fails with."""
        if self.most == 1:
            return errno.EAGAIN
        self.started += 1
        if not starts_process(name, flags):
            return 0  # a thread; of those there is a limit for all together
        if self.config.isolation != "full":
            return 0  # here process ids are the machine's, and tell nothing
        # Process ids count up from 2, and every start is told here: what lives is among the ids given so far.
        newest = self.started + 2
        self.living |= set(range(max(2, newest - _PENDING), newest + 1))
        self._read_clocks()
        alive = {pid for pid in self.living if _is_process(pid)}
        self.living = alive | {pid for pid in self.living if pid > newest - _PENDING}
        return errno.EAGAIN if len(alive) >= self.most else 0

    def _read_clocks(self) -> None:
        for pid in self.living:
            with contextlib.suppress(OSError):
                self.clocks[pid] = time.clock_gettime((~pid << 3) | 2)

    def cpu(self) -> float:
        """Seconds of processor that they took together, those that ended included: seen by their own clocks, or told by who
        waited for them, whichever is more. One that ends within milliseconds and that nobody waits for may be missed."""
        self._read_clocks()
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = reaped.ru_utime + reaped.ru_stime
        told += sum(
            self.clocks.get(pid, 0.0) + _waited_for(pid, self.config) for pid in self.living if _is_process(pid)
        )
        return max(sum(self.clocks.values()), told)

    def memory(self) -> int:
        """Bytes that they take together, beyond what interpreters take themselves."""
        if self.config.proc < 0 or self.config.isolation != "full":
            return 0
        return sum(_memory_of(pid, self.config) for pid in self.living)


def _is_process(pid: int) -> bool:
    """Whether there is a process, and not a thread, of this id in the box."""
    try:
        kernel_calls.syscall("tgkill", pid, pid, 0)
    except OSError:
        return False
    return True


def _memory_of(pid: int, config: BoxConfig) -> int:
    """Bytes that a process of the box has beyond an interpreter's own; 0 where it has ended."""
    try:
        resident, shared = (int(word) for word in _told_of(pid, "statm", config.proc).split()[1:3])
    except (OSError, StopIteration, ValueError):
        return 0
    return max(0, (resident - shared) * os.sysconf("SC_PAGE_SIZE") - config.resident)


def _waited_for(pid: int, config: BoxConfig) -> float:
    """Seconds of processor that those took which a process of the box has waited for."""
    try:
        words = _told_of(pid, "stat", config.proc).rpartition(")")[2].split()
        return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK")
    except (OSError, StopIteration, ValueError, IndexError):
        return 0.0


def _told_of(pid: int, file: str, proc: int) -> str:
    """What /proc tells of a process of the box. It knows it by another id."""
    handle = os.pidfd_open(pid)
    try:
        lines = _proc_text(f"self/fdinfo/{handle}", proc).splitlines()
        outside = next(line.split()[1] for line in lines if line.startswith("Pid:"))
        return _proc_text(f"{outside}/{file}", proc)
    finally:
        os.close(handle)


def _proc_text(path: str, proc: int) -> str:
    end = os.open(path, os.O_RDONLY, dir_fd=proc)
    try:
        return os.read(end, 4096).decode()
    finally:
        os.close(end)
