"""Rollouts with two workers against one, and against the run's own process: `python -m bench.rollout_workers`.

Prints wall seconds, processor seconds of who plays and of the run's process, and the milliseconds that the run's process works
for an episode. Weights of all arms have to be equal. A ratio on a machine with other work on it is a lower bound: the load
is printed. Start it with OMP_NUM_THREADS=1 to compare cores and not threads.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

import guerdon as gd
from guerdon.core.recipe import Recipe
from guerdon.engine.player import Player
from guerdon.runs.folder import RunFolder
from guerdon.scale.hiring import hired
from guerdon.training.api import prepare
from guerdon.training.build import RunRequest
from guerdon.training.loop import start
from guerdon.training.train_request import TrainRequest


@contextmanager
def ready(
    folder: str, workers: int | None, prompts: int, tries: int, task: str
) -> Iterator[tuple[Recipe, Player, object]]:
    """A started run with its workers, which have built it."""
    settings = {"prompts": prompts, "tries": tries}
    made = prepare(TrainRequest.of(RunRequest("grpo", task, "sprig", None, None, settings), 100, None, 0, gd.Options()))
    run = RunFolder(folder)
    with run.claim():
        run.create(made.config)
    assert isinstance(made.built.recipe, Recipe)
    recipe, play = start(made.built.recipe, 0, made.total)
    if workers is None:
        yield recipe, play, None
        return
    with hired(workers, run, play) as crew:
        while len(crew.workers) < workers:
            time.sleep(0.05)
        play.elsewhere = crew
        yield recipe, play, crew


def measured(recipe: Recipe, play: Player, crew: object, steps: int) -> dict[str, float]:
    """Seconds of some rollouts, after one that is not counted."""
    said: list[object] = []
    for step in range(steps + 1):
        play.begin(step)
        asks = recipe.curriculum.draw(recipe.prompts, play)
        if step == 1:
            wall, used, theirs = time.perf_counter(), time.process_time(), getattr(crew, "used", 0.0)
        said += [segment.text for episode in play(asks) for segment in episode.segments]
    episodes = len(said) * steps // (steps + 1)
    own = time.process_time() - used
    played = getattr(crew, "used", 0.0) - theirs if crew is not None else own
    numbers = {"wall": time.perf_counter() - wall, "players": played, "own": own}
    return {**numbers, "own_ms": 1000 * own / episodes, "said": float(hash(tuple(said)))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("prompts", 32), ("tries", 8), ("steps", 3), ("rounds", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--task", default="chain:6")
    parser.add_argument("--out", required=True)
    args = parser.parse_args()
    for number in range(args.rounds):
        rows = {}
        for workers in (None, 1, 2):
            folder = f"{args.out}/{number}-{workers}"
            with ready(folder, workers, args.prompts, args.tries, args.task) as (recipe, play, crew):
                rows[workers] = measured(recipe, play, crew, args.steps)
            shown = {name: round(value, 2) for name, value in rows[workers].items() if name != "said"}
            print(f"round {number}, workers {workers}: {shown}, load {os.getloadavg()[0]:.1f}", flush=True)
        assert len({row["said"] for row in rows.values()}) == 1, "they said different things"
        alone, one, two = rows[None], rows[1], rows[2]
        print(
            f"  two workers {one['wall'] / two['wall']:.2f} times one, {alone['wall'] / two['wall']:.2f} times this process"
        )
        print(
            f"  processor time of two {two['players'] / alone['own']:.2f}; {two['own_ms']:.2f} ms an episode here",
            flush=True,
        )


if __name__ == "__main__":
    main()
