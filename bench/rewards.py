"""What the isolation of reward functions costs: `python -m bench.rewards`. Needs nothing but the package.

Five functions that do next to nothing score the same samples in the shared workers, as a set of five reward components
would: time per sample for all five. Also how long a worker takes that has to be built anew after a crash.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from guerdon.rewards.isolation.workers import Workers

COMPONENTS = 5


def component(number: int) -> Callable[[str, str, str], float]:
    def score(prompt: str, completion: str, answer: str) -> float:
        return float(number)

    return score


def crash() -> None:
    os._exit(3)


def samples(count: int) -> list[dict[str, str]]:
    return [
        {
            "prompt": f"What is {i} + {i}?",
            "completion": f"{i} and {i} make {i + i}. ".ljust(200, "."),
            "answer": str(2 * i),
        }
        for i in range(count)
    ]


async def round_of(pool: Workers, given: list[dict[str, str]]) -> float:
    """Seconds for all components, one after the other, as nothing is faster on few cores."""
    start = time.perf_counter()
    for number in range(COMPONENTS):
        answers = await pool.call(component(number), given, timeout=1.0)
        assert all(a.kind == "value" and a.value == number for a in answers)
    return time.perf_counter() - start


async def rebuild(pool: Workers) -> float:
    """Seconds for a call that takes its worker with it: a crash, a second worker, a crash again."""
    start = time.perf_counter()
    (answer,) = await pool.call(crash, [{}], timeout=10.0)
    assert answer.kind == "failed"
    return (time.perf_counter() - start) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9, help="one more is left out as warm-up")
    parser.add_argument("--workers", type=int, help="default: as many as the shared pool has")
    parser.add_argument("--out", help="write the numbers as JSON")
    args = parser.parse_args()
    pool, given = Workers(args.workers), samples(args.samples)
    start = time.perf_counter()
    asyncio.run(round_of(pool, given[:100]))
    cold = time.perf_counter() - start
    seconds = [asyncio.run(round_of(pool, given)) for _ in range(args.rounds + 1)][1:]
    built = [asyncio.run(rebuild(pool)) for _ in range(20)]
    pool.close()
    each = [1e6 * s / args.samples for s in seconds]
    print(f"{COMPONENTS} components x {args.samples} samples, {pool.count} workers, {args.rounds} rounds")
    print(f"a round        {statistics.median(seconds):.3f} s (min {min(seconds):.3f}, max {max(seconds):.3f})")
    print(
        f"a sample       {statistics.median(each):.1f} us for all components (min {min(each):.1f}, max {max(each):.1f})"
    )
    print(f"cold start     {1e3 * cold:.0f} ms, with the first {min(100, args.samples)} samples")
    print(f"a new worker   {1e3 * statistics.median(built):.1f} ms after a crash (max {1e3 * max(built):.1f})")
    if args.out:
        numbers = {"seconds": seconds, "us_per_sample": each, "cold_s": cold, "rebuild_s": built, "workers": pool.count}
        Path(args.out).write_text(json.dumps(numbers, indent=1) + "\n")


if __name__ == "__main__":
    main()
