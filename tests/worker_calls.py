"""Calls of worker processes, and whether processes live, for the tests of both."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Any

from guerdon.core.score import CallResult
from guerdon.workers.worker_pool import WorkerPool


def ask(
    pool: WorkerPool, function: Any, arguments: list[dict[str, Any]], timeout: float = 20.0, **how: Any
) -> list[CallResult]:
    return asyncio.run(pool.call(function, arguments, timeout=timeout, **how))


def one(pool: WorkerPool, function: Any, timeout: float = 20.0, **arguments: Any) -> CallResult:
    (answer,) = ask(pool, function, [arguments], timeout)
    return answer


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that is dead and not yet reaped does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def ends(pids: list[int], seconds: float = 10.0) -> bool:
    end = time.monotonic() + seconds
    while any(map(is_alive, pids)) and time.monotonic() < end:
        time.sleep(0.02)
    return not any(map(is_alive, pids))


def descendants(pid: int) -> set[int]:
    """Every process below one."""
    parent = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):  # it has just ended
            parent[int(stat.parent.name)] = int(stat.read_text().rpartition(")")[2].split()[1])
    below = {pid}
    while more := {child for child, above in parent.items() if above in below and child not in below}:
        below |= more
    return below - {pid}
