"""A reward is charged for its own time, not for what else the machine is doing; one that hangs is stopped all the same.

A call's time is the processor time of its worker with all that it started, or the time by the clock less what they waited for a
processor, whichever is more; ten times the limit by the clock (and 30 s at least) ends it in any case. Where the system does
not tell (macOS) the clock alone counts. Not promised: what sub-processes waited that began and ended between two looks, and
time that an `async` function loses to its own process.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from scheduling import mostly_slow
from worker_calls import ask, one

from guerdon.core.score import CallResult
from guerdon.rewards.asking.calls import call_here
from guerdon.workers import bookkeeping
from guerdon.workers.worker_pool import WorkerPool

on_linux = pytest.mark.skipif(not Path("/proc/self/schedstat").exists(), reason="the system does not tell who waits")
SPINNING = 3  # processes beside the worker on one core: it gets a quarter of it
HANGING = ["spin", "sleep", "wait for a child", "spin in a child", "spin in threads", "stop"]
SPIN = "import os\nos.sched_setaffinity(0, {%d})\nwhile True: pass"


@pytest.fixture(scope="module")
def core():
    """A core that others keep busy."""
    busy = min(os.sched_getaffinity(0))
    command = [sys.executable, "-S", "-c", SPIN % busy]
    # Each in a session of its own: the system may share a core out among sessions.
    others = [subprocess.Popen(command, start_new_session=True) for _ in range(SPINNING)]
    yield busy
    for other in others:
        other.kill()
        other.wait()


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(1)
    yield pool
    pool.close()


def work(seconds: float) -> None:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def test_an_async_call_does_not_pay_for_a_busy_loop(tried):
    """An `async` call of 0.2 s, limit 0.4 s, while somebody else holds the event loop for 1 s."""

    async def quick() -> float:
        await asyncio.sleep(0.2)
        return 1.0

    async def slow() -> float:
        await asyncio.sleep(60)
        return 1.0

    async def main() -> list[CallResult]:
        calls = [asyncio.ensure_future(call_here(function, {}, 0.4)) for function in (quick, slow)]
        await asyncio.sleep(0.05)
        time.sleep(1.0)
        return [await call for call in calls]

    well, late = asyncio.run(main())
    assert well == CallResult("value", 1.0)
    assert late.kind == "timed out" and "no answer after 0.4 s" in late.error
    tried(2)


@on_linux
def test_a_healthy_call_has_its_time_on_a_busy_core(pool, core, tried):
    """Calls of 0.15 s of work with a limit of 0.4 s, against three processes that spin on the same core."""

    def score(i: int) -> float:
        os.sched_setaffinity(0, {core})
        work(0.15)
        return float(i)

    start = time.monotonic()
    answers = ask(pool, score, [{"i": i} for i in range(2)], timeout=0.4)
    assert answers == [CallResult("value", float(i)) for i in range(2)]
    assert time.monotonic() - start > 0.8, "the core was not busy"
    tried(2)


@on_linux
def test_what_a_call_waits_for_has_its_time_too(pool, core):
    """A call that waits for a sub-process with 0.15 s of work, limit 0.5 s, on the same core."""

    def score() -> float:
        code = "import time\nend = time.process_time() + 0.15\nwhile time.process_time() < end: pass"
        subprocess.run([sys.executable, "-S", "-E", "-c", code], check=True)
        return 1.0

    def pinned() -> float:
        os.sched_setaffinity(0, {core})
        return 0.0

    assert one(pool, pinned).value == 0.0
    assert one(pool, score, timeout=0.5) == CallResult("value", 1.0)


@on_linux
@pytest.mark.parametrize("how", mostly_slow(HANGING, "spin", "sleep", "spin in a child"))
def test_a_call_that_hangs_is_stopped_on_a_busy_core(pool, core, how):
    """Functions that spin, sleep, stop themselves, wait for a child or spin in one, or in threads: limit 0.1 s."""

    def score() -> None:
        os.sched_setaffinity(0, {core})
        if how == "spin":
            work(1000)
        if how == "sleep":
            time.sleep(1000)
        if how == "wait for a child":
            subprocess.run(["sleep", "1000"])
        if how == "spin in a child":
            subprocess.run([sys.executable, "-c", "while True: pass"])
        if how == "spin in threads":
            threads = [threading.Thread(target=work, args=(1000,)) for _ in range(3)]
            for thread in threads:
                thread.start()
            threads[0].join()
        if how == "stop":
            os.kill(os.getpid(), 19)
            time.sleep(1000)

    assert one(pool, lambda: 1.0).value == 1.0
    start = time.monotonic()
    answer = one(pool, score, timeout=0.1)
    assert answer.kind == "timed out" and "no answer after 0.1 s" in answer.error
    assert time.monotonic() - start < 25.0, "that was the cap"


@on_linux
def test_the_clock_ends_a_call_in_any_case(pool, core, monkeypatch):
    """A call that is let run a quarter of the time and continues for ever: the cap by the clock ends it."""
    monkeypatch.setattr(bookkeeping, "CAP", 2.0)
    monkeypatch.setattr(bookkeeping, "SPARE", 0.1)

    def score() -> None:
        os.sched_setaffinity(0, {core})
        work(1000)

    assert one(pool, lambda: 1.0).value == 1.0
    answer = one(pool, score, timeout=0.5)
    assert answer.kind == "timed out" and "by the clock" in answer.error


@pytest.mark.slow
@on_linux
def test_a_slow_start_on_a_busy_core_replaces_no_worker(pool, core, monkeypatch):
    """A function whose import takes 0.2 s of work, where workers must have loaded within 0.6 s of their own time."""
    monkeypatch.setattr(bookkeeping, "LOAD", 0.6)
    monkeypatch.setattr(bookkeeping, "START", 0.6)

    class Heavy:
        def __reduce__(self):
            return exec, (f"import os, time\nos.sched_setaffinity(0, {{{core}}})\n{LOADING}",)

    heavy = Heavy()
    assert one(pool, os.getpid).kind == "value"
    start = time.monotonic()
    answers = ask(pool, lambda i: (heavy, os.getpid())[1], [{"i": i} for i in range(3)])
    assert {answer.kind for answer in answers} == {"value"}
    assert time.monotonic() - start > 0.6, "the core was not busy"


LOADING = "end = time.process_time() + 0.2\nwhile time.process_time() < end: pass"
