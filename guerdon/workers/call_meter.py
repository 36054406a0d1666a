"""How much of its time a call has had: it is charged for what it does, not for what else the machine is doing.

Linux reports for every thread how long it had a processor, and how long it waited for one.
A process, with all that it has started, is charged the larger of two:
the processor time that they used, and the time by the clock less what they waited.
So a call that computes and a call that sleeps are charged alike, and one that is not let run is not charged.
Where the system does not report it (macOS) the clock is charged.

Leaves out: what a process waited that began and ended between two looks.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import NamedTuple

from guerdon.workers.processes import children, thread_times

_TICK = 1 / os.sysconf("SC_CLK_TCK")


class _Reading(NamedTuple):
    used: float  # seconds of a processor, of all threads that there are and have been
    waited: dict[tuple[int, str], float]  # seconds of waiting for one, by process and thread
    running: bool  # whether one of them runs or is waiting to


class CallMeter:
    """Counts from when it is made; `charged` is what was counted before."""

    def __init__(self, pid: int, charged: float) -> None:
        self.pid = pid
        self.own = charged  # seconds by the clock less those of waiting
        self.used = 0.0
        self.ahead = 0.0  # seconds of waiting that were counted before the system reported them
        self.at, self.reading = time.monotonic(), _look(pid)

    def charged(self) -> float:
        """Seconds so far."""
        now, reading = time.monotonic(), _look(self.pid)
        passed, before = now - self.at, self.reading
        used = max(0.0, reading.used - before.used)
        waits = (max(0.0, seconds - before.waited.get(thread, 0.0)) for thread, seconds in reading.waited.items())
        waited = sum(waits) - self.ahead
        self.ahead = 0.0
        waited = min(max(waited, 0.0), passed)
        if reading.running and before.waited:  # the system reports a wait when it is over, and this one may not be
            self.ahead = max(0.0, passed - waited - used)
            waited += self.ahead
        self.used += used
        self.own += passed - waited
        self.at, self.reading = now, reading
        return max(self.used, self.own)


def _look(pid: int) -> _Reading:
    """What a process and its descendants have used and waited; all of it empty where the system does not report it."""
    used, running = 0.0, False
    waited: dict[tuple[int, str], float] = {}
    left = [pid] if pid else []
    while left:
        here = left.pop()
        left += children(here)
        threads = thread_times(here)
        waited |= {(here, name): thread.waited for name, thread in threads.items()}
        running = running or any(thread.runs for thread in threads.values())
        with contextlib.suppress(OSError):  # it has ended meanwhile
            fields = Path(f"/proc/{here}/stat").read_text().rpartition(")")[2].split()
            whole, ended = (sum(map(int, fields[at : at + 2])) * _TICK for at in (11, 13))  # itself, its dead children
            used += max(sum(thread.used for thread in threads.values()), whole) + ended
    return _Reading(used, waited, running)
