"""What the isolation of reward functions costs: `python -m bench.rewards`. Needs nothing but the package.

Five functions that do next to nothing, as rewards with every knob at its default and blended: time per sample for the
whole formula, from the samples' fields to its scores, and for the calls in the workers alone; and for the formula again with
a score of its own for every sample, since equal ones share objects. Also how long a worker takes that has to be built anew
after a crash.
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

import guerdon as gd
from guerdon import score_samples
from guerdon.rewards.formula.reward import Reward
from guerdon.workers.worker_pool import WorkerPool, shared_pool

COMPONENTS = 5


def component(number: int) -> Callable[[str, str, str], float]:
    def score(prompt: str, completion: str, answer: str) -> float:
        return float(number)

    return score


def different(number: int) -> Callable[[str, str, str], float]:
    def score(prompt: str, completion: str, answer: str) -> float:
        return number + float(answer)

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


def blend_of(make: Callable[[int], Callable[..., float]]) -> Reward:
    return gd.blend(**{f"part_{n}": gd.reward(make(n)).weight(0.5) for n in range(COMPONENTS)})


def round_of(formula: Reward, given: list[dict[str, str]], own: float = 0.0) -> float:
    """Seconds for the scores of a formula. `own` is how much of a sample's answer is in each component."""
    start = time.perf_counter()
    scored = score_samples(formula, given)
    seconds = time.perf_counter() - start
    assert scored.whole == [0.5 * (sum(range(COMPONENTS)) + own * COMPONENTS * float(each["answer"])) for each in given]
    return seconds


async def calls_of(pool: WorkerPool, given: list[dict[str, str]]) -> float:
    """Seconds for the calls of all components alone, one after the other."""
    start = time.perf_counter()
    for number in range(COMPONENTS):
        answers = await pool.call(component(number), given, timeout=1.0)
        assert all(a.kind == "value" and a.value == number for a in answers)
    return time.perf_counter() - start


async def rebuild(pool: WorkerPool) -> float:
    """Seconds for a call that takes its worker with it: a crash, a second worker, a crash again."""
    start = time.perf_counter()
    (answer,) = await pool.call(crash, [{}], timeout=10.0)
    assert answer.kind == "failed"
    return (time.perf_counter() - start) / 2


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=9, help="one more is left out as warm-up")
    parser.add_argument("--out", help="write the numbers as JSON")
    args = parser.parse_args()
    formula, other, pool, given = blend_of(component), blend_of(different), shared_pool(), samples(args.samples)
    cold = round_of(formula, given[:100])
    blended = [1e6 * round_of(formula, given) / args.samples for _ in range(args.rounds + 1)][1:]
    varied = [1e6 * round_of(other, given, 1.0) / args.samples for _ in range(args.rounds + 1)][1:]
    called = [1e6 * asyncio.run(calls_of(pool, given)) / args.samples for _ in range(args.rounds + 1)][1:]
    built = [asyncio.run(rebuild(pool)) for _ in range(20)]
    print(f"{COMPONENTS} components x {args.samples} samples, {pool.count} workers, {args.rounds} rounds")
    for name, each in (("the blend", blended), ("scores differ", varied), ("the calls alone", called)):
        print(f"{name:<16}{statistics.median(each):.1f} us a sample (min {min(each):.1f}, max {max(each):.1f})")
    print(f"cold start      {1e3 * cold:.0f} ms, with the first {min(100, args.samples)} samples")
    print(f"a new worker    {1e3 * statistics.median(built):.1f} ms after a crash (max {1e3 * max(built):.1f})")
    if args.out:
        numbers = {
            "us_per_sample": blended,
            "us_per_sample_different": varied,
            "us_per_sample_calls": called,
            "cold_s": cold,
            "rebuild_s": built,
        }
        Path(args.out).write_text(json.dumps({**numbers, "workers": pool.count}, indent=1) + "\n")


if __name__ == "__main__":
    main()
