"""What checking costs a step: `python -m bench.checks`. GRPO of sprig-2 on `text_to_sql`, whose queries run in boxes.

Two ways that take turns: one query after another from one thread once all have been played, as it was before, and as it is: as
episodes end, equal questions once, the queries about a problem in one box. Of each: the seconds of a step, the part of them in
which nothing is done but wait for checks (after the last token of the last try, and in the stage), boxes a step, and the last
five steps over the first five. Both ways must come to the same weights. The first step starts the boxes and is left out.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

from rich.console import Console
from rich.table import Table

import guerdon as gd
from guerdon.engine.continuous import Continuous
from guerdon.engine.player import Player
from guerdon.rewards.stage.score_stages import verified
from guerdon.sandbox import shared_sandbox
from guerdon.tasks.field import sql_tasks

WAYS = ("one by one", "together")
ENDS = 5  # steps that are compared, at either end


@dataclass
class Watched:
    """What a run's steps took, in seconds and boxes."""

    way: str
    check: list[float] = field(default_factory=list)
    boxes: list[int] = field(default_factory=list)
    step: list[float] = field(default_factory=list)
    weights: str = ""
    sampled: float = 0.0  # when the last token was there

    def told(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if name != "sampled"}


@contextmanager
def watched(way: str) -> Iterator[Watched]:
    """Note what steps take in the middle of this; checks go one by one where that is the way."""
    found, pool = Watched(way), shared_sandbox()
    sample, play, check = Continuous.go_on, Player.played, verified.__call__

    def sampled(queue: Continuous) -> Any:
        try:
            return sample(queue)
        finally:
            found.sampled = time.perf_counter()

    def played(player: Player, *given: Any, **named: Any) -> Any:
        found.boxes.append(-pool.counts.total())
        episodes = play(player, *given, **named)
        found.check.append(time.perf_counter() - found.sampled)
        return episodes

    def checked(stage: Any, *given: Any) -> Any:
        began = time.perf_counter()
        batch = check(stage, *given)
        found.check[-1] += time.perf_counter() - began
        found.boxes[-1] += pool.counts.total()
        return batch

    patches: list[Any] = [
        mock.patch.object(Continuous, "go_on", sampled),
        mock.patch.object(Player, "played", played),
        mock.patch.object(verified, "__call__", checked),
    ]
    if way == WAYS[0]:
        patches.append(mock.patch.object(sql_tasks.text_to_sql, "checks_later", False))
        patches.append(mock.patch.object(sql_tasks, "right_rows", sql_tasks.rows_of_query))
    for patch in patches:
        patch.start()
    try:
        yield found
    finally:
        for patch in reversed(patches):
            patch.stop()


def run(way: str, args: argparse.Namespace) -> Watched:
    with tempfile.TemporaryDirectory() as folder, watched(way) as found:
        made = gd.train(
            "grpo", model="sprig-2", task=args.task, steps=args.steps + 1, seed=args.seed, out=f"{folder}/run",
            options=gd.Options(eval_tasks=0, save_every=args.steps + 1, rollouts_every=0),
            prompts=args.prompts, tries=args.tries, max_tokens=args.max_tokens,
        )  # fmt: skip
        found.step, found.weights = made.metrics["seconds"].to_pylist()[1:], str(made.weights)
    found.check, found.boxes = found.check[1:], found.boxes[1:]
    return found


def growth(steps: list[float]) -> float:
    few = min(ENDS, len(steps) // 2) or 1
    return statistics.median(steps[-few:]) / statistics.median(steps[:few])


def shown(runs: list[Watched]) -> Table:
    table = Table("checks", "step, s", "check, s", "check's share", "boxes a step", "last over first: step", "check")
    middle: Callable[[list[float]], float] = statistics.median
    for way in dict.fromkeys(found.way for found in runs):
        mine = [found for found in runs if found.way == way]
        step, check = ([x for found in mine for x in getattr(found, name)] for name in ("step", "check"))
        table.add_row(
            way, f"{middle(step):.2f}", f"{middle(check):.3f}", f"{sum(check) / sum(step):.0%}",
            f"{middle([float(n) for found in mine for n in found.boxes]):.0f}",
            f"{middle([growth(found.step) for found in mine]):.2f}", f"{middle([growth(found.check) for found in mine]):.2f}",
        )  # fmt: skip
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--task", default="text_to_sql:6")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--tries", type=int, default=32, help="of each of the prompts")
    parser.add_argument("--max-tokens", type=int, default=96)
    parser.add_argument("--rounds", type=int, default=1, help="runs of each way")
    parser.add_argument("--ways", nargs="+", choices=WAYS, default=list(WAYS))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", help="write the numbers as JSON")
    args = parser.parse_args()
    runs = [run(way, args) for _ in range(args.rounds) for way in args.ways]
    if len({found.weights for found in runs}) > 1:
        raise SystemExit("the two ways came to different weights: checks are not the same")
    Console().print(shown(runs))
    if args.out:
        Path(args.out).write_text(
            json.dumps({"settings": vars(args), "runs": [found.told() for found in runs]}, indent=1)
        )


if __name__ == "__main__":
    main()
