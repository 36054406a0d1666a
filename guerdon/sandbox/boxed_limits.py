"""The limits of one process of a program's, as rlimits, which it sets for itself before it is the program's.

Leaves out: what several processes take together (`box_processes.py`), and what no rlimit counts (`counted_calls.py`).
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import resource
import sys
from typing import Any

from guerdon.sandbox import kernel_calls
from guerdon.sandbox.box_processes import BoxConfig

_STACK = 64 << 20
_THREADS = 64
_FILES = 128  # that a process has open: each may be a pipe or socket, whose memory is the kernel's
_FILES_TOGETHER, _LEAST_FILES = 512, 32
MOST_CORES = (
    4  # that several processes compute on: what they can fill between two measurements of their memory has a bound
)
_SPARE = 16 << 20  # bytes with which a program that ran out of memory can still say so


def set_limits(limits: dict[str, Any], config: BoxConfig) -> None:
    """Hold this process, and each that it starts."""
    seconds = math.ceil(limits["cpu"]) + 1
    _limit(resource.RLIMIT_CPU, seconds, seconds + 1)
    _limit(resource.RLIMIT_CORE, 1)  # at 0 it would still be piped to a machine's collector of crashes
    _limit(resource.RLIMIT_NOFILE, max(_LEAST_FILES, min(_FILES, _FILES_TOGETHER // limits["processes"])))
    _limit(resource.RLIMIT_FSIZE, limits["disk"])
    _limit(resource.RLIMIT_STACK, _STACK)
    if config.isolation == "full" and config.counts_apart:
        _limit(resource.RLIMIT_NPROC, limits["processes"] + _THREADS)
    for name in ("RLIMIT_MEMLOCK", "RLIMIT_MSGQUEUE", "RLIMIT_RTPRIO", "RLIMIT_SIGPENDING"):
        if hasattr(resource, name):
            _limit(getattr(resource, name), 64 if name == "RLIMIT_SIGPENDING" else 0)
    if sys.platform != "darwin":
        room = limits["memory"] + config.addresses
        _limit(resource.RLIMIT_AS, room, room + _SPARE)


def slow_several() -> None:
    """Several processes fill memory no faster than they are measured: in small pages, and on a few cores."""
    with contextlib.suppress(OSError):  # a kernel without large pages
        kernel_calls.prctl(kernel_calls.PR_SET_THP_DISABLE, 1)
    cores = os.sched_getaffinity(0)
    if len(cores) > MOST_CORES:
        os.sched_setaffinity(0, random.SystemRandom().sample(sorted(cores), MOST_CORES))


def _limit(kind: int, soft: int, hard: int | None = None) -> None:
    """Never above what this process has itself; where that is less than a program was promised, there is no box."""
    most = resource.getrlimit(kind)[1]
    if most != resource.RLIM_INFINITY and most < soft and kind in _PROMISED:
        raise OSError(f"{_PROMISED[kind]} allows less than the program's limit: {most:,}, where it takes {soft:,}")
    bounds = [min(bound, most) if most != resource.RLIM_INFINITY else bound for bound in (soft, hard or soft)]
    resource.setrlimit(kind, (bounds[0], bounds[1]))


_PROMISED = {
    resource.RLIMIT_CPU: "ulimit -t",
    resource.RLIMIT_FSIZE: "ulimit -f",
    resource.RLIMIT_NOFILE: "ulimit -n",
    getattr(resource, "RLIMIT_AS", -1): "ulimit -v",
}
