"""What it costs a run of a proof to record the functions that it executes: the same GRPO run looked at and not, in turn.

`python -m bench.looking_on --steps 40 --rounds 3` prints the ratio of their seconds, round by round. As in a proof, steps are
looked at by the rule of `training/what_ran.py`.
"""

from __future__ import annotations

import argparse
import contextlib
import statistics
import sys
import tempfile
import time
from pathlib import Path

import guerdon as gd
from guerdon.training.record import Options
from guerdon.training.what_ran import WhatRan


def seconds(task: str, model: str, steps: int, looked_at: bool) -> tuple[float, int]:
    """Of a run with an exam before and after, and how many units it was seen to execute."""
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        ran = stack.enter_context(WhatRan()) if looked_at else None
        began = time.perf_counter()
        gd.train(
            "grpo", task=task, model=model, steps=steps, out=Path(folder) / "run", progress=False,
            options=Options(rollouts_every=0, watch=False, eval_tasks=256, eval_tries=1, save_every=25),
            listeners=[ran.paced] if ran is not None else [], lr=5e-5, prompts=16, tries=8, max_tokens=64,
        )  # fmt: skip
        return time.perf_counter() - began, len(ran.units) if ran is not None else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--task", default="countdown:1-6")
    parser.add_argument("--model", default="sprig-1.1")
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--rounds", type=int, default=3)
    asked = parser.parse_args()
    seconds(asked.task, asked.model, 2, True)  # what is loaded and compiled once
    ratios = []
    for i in range(asked.rounds):
        order = (True, False) if i % 2 else (False, True)
        took = {looked: seconds(asked.task, asked.model, asked.steps, looked) for looked in order}
        ratios.append(took[True][0] / took[False][0])
        print(
            f"round {i + 1}: {took[False][0]:.2f} s, looked at {took[True][0]:.2f} s ({took[True][1]} units)",
            flush=True,
        )
    print(f"Python {sys.version.split()[0]}: {statistics.median(ratios):.3f} ({min(ratios):.3f} to {max(ratios):.3f})")


if __name__ == "__main__":
    main()
