"""What the host does in a GRPO step of a small model: `python -m bench.host_step --steps 20`, the arithmetic left out.

A sprig's tokens are drawn from a script by each request's seed, in rounds of 16 as on a GPU, and what it reads are stored
numbers; all else is as in `guerdon train grpo --task countdown:1-6`, 64 prompts of 8 tries, rollouts and events written. The
table has milliseconds of a step by part, the median over the steps. `--against CHECKOUT` runs the same in another checkout of
the project, in turns with this one, each in a process of its own, and prints the ratio of each round.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

ROUND = 16  # tokens between two looks of the host, as in `engine/cuda.py`


class Scripted:
    """A `Decoding` without a model: of four rows one solves its problem, others solve another one or ramble until they are cut.
    Log-probs are made up. Its own time is not the host's, and is kept apart."""

    script: Script
    seconds = 0.0

    def __init__(self, net: Any) -> None:
        self.said: list[np.ndarray] = []
        self.count: list[int] = []

    def room(self, longest: int) -> int:
        return 4096

    def reserve(self, live: int, ended: int, entering: int, longest: int) -> int:
        more = live + entering + ended - len(self.said)
        self.said += [np.zeros(0, np.int64)] * more
        self.count += [0] * more
        return ended

    def swap(self, a: int, b: int) -> None:
        self.said[a], self.said[b] = self.said[b], self.said[a]
        self.count[a], self.count[b] = self.count[b], self.count[a]

    def copy(self, to: int, row: int, tokens: int) -> None:
        self.said[to], self.count[to] = self.said[row], self.count[row]

    def read(self, prompts: Sequence[Any]) -> torch.Tensor:
        return torch.zeros(sum(len(p.rows) for p in prompts), 1)

    def begin(self, first: int, logits: torch.Tensor, requests: Sequence[Any]) -> Any:
        began = time.thread_time()
        for row, r in enumerate(requests, start=first):
            self.said[row], self.count[row] = self.script.answer(r.request.view, r.request.seed), 0
        Scripted.seconds += time.thread_time() - began
        return self._next(first, len(requests), 1)

    def advance(self, token: Any, requests: Sequence[Any]) -> Any:
        return self._next(0, len(requests), ROUND)

    def _next(self, first: int, rows: int, n: int) -> Any:
        from guerdon.engine.decoding import Sampled

        began = time.thread_time()
        said = np.stack([self.said[b][self.count[b] : self.count[b] + n] for b in range(first, first + rows)], axis=1)
        for b in range(first, first + rows):
            self.count[b] += n
        sampled = Sampled(said, (-0.01 * (said % 97)).astype(np.float32))
        Scripted.seconds += time.thread_time() - began
        return sampled


class Script:
    """What is said to a prompt: by the problem that asks it."""

    def __init__(self, model: Any, source: Any, longest: int) -> None:
        self.model, self.source, self.longest = model, source, longest
        self.solved: dict[str, np.ndarray] = {}
        self.other = [self._tokens(source.get("train", index)) for index in range(97)]

    def learn(self, tasks: Sequence[Any]) -> None:
        self.solved = {task.prompt: self._tokens(task) for task in tasks}

    def answer(self, view: Any, seed: int) -> np.ndarray:
        return self.solved[view] if seed % 4 == 0 else self.other[seed % len(self.other)][seed % 3 // 2 * 20 :]

    def _tokens(self, task: Any) -> np.ndarray:
        tokens = [*self.model.chat.tokens(self.source.solution(task)), self.model.ends[0]]
        return np.resize(np.array(tokens, np.int64), self.longest + ROUND + 21)


def read(model: Any, batch: Any, want: Sequence[str]) -> dict[str, torch.Tensor]:
    """Rows are laid out as ever, and nothing is computed of them."""
    from guerdon.models.token_rows import rows

    for row in rows(batch, batch.S + len(batch.context), torch.device("cpu")):
        model.meter.read += len(row.token)
    weight = next(p for p in model.decoder.parameters() if p.requires_grad)
    return {name: batch.logp + 0.0 * weight.flatten()[0] for name in want}


class EpochSampler:
    """Milliseconds of the processor by part, step by step: of the thread that trains, and of all."""

    def __init__(self) -> None:
        self.steps: list[dict[str, float]] = []
        self.now: dict[str, float] = {}
        self.process = 0.0

    def timed(self, name: str, function: Any) -> Any:
        def call(*given: Any, **named: Any) -> Any:
            began = time.thread_time()
            try:
                return function(*given, **named)
            finally:
                self.now[name] = self.now.get(name, 0.0) + 1e3 * (time.thread_time() - began)

        return call

    def end(self, whole: float) -> None:
        script, Scripted.seconds = 1e3 * Scripted.seconds, 0.0
        self.now["play"] -= script
        whole -= script
        self.now["other"] = whole - sum(self.now.values())
        self.steps.append(
            {**self.now, "step": whole, "all threads": 1e3 * (time.process_time() - self.process) - script}
        )
        self.process = time.process_time()
        self.now = {}


def arm(steps: int, profile: str = "") -> dict[str, float]:
    """Median milliseconds of a step, by part and in all."""
    import cProfile

    import guerdon as gd
    from guerdon.core.recipe import Recipe
    from guerdon.engine import continuous
    from guerdon.models.language_model import lm
    from guerdon.recipes.house.grpo import grpo
    from guerdon.runs.events import EventLog
    from guerdon.runs.folder import RunFolder
    from guerdon.training import loop
    from guerdon.training import record as recording
    from guerdon.training.host import undisturbed

    torch.set_num_threads(1)
    source = gd.tasks.load("countdown:1-6")
    model = gd.models.load("sprig", on="cpu")
    knobs = {"prompts": 64, "tries": 8, "max_tokens": 64, "learn.micro": 1 << 20}  # one pass, as a GPU holds it
    recipe = grpo.build({"task": source, "model": model}, knobs)
    assert isinstance(recipe, Recipe)
    Scripted.script = Script(model, source, 64)
    continuous.CpuDecoding = Scripted  # type: ignore[misc,assignment]
    lm.read = read  # type: ignore[method-assign,assignment]
    laps = EpochSampler()
    recipe, play = loop.start(recipe, 0, steps)
    draw = recipe.curriculum.draw

    def drawn(n: int, player: Any) -> Any:
        asks = draw(n, player)
        began = time.thread_time()
        Scripted.script.learn([ask.task for ask in asks])
        Scripted.seconds += time.thread_time() - began
        return asks

    vars(recipe.curriculum)["draw"] = drawn
    loop.pack = laps.timed("pack", loop.pack)
    torch.nn.utils.clip_grad_norm_ = lambda *given: torch.ones(())  # type: ignore[assignment]
    for stage in recipe.stages:
        if hasattr(stage, "optimiser"):
            stage.optimiser.step = lambda: None
        name = "learn" if hasattr(stage, "optimiser") else "score"
        type(stage).__call__ = laps.timed(name, type(stage).__call__)
    with tempfile.TemporaryDirectory() as folder, EventLog(Path(folder) / "events.jsonl", 1) as log:
        record = recording.Recorder(RunFolder(folder), log, recording.Options(), play).watch(recipe, [], 0)
        record.done = laps.timed("record", record.done)  # type: ignore[method-assign]
        with loop.Rollouts(recipe, play, steps) as rollouts, undisturbed(recipe.models.values()):
            rollouts.take = laps.timed("play", rollouts.take)  # type: ignore[method-assign]
            profiler = cProfile.Profile()
            going = loop.steps(recipe, play, record, rollouts, 0, steps)
            next(going)
            laps.now, laps.process, Scripted.seconds = {}, time.process_time(), 0.0
            if profile:
                profiler.enable()
            began = time.thread_time()
            for _ in going:
                now = time.thread_time()
                laps.end(1e3 * (now - began))
                began = time.thread_time()
            if profile:
                profiler.disable()
                profiler.dump_stats(profile)
    names = ("play", "pack", "score", "learn", "record", "other", "step", "all threads")
    return {name: statistics.median(s.get(name, 0.0) for s in laps.steps) for name in names}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", default="", help="another checkout")
    parser.add_argument("--profile", default="", help="a file for cProfile's numbers")
    asked = parser.parse_args()
    if not asked.against:
        print(json.dumps(arm(asked.steps, asked.profile)))
        return
    here = str(Path(__file__).resolve().parent.parent)
    ratios = []
    for _ in range(asked.rounds):
        found = {}
        for name, checkout in (("there", asked.against), ("here", here)):
            words = [sys.executable, __file__, "--steps", str(asked.steps)]
            known = {**os.environ, "PYTHONPATH": checkout}
            run = subprocess.run(words, env=known, cwd=checkout, capture_output=True, text=True, check=True)
            found[name] = json.loads(run.stdout.splitlines()[-1])
        ratios.append(found["there"]["step"] / found["here"]["step"])
        for name, by_part in found.items():
            print(f"{name:6}" + "".join(f"  {part} {ms:.1f}" for part, ms in by_part.items()), flush=True)
    print(f"there over here {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
