"""What overlapping is worth: `python -m bench.overlap`. GRPO on sprig with a reward that makes every episode wait.

Six ways to run the same steps: a plain function in this process, after all episodes were played; the same in workers, as is
the default, and `async`, both asked as episodes end; and all three again with the next step played ahead. With
`--learning N` also what playing ahead does to what is learned: held-out accuracy over N seeds, with and without it.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

import guerdon as gd

WAIT = 0.01  # seconds an episode's reward takes, as a fast judge would


def right(completion: str, answer: str) -> float:
    return float(completion.rstrip().endswith(answer))


def plain(completion: str, answer: str) -> float:
    time.sleep(WAIT)
    return right(completion, answer)


async def early(completion: str, answer: str) -> float:
    await asyncio.sleep(WAIT)
    return right(completion, answer)


WAYS: dict[str, Any] = {"here": gd.reward(plain, isolate=False), "in workers": plain, "async": early}


def run(folder: str, reward: Any, ahead: bool, steps: int, seed: int, exams: int) -> Any:
    return gd.train(
        "grpo", model="sprig", task="countdown:2", reward=reward, steps=steps, seed=seed, out=folder,
        options=gd.Options(eval_tasks=exams, save_every=1000, rollouts_every=0), ahead=ahead,
    )  # fmt: skip


def speed(steps: int) -> list[dict[str, Any]]:
    found = []
    for name, reward in WAYS.items():
        for ahead in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                made = run(f"{folder}/run", reward, ahead, steps + 2, 0, 0)
                seconds = made.metrics["seconds"].to_pylist()[2:]
            found.append({"reward": name, "ahead": ahead, "seconds": seconds})
    return found


def learning(seeds: int, steps: int) -> list[dict[str, Any]]:
    found = []
    for seed in range(seeds):
        for ahead in (False, True):
            with tempfile.TemporaryDirectory() as folder:
                made = run(f"{folder}/run", None, ahead, steps, seed, 64)
                scores = [exam["pass@1"] for exam in made.evaluations]
            found.append({"seed": seed, "ahead": ahead, "before": scores[0], "after": scores[-1]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=6, help="steps of each way; two more are left out; 0: none")
    parser.add_argument("--learning", type=int, default=0, metavar="SEEDS", help="also compare what is learned")
    parser.add_argument("--out", help="write the numbers as JSON")
    args = parser.parse_args()
    times = speed(args.steps) if args.steps else []
    table = Table("reward", "next step", "step, s: median", "min to max")
    for row in times:
        seconds = row["seconds"]
        way = "played ahead" if row["ahead"] else "played after"
        table.add_row(
            row["reward"], way, f"{statistics.median(seconds):.2f}", f"{min(seconds):.2f} to {max(seconds):.2f}"
        )
    Console().print(table)
    learned = learning(args.learning, 20) if args.learning else []
    for row in learned:
        print(row)
    if args.out:
        Path(args.out).write_text(json.dumps({"speed": times, "learning": learned}, indent=1) + "\n")


if __name__ == "__main__":
    main()
