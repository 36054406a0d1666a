"""Processes that start training at the same moment, for the promise about parallel starts."""

from __future__ import annotations

import multiprocessing
import os
from pathlib import Path
from typing import Any

STARTS = 6
USED_LATER = (
    "pandas",
    "pyarrow.parquet",
    "pydantic",
    "torch._dynamo",
)  # libraries import these when a run first uses them
TINY: dict[str, Any] = {"task": "parity", "model": "tabular", "steps": 2}
KNOBS = {"tabular.length": 1, "prompts": 2, "tries": 4}


def start_together(folder: Path, outs: list[str | None]) -> list[tuple[str, str, str]]:
    """One process for each `out`, its seed the place in the list, all held until each is about to claim its folder; what came
    of each: the name of its run, its weights, and why it was refused."""
    server = multiprocessing.get_context("forkserver")  # imports once, then forks: six real processes, quickly
    server.set_forkserver_preload([*USED_LATER, "guerdon.training.api", "guerdon.recipes.house.grpo"])
    barrier, said = server.Barrier(len(outs)), server.Queue()
    started = [server.Process(target=_start, args=(folder, seed, out, barrier, said)) for seed, out in enumerate(outs)]
    for process in started:
        process.start()
    found = dict(said.get(timeout=600) for _ in started)
    for process in started:
        process.join()
    return [found[seed] for seed in range(len(outs))]


def _start(folder: Path, seed: int, out: str | None, barrier: Any, said: Any) -> None:
    from guerdon.core.errors import UserError
    from guerdon.training import api
    from guerdon.training.build import config_of

    os.chdir(folder)

    def together(*given: Any) -> dict[str, Any]:
        config = config_of(*given)
        barrier.wait(timeout=600)
        return config

    api.config_of = together
    try:
        run = api.train("grpo", **TINY, seed=seed, out=out, settings=KNOBS)
        said.put((seed, (os.path.relpath(run.path), str(run.weights), "")))
    except UserError as error:
        said.put((seed, ("", "", str(error))))
