"""What a box costs: `python -m bench.sandbox`. Needs nothing but the package.

One short program, run many times in each of three ways that take turns, two at a time: in the pool of boxes with everything
on, as a new interpreter (`subprocess.run`), and as a new process of `multiprocessing`, which holds nobody. Then how long one
program takes by itself, in a new pool and in a warm one, with unit tests, as a query, and a reward's call. All by the clock,
and the rates also by what the machine's processors spent on them, for clocks run on while others work.
"""

from __future__ import annotations

import argparse
import asyncio
import atexit
import contextlib
import json
import multiprocessing
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from guerdon.rewards.asking.calls import call_in_boxes
from guerdon.sandbox import Cause, Limits, Ran, SandboxPool
from guerdon.workers.carry import carry
from guerdon.workers.plain_result import PlainResult

PROGRAM = "print(sum(n * n for n in range(1000)))"
SAID = "332833500\n"
WORKERS = 2
LIMITS = Limits(cpu=10.0, wall=60.0)
SQUARE = "def square(x):\n    return x * x\n"
TESTS = "def check(candidate):\n    assert candidate(3) == 9\n    assert candidate(-2) == 4\n\ncheck(square)\n"
BUILD = "CREATE TABLE people (name TEXT, age INT); INSERT INTO people VALUES ('Ada', 36), ('Alan', 41);"


def boxed(pool: SandboxPool, count: int) -> float:
    async def run() -> None:
        results = await asyncio.gather(*(pool.python(PROGRAM, limits=LIMITS) for _ in range(count)))
        assert all(ran.cause is Cause.DONE and ran.stdout == SAID for ran in results)

    return timed(lambda: asyncio.run(run()))


def interpreters(count: int) -> float:
    def run(_: int) -> None:
        assert subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True).stdout == SAID

    with ThreadPoolExecutor(WORKERS) as threads:
        return timed(lambda: list(threads.map(run, range(count))))


def executed(writes: multiprocessing.connection.Connection) -> None:
    said: list[object] = []
    exec(PROGRAM, {"print": said.append})
    writes.send(f"{said[0]}\n")


def forks(count: int) -> float:
    context = multiprocessing.get_context("fork")

    def run(_: int) -> None:
        reads, writes = context.Pipe(duplex=False)
        process = context.Process(target=executed, args=(writes,))
        process.start()
        assert reads.recv() == SAID
        process.join()

    with ThreadPoolExecutor(WORKERS) as threads:
        return timed(lambda: list(threads.map(run, range(count))))


def timed(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def meter() -> Callable[[], float] | None:
    """Seconds of processor that this process and all it starts have spent: of a cgroup of their own, which takes root."""
    for base, name, unit in (("/sys/fs/cgroup/cpuacct", "cpuacct.usage", 1e9), ("/sys/fs/cgroup", "cpu.stat", 1e6)):
        group = Path(base, f"guerdon-bench-{os.getpid()}")
        try:
            group.mkdir()
            (group / "cgroup.procs").write_text(str(os.getpid()))
            words = (group / name).read_text().split()
        except OSError:
            continue
        place = words.index("usage_usec") + 1 if "usage_usec" in words else 0
        atexit.register(leave, group)
        return lambda: int((group / name).read_text().split()[place]) / unit
    return None


def leave(group: Path) -> None:
    (group.parent / "cgroup.procs").write_text(str(os.getpid()))
    for _ in range(50):
        with contextlib.suppress(OSError):  # whom it held may be ending still
            group.rmdir()
            break
        time.sleep(0.1)


def cold() -> float:
    """From nothing to the first result."""

    def run() -> None:
        pool = SandboxPool(workers=1)
        assert pool.python_now(PROGRAM, limits=LIMITS).stdout == SAID
        pools.append(pool)

    pools: list[SandboxPool] = []
    seconds = timed(run)
    pools[0].close()
    return seconds


def one_at_a_time(pool: SandboxPool, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of each by itself, in a warm pool."""

    async def rewarded(ready: bytes) -> Ran:
        (result,) = await call_in_boxes(ready, [{"completion": "four"}], 30.0)
        return Ran(Cause.DONE if result.value == 4.0 else Cause.RAISED, result.error)

    async def each() -> dict[str, list[float]]:
        ready = carry(PlainResult(length))
        await rewarded(ready)  # its boxes start
        kinds = {
            "a program": lambda: pool.python(PROGRAM, limits=LIMITS),
            "a program with two unit tests": lambda: pool.check(SQUARE, TESTS, limits=LIMITS),
            "a reward's call": lambda: rewarded(ready),
            "a query": lambda: pool.sql(BUILD, "SELECT max(age) FROM people", limits=LIMITS),
        }
        seconds: dict[str, list[float]] = {kind: [] for kind in kinds}
        for _ in range(rounds):
            for kind, run in kinds.items():
                start = time.perf_counter()
                ran = await run()
                seconds[kind].append(1000 * (time.perf_counter() - start))
                assert ran.cause is Cause.DONE, ran
        return seconds

    return asyncio.run(each())


def length(completion: str) -> float:
    return float(len(completion))


def spread(values: list[float], digits: int = 1) -> str:
    return f"{statistics.median(values):,.{digits}f} ({min(values):,.{digits}f} to {max(values):,.{digits}f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--programs", type=int, default=200, help="programs of each kind a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--out", type=Path, help="write all numbers here, as JSON")
    given = parser.parse_args()
    spent = meter()
    pool = SandboxPool(workers=WORKERS)
    boxed(pool, 2 * WORKERS)  # it starts
    arms = {"boxes": lambda n: boxed(pool, n), "new interpreters": interpreters, "multiprocessing, fork": forks}
    rates: dict[str, list[float]] = {name: [] for name in arms}
    used: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(given.rounds):
        for name, arm in arms.items():
            before = spent() if spent else 0.0
            rates[name].append(given.programs / arm(given.programs))
            used[name].append(1000 * ((spent() if spent else 0.0) - before) / given.programs)
    for name, each in rates.items():
        processor = f"; {spread(used[name])} ms of processor each" if spent else ""
        print(f"{name}: {spread(each, 0)} programs a second, {WORKERS} at a time{processor}")
    ratios = [a / b for a, b in zip(rates["boxes"], rates["new interpreters"], strict=True)]
    print(f"boxes against new interpreters, round by round: {spread(ratios, 2)}")
    alone = one_at_a_time(pool, 10 * given.rounds)
    for name, each in alone.items():
        print(f"{name}, warm and alone: {spread(each)} ms")
    pool.close()
    starts = [1000 * cold() for _ in range(given.rounds)]
    print(f"a program in a new pool: {spread(starts)} ms")
    if given.out:
        given.out.write_text(
            json.dumps({"rates": rates, "processor_ms": used, "ms": alone, "cold_ms": starts}, indent=1) + "\n"
        )


if __name__ == "__main__":
    main()
