"""How long credit takes: `python -m bench.credit`. Needs nothing but the package.

A million steps in 4,096 tracks, eight tries at each of 512 tasks, of lengths between one step and twice the mean; rewards
0 or 1 and a few scores missing. Every part that samples nothing, the time of one call: median, least and most of the
rounds, the first one left out. With one thread it is that thread's time on the processor, so that a machine which others
use says the same as an idle one; with several, time on the clock.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.baselines import role_baseline, weighted_baseline, whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed, separately
from guerdon.credit.pass_at_k import best_of_k
from guerdon.credit.returns import redistribute, reward_to_go
from guerdon.credit.tree import prefix_gain
from guerdon.credit.turns import turn_baseline

TRIES = 8
LIMIT = 0.050  # seconds, for the group-relative family
GROUP_RELATIVE: dict[str, Any] = {
    "centre (GRPO)": centre(),
    "centre (Dr. GRPO)": centre(std=False),
    "centre (RLOO)": centre(std=False, others=True),
    "centre by parent": centre(by="parent"),
    "centre by turn": centre(by="turn"),
    "centre by position": centre(by="position"),
    "separately, two rewards": separately(("reward", "style")),
    "weighted_baseline (OPO)": weighted_baseline(),
    "best_of_k (pass@4)": best_of_k(),
    "prefix_gain": prefix_gain(),
}
OTHERS: dict[str, Any] = {
    "whiten": whiten("reward"),
    "whiten a step column": whiten("process"),
    "role_baseline (SPIRAL)": role_baseline(),
    "reward_to_go": reward_to_go("process", gamma=0.99),
    "turn_baseline": turn_baseline("process"),
    "turn_baseline by step": turn_baseline("process", per="step"),
    "redistribute": redistribute(weights="care"),
    "mixed": mixed(("reward", "process")),
    "gae": gae(),
}


def batch_of(steps: int, tracks: int) -> Batch:
    rng = np.random.default_rng(0)
    length = rng.integers(1, 2 * steps // tracks, tracks)
    length[0] += max(0, steps - int(length.sum()))
    none = np.zeros(0, np.int64)
    episodes = []
    for i, n in enumerate(length.tolist()):
        said = Segment("policy", "", none, np.zeros(n, np.int64), np.zeros(n, np.float32))
        episodes.append(Episode(Ask(Task(str(i // TRIES), "")), (said,), number=i // TRIES, attempt=i % TRIES))
    batch = pack(episodes)
    reward = torch.from_numpy(rng.integers(0, 2, tracks)).float()
    reason = torch.from_numpy(np.where(rng.random(tracks) < 0.01, int(Reason.FAILED), 0).astype(np.int8))
    reward[reason > 0] = float("nan")
    cols = {"reward": Column("track", reward, reason), "style": Column.full("track", torch.rand(tracks))}
    cols |= {name: Column.full("step", torch.rand(batch.S)) for name in ("process", "care", "critic.value")}
    return batch.with_cols({**cols, "critic.final": Column.full("track", torch.rand(tracks))})


def seconds(call: Callable[[], object], rounds: int, threads: int = 1) -> list[float]:
    clock = time.thread_time if threads == 1 else time.perf_counter
    found = []
    for _ in range(rounds + 1):
        start = clock()
        call()
        found.append(clock() - start)
    return found[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=1_000_000)
    parser.add_argument("--tracks", type=int, default=4096)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--out", help="write the numbers as JSON")
    args = parser.parse_args()
    torch.set_num_threads(args.threads)
    batch, play = batch_of(args.steps, args.tracks), ExamplePlay()
    print(f"{batch.S} steps in {batch.K} tracks, {args.threads} threads, {args.rounds} rounds; milliseconds a call")
    numbers = {}
    for name, stage in {**GROUP_RELATIVE, **OTHERS}.items():
        each = seconds(lambda stage=stage: stage(batch, play), args.rounds, args.threads)  # type: ignore[misc]
        numbers[name] = each
        late = "" if statistics.median(each) < LIMIT or name in OTHERS else f"  over the limit of {1e3 * LIMIT:.0f}"
        middle, least, most = statistics.median(each), min(each), max(each)
        print(f"{name:<26}{1e3 * middle:6.1f}   (min {1e3 * least:.1f}, max {1e3 * most:.1f}){late}")
    if args.out:
        Path(args.out).write_text(json.dumps({"seconds": numbers, "threads": args.threads}, indent=1) + "\n")


if __name__ == "__main__":
    main()
