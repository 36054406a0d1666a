"""The memory of a box's processes together, beyond what each one's rlimits bound, and when to measure it next.

The limit on addresses bounds what one process has mapped. It leaves out page tables, what the kernel keeps for each of many
small mappings, and a shared mapping of which all but one page was unmapped or dropped: its pages stay. So a shared mapping
counts in full from the call that makes it, open pipes and sockets count as if they were full, and the rest is measured, sooner
the less is left: before the processes could fill it as fast as the machine clears pages. Close to their limit, several
processes are stopped by SIGSTOP while they are measured, and one is while its mappings are counted.
Leaves out: the limits of each process (`boxed_limits.py`), which processes there are (`box_processes.py`).
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import signal
import struct
import time
from collections.abc import Callable

from guerdon.sandbox import kernel_calls
from guerdon.sandbox.box_processes import BoxConfig, BoxProcesses, processor_time
from guerdon.sandbox.boxed_limits import MOST_CORES

_OVER, _OVER_ALONE = 0.1, 0.05  # of the limit: the most that several, or one, may fill between two measurements
_FILLED = 3 << 30  # bytes a second that one core fills at most, in pages of 4 KiB
_LATE = 0.001  # seconds that a measurement may begin late
_SOONEST, _LATEST = 0.0005, 0.02  # seconds between two measurements of several processes
_SOON = 0.002  # and of one
_TRIES = 50  # to be woken in time
_NEAR = 0.01  # seconds to the next measurement, below which several processes are stopped for it
_NOISE = 4 << 20  # bytes by which what the kernel tells of one process differs from its addresses
_MAPPING = 256  # bytes that the kernel keeps for a mapping, of which a page may be one
_PAGE = os.sysconf("SC_PAGE_SIZE")
_SAME_MEMORY = 1  # KCMP_VM
_SIZE = re.compile(r"^(\w+):[ \t]+(\d+) kB$", re.ASCII | re.MULTILINE)
_SLICE = 100_000  # nanoseconds: whoever asks for the shortest turns has them soonest


class BoxMemory:
    """That of one box: what its program has shared so far, and `due`, when to measure next."""

    def __init__(self, limit: int, processes: BoxProcesses, config: BoxConfig) -> None:
        self.limit, self.processes, self.config = limit, processes, config
        self.several = processes.most > 1
        self.measures = config.isolation == "full" and config.proc >= 0
        self.cores = min(MOST_CORES, len(os.sched_getaffinity(0))) if self.measures else 1
        self.buffers: Callable[[bool], int] = lambda exactly: 0  # bytes that the kernel may keep in pipes and sockets
        self.shared = 0  # bytes of all shared mappings of no file that were made
        self.wait = _LATEST  # seconds to the next measurement; of one process, by its own clock
        self.spent = 0.0  # what that clock said at the last
        self.stopped = False
        self.due = float("inf")

    def begin(self) -> None:
        """The program runs from now on."""
        if self.measures:
            _run_soon()
            self._plan(0)

    def share(self, size: int) -> int:
        """The error that a shared mapping of so many bytes fails with; 0 where it may be made. One that is unmapped again is
        still counted: whether its pages are gone, nobody is told."""
        if self.shared + size > self.limit:
            return errno.ENOMEM
        self.shared += size
        return 0

    def over(self) -> bool:
        """Measure; whether they take more than they may. Then they stay stopped, for they are about to be killed."""
        now = time.monotonic()
        if not self.several and (rest := self.wait - (spent := self._spent()) + self.spent) > 0:
            self.due = now + max(rest / self.cores, _SOON)  # it has not computed for long enough to fill what is left
            return False
        if self.near or (self.several and now - self.due > self.wait):
            self._stop()
        used = self._together() if self.several else self._alone()
        if not self.several:
            self.spent = spent
        self._plan(used)
        return used > self._most()

    def _spent(self) -> float:
        """Seconds of processor that the one process has taken."""
        return sum(map(processor_time, self.processes.living))

    def go_on(self) -> None:
        """Let them run again, if they were stopped."""
        if self.stopped:
            if self.several:
                _wait_for_turn()
            self.due = time.monotonic() + self.wait  # before they go on, for then this process may have to wait
            self.stopped = False
            _signal_all(signal.SIGCONT)

    @property
    def near(self) -> bool:
        """Whether several processes can reach their limit before long."""
        return self.several and self.wait <= _NEAR

    def _stop(self) -> None:
        if not self.stopped:
            self.stopped = True
            _signal_all(signal.SIGSTOP)

    def _plan(self, used: int) -> None:
        """Measure next before the cores can fill what is left, and a part of the limit. One process is measured by its own
        clock, on which less passes if others compute too."""
        over = _OVER if self.several else _OVER_ALONE
        seconds = (self.limit * (1 + over) - used) / _FILLED
        soon = seconds / self.cores - _LATE
        self.wait = max(_SOONEST, min(soon, _LATEST)) if self.several else max(_SOON, seconds - _LATE)
        self.due = time.monotonic() + (self.wait if self.several else max(_SOON, soon))

    def _most(self) -> int:
        return self.limit if self.several else self.limit + max(self.limit // 64, _NOISE)

    def _alone(self) -> int:
        """Bytes of the one process, without the interpreter's own."""
        return self._with_mappings(self._most())[0]

    def _together(self) -> int:
        """Bytes of all, without one interpreter's own. First each process by itself: pages that several have then count for
        each. Only if that is too much, they are divided among those who have them, which takes longer."""
        self.processes.look()
        used, mappings = self._with_mappings(self.limit)
        if used <= self.limit:
            return used
        self._stop()
        parts = (self._part(pid) + mappings[pid] for pid in self._apart(list(mappings)))
        return sum(parts) + self.shared + self.buffers(True)

    def _with_mappings(self, most: int) -> tuple[int, dict[int, int]]:
        """Bytes of each process by itself, all added, and what of it the kernel keeps for the mappings of each: there are at
        most as many as pages. Where so many were too much, they and what is open are counted."""
        told = {pid: self._status(pid) for pid in self.processes.living}
        held = sum(map(_held, told.values())) - self.config.resident + self.shared
        mappings = {pid: (said.get("VmSize", 0) << 10) // _PAGE * _MAPPING for pid, said in told.items()}
        kept = self.buffers(False)
        if held + sum(mappings.values()) + kept > most:
            self._stop()  # to count takes as long as to fill some MiB
            mappings = {pid: self.processes.mappings(pid) * _MAPPING for pid in told}
            kept = self.buffers(True)
        return held + sum(mappings.values()) + kept, mappings

    def _status(self, pid: int) -> dict[str, int]:
        return _numbers(self.processes.told_of(pid, "status"))

    def _part(self, pid: int) -> int:
        """Bytes of a process, where a page that several processes have is divided among them."""
        said = _numbers(self.processes.told_of(pid, "smaps_rollup"))
        if "Pss_Anon" not in said:
            return _held(self._status(pid))
        return (said["Pss_Anon"] + said["SwapPss"] + self._status(pid).get("VmPTE", 0)) << 10

    def _apart(self, pids: list[int]) -> list[int]:
        """One of those that have one memory, as a process and its child before that executes a program. The kernel is asked
        about every pair, for what it tells of the sizes of two such changes while one of them is not stopped yet."""
        kept: list[int] = []
        for pid in pids:
            if not any(_same_memory(pid, other) for other in kept):
                kept.append(pid)
        return kept


def _held(status: dict[str, int]) -> int:
    """Bytes of a process that are in no file, and of its page tables; 0 where it has ended."""
    return sum(status.get(name, 0) for name in ("RssAnon", "VmPTE", "VmSwap")) << 10


def _same_memory(pid: int, other: int) -> bool:
    try:
        return kernel_calls.syscall("kcmp", pid, other, _SAME_MEMORY, 0, 0) == 0
    except OSError:  # one has ended, or the kernel does not tell
        return False


def _wait_for_turn() -> None:
    """Return once this process is woken in time: after much work, on a busy machine, it is behind all others."""
    for _ in range(_TRIES):
        before = time.monotonic()
        time.sleep(_SOONEST)
        if time.monotonic() - before < 2 * _SOONEST:
            return


def _signal_all(number: int) -> None:
    """To all processes of the box but this one."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, number)


def _run_soon() -> None:
    """Ask for short turns on the processor (Linux 6.12; before, it changes nothing): this process waits less for its own."""
    nice = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(OSError):
        kernel_calls.syscall("sched_setattr", 0, struct.pack("<IIQiIQQQ", 48, 0, 0, nice, 0, _SLICE, 0, 0), 0)


def _numbers(text: str) -> dict[str, int]:
    """The sizes that a file of /proc tells, by their names, in KiB. One of its lines is the name that a program gave itself."""
    return {name: int(size) for name, size in _SIZE.findall(text)}
