"""The processes of a box that may have several: which there are, how many may start, and their processor time together.

Linux has limits for one process and for all of a user, and none for a tree of them that needs no privilege. So every start
is told to the box's first process, which counts.
Leaves out: who is told (`box_init.py`), their memory (`box_memory.py`), the limits of each process (`boxed_limits.py`).
"""

from __future__ import annotations

import _thread
import contextlib
import errno
import os
import resource
import time
from dataclasses import dataclass
from typing import Any

from guerdon.sandbox import kernel_calls
from guerdon.sandbox.seccomp_filter import starts_process

MOST_STARTS = 20_000  # of processes and threads in one box: below the number of process ids that any machine has
_EXITING = 0x4  # of the flags that /proc tells of a process
_UNSEEN = 0.25  # seconds after which a start that nothing came of is forgotten


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
    pidfds: bool  # whether the kernel gives descriptors of processes
    clock: tuple[int, str, float] | None  # a file that tells the processor time of all: it, the word before, its unit
    fork_hooks: tuple[dict[str, Any], ...]  # what modules want done where a program forks


class BoxProcesses:
    """Those of one box. `newest` is the last process id that was given before the program ran."""

    def __init__(self, most: int, config: BoxConfig) -> None:
        self.most, self.config = most, config
        self.starts = 0  # processes and threads that the program was let start
        self.newest = 0  # the last process id that was given, to whatever
        self.living: set[int] = set()  # the program and the processes it started
        self.pending: dict[int, float] = {}  # when a thread was let start a process that has not been seen yet
        self.outside: dict[int, str] = {}  # what /proc calls the living
        self.before = 0.0  # seconds of processor before the program began, where they are counted
        self.maps = -1  # an open file that tells the mappings of the program
        self.clocks: dict[int, float] = {}  # seconds of processor that each was last seen to have taken

    def begin(self, program: int, newest: int) -> None:
        """The program has this process id, and `newest` was the last one given."""
        self.living, self.newest = {program}, newest
        self.before = self._counted()

    def start_error(self, thread: int, name: str, flags: int) -> int:
        """The error that a thread of the program's fails with where it starts a process or thread; 0 where it may."""
        if self.most == 1:
            return errno.EAGAIN
        self.starts += 1
        if self.starts > MOST_STARTS:
            return errno.EAGAIN
        if not starts_process(name, flags):
            return 0  # a thread; of those there is a limit for all together
        if self.config.isolation != "full":
            return 0  # here process ids are the machine's, and tell nothing
        now = time.monotonic()
        self.pending.pop(thread, None)  # what it started before has come to something
        self.look()
        self._read_clocks()
        self.pending = {other: since for other, since in self.pending.items() if now - since < _UNSEEN}
        if len(self.living) + len(self.pending) >= self.most:
            return errno.EAGAIN
        self.pending[thread] = now
        return 0

    def look(self) -> None:
        """Which processes live. Ids count up, so that the last one given tells those before."""
        if self.config.isolation != "full":
            return
        newest = _last_id(self.config.proc)
        given = [*range(self.newest + 1, newest + 1)]
        if newest < self.newest:  # they began again from the lowest
            given = [*range(2, newest + 1), *range(self.newest + 1, self.newest + MOST_STARTS)]
        new = {pid for pid in given if pid not in self.living and _is_process(pid)}
        for thread in list(self.pending)[: len(new)]:
            del self.pending[thread]
        self.newest = newest
        self.living = {pid for pid in self.living if _is_process(pid)} | new
        self.outside = {pid: known for pid, known in self.outside.items() if pid in self.living}

    def _read_clocks(self) -> None:
        for pid in self.living:
            if taken := processor_time(pid):
                self.clocks[pid] = taken

    def cpu(self) -> float:
        """Seconds of processor that they took together, those that ended included: seen by their own clocks, or told by who
        waited for them, whichever is more. One that ends within milliseconds and that nobody waits for may be missed, where
        there is no control group, which misses none."""
        if self.config.clock is not None:
            return self._counted() - self.before
        self.look()
        self._read_clocks()
        reaped = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = reaped.ru_utime + reaped.ru_stime
        told += sum(self.clocks.get(pid, 0.0) + _waited_for(self.told_of(pid, "stat")) for pid in self.living)
        return max(sum(self.clocks.values()), told)

    def _counted(self) -> float:
        """Seconds that a control group has counted so far."""
        if self.config.clock is None:
            return 0.0
        end, word, unit = self.config.clock
        lines = os.pread(end, 4096, 0).decode().splitlines()
        return unit * int(next(line.removeprefix(word) for line in lines if line.startswith(word)))

    def told_of(self, pid: int, file: str) -> str:
        """What /proc tells of a process of the box, which it knows by another id; nothing where it has ended."""
        try:
            return _proc_text(f"{self._outside(pid)}/{file}", self.config.proc)
        except (OSError, StopIteration):
            return ""

    def exits(self, pid: int) -> bool:
        """Whether a process is on its way out: its files are closed by then, and its status is not there yet."""
        flags = self.told_of(pid, "stat").rpartition(")")[2].split()[6:7]
        return bool(flags) and int(flags[0]) & _EXITING != 0

    def see_maps(self, pid: int) -> None:
        """Keep what tells the mappings of the program, which closes itself to this process before it runs."""
        with contextlib.suppress(OSError, StopIteration):
            self.maps = os.open(f"{self._outside(pid)}/maps", os.O_RDONLY, dir_fd=self.config.proc)

    def mappings(self, pid: int) -> int:
        """How many mappings a process has; 0 where it has ended, or nobody tells."""
        lines = self.told_of(pid, "maps").count("\n")
        if lines or self.maps < 0:
            return lines
        with contextlib.suppress(OSError):
            os.lseek(self.maps, 0, os.SEEK_SET)
            lines = sum(part.count(b"\n") for part in iter(lambda: os.read(self.maps, 1 << 16), b""))
        return lines

    def open_files(self, pid: int) -> int:
        """How many files a process has open; 0 where it has ended, and before Linux 6.2."""
        try:
            return os.stat(f"{self._outside(pid)}/fd", dir_fd=self.config.proc).st_size
        except (OSError, StopIteration):
            return 0

    def files_of(self, pid: int) -> list[str]:
        """What each descriptor of a process is, of one that lets this be seen."""
        links = []
        with contextlib.suppress(OSError, StopIteration):
            folder = os.open(f"{self._outside(pid)}/fd", os.O_RDONLY | os.O_DIRECTORY, dir_fd=self.config.proc)
            try:
                for name in os.listdir(folder):
                    with contextlib.suppress(OSError):
                        links.append(os.readlink(name, dir_fd=folder))
            finally:
                os.close(folder)
        return links

    def file_of(self, thread: int, number: int) -> int:
        """An open file of a process, of which any thread is known, as a descriptor of this one."""
        self.look()
        handle = os.pidfd_open(next(pid for pid in (thread, *self.living) if _has_thread(pid, thread)))
        try:
            return kernel_calls.syscall("pidfd_getfd", handle, number, 0)
        finally:
            os.close(handle)

    def _outside(self, pid: int) -> str:
        if pid not in self.outside:
            self.outside[pid] = _outside(pid, self.config.proc)
        return self.outside[pid]


def processor_time(pid: int) -> float:
    """Seconds that a process has computed, all its threads together; 0 where it has ended."""
    try:
        return time.clock_gettime((~pid << 3) | 2)
    except OSError:
        return 0.0


def _outside(pid: int, proc: int) -> str:
    """What /proc calls a process of the box."""
    kernel_calls.prctl(kernel_calls.PR_SET_DUMPABLE, 1)  # or what /proc/self tells is closed to it
    handle = os.pidfd_open(pid)
    try:
        lines = _proc_text(f"self/fdinfo/{handle}", proc).splitlines()
        return next(line.split()[1] for line in lines if line.startswith("Pid:"))
    finally:
        os.close(handle)
        kernel_calls.prctl(kernel_calls.PR_SET_DUMPABLE, 0)


def _last_id(proc: int) -> int:
    """The last process id that was given in the box. A kernel that does not tell gives the next one to a thread of ours."""
    with contextlib.suppress(OSError):
        return int(_proc_text("sys/kernel/ns_last_pid", proc))
    told: list[int] = []
    done = _thread.allocate_lock()
    done.acquire()

    def ask() -> None:
        told.append(_thread.get_native_id())
        done.release()

    _thread.start_new_thread(ask, ())
    done.acquire()
    return told[0]


def _is_process(pid: int) -> bool:
    """Whether there is a process, and not a thread, of this id in the box."""
    return _has_thread(pid, pid)


def _has_thread(pid: int, thread: int) -> bool:
    """Whether there is such a process, with such a thread."""
    try:
        kernel_calls.syscall("tgkill", pid, thread, 0)
    except OSError:
        return False
    return True


def _waited_for(stat: str) -> float:
    """Seconds of processor that those took which a process has waited for."""
    words = stat.rpartition(")")[2].split()
    return (int(words[13]) + int(words[14])) / os.sysconf("SC_CLK_TCK") if words else 0.0


def _proc_text(path: str, proc: int) -> str:
    end = os.open(path, os.O_RDONLY, dir_fd=proc)
    try:
        parts = iter(lambda: os.read(end, 1 << 16), b"")
        return b"".join(parts).decode("latin-1")  # the name of a process may be no text
    finally:
        os.close(end)
