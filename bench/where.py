"""Where the time of a step and of a whole run goes: `python -m bench.where --size 135M`. LoRA for 8B, else all weights.

A model with random weights of that size, GRPO with a cheap reward, a checkpoint after every step unless told, no exams. Each
moment counts for the innermost phase that it falls in; on a GPU a phase waits for what it asked for, so steps are slower than
they are alone. `saving` is what the training waits for; the rest of it is done beside. The system has forgotten the weights'
files before they are read. Left out: other libraries (`grpo_step.py`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import Any

from bench.configs import SHAPES, Config

BEFORE, AFTER = "before: ", "after: "
WAITED = ("sampling", "scoring", "learning", "recording", "saving", "hashing")  # phases of a step


class Phases:
    """Seconds by phase, those of a phase inside of another taken from the outer one; and of every step by itself."""

    def __init__(self) -> None:
        self.now, self.last = "before: else", time.perf_counter()
        self.seconds: dict[str, float] = defaultdict(float)
        self.steps: list[dict[str, float]] = []

    def turn(self, to: str) -> str:
        at, before = time.perf_counter(), self.now
        self.seconds[before] += at - self.last
        if self.steps:
            self.steps[-1][before] += at - self.last
        self.now, self.last = to, at
        return before

    @contextmanager
    def __call__(self, phase: str) -> Iterator[None]:
        before = self.turn(phase)
        try:
            yield
            self.wait()
        finally:
            self.turn(before)

    def wait(self) -> None:
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()

    def watch(self, owner: Any, name: str, phase: str | Callable[[], str]) -> None:
        plain = getattr(owner, name)

        def timed(*args: Any, **named: Any) -> Any:
            with self(phase if isinstance(phase, str) else phase()):
                return plain(*args, **named)

        setattr(owner, name, timed)


def run(folder: Path, model: Path, asked: argparse.Namespace) -> dict[str, Any]:
    phases = Phases()
    with phases(BEFORE + "imports"):
        import guerdon as gd
        from bench.problems import digit_share, texts
        from guerdon.core import model as core_model
        from guerdon.core.learn import Learn
        from guerdon.models import language_model
        from guerdon.training import loop, resume, save_beside
        from guerdon.training.record import Recorder
        from guerdon.training.rollouts import Rollouts

    def here(step: str, before: str = BEFORE) -> Callable[[], str]:
        return lambda: step if phases.steps else before + step

    begin = Recorder.begin

    def begins(self: Recorder, step: int) -> None:
        phases.turn("scoring")
        phases.steps.append(defaultdict(float))
        begin(self, step)

    Recorder.begin = begins  # type: ignore[method-assign]
    phases.watch(language_model.lm, "_open", BEFORE + "reading weights")
    for owner in (core_model, language_model, resume):
        phases.watch(owner, "frozen_hash", here("hashing"))
    phases.watch(core_model, "known_chain_hash", here("hashing"))
    phases.watch(Rollouts, "take", "sampling")
    phases.watch(Learn, "__call__", "learning")
    phases.watch(Recorder, "done", "recording")
    phases.watch(save_beside.Saver, "save", "saving")
    phases.watch(save_beside.Saver, "tell", "saving")
    phases.watch(loop, "save_models", AFTER + "trained model")
    phases.watch(loop, "write_report", AFTER + "report")
    config = Config("llama-135m", "cpu", "float32", asked.prompts, asked.tries, asked.prompt, asked.new)
    settings: dict[str, Any] = {"lm.lora": 16} if asked.size == "8B" or asked.lora else {}
    rows = [{"prompt": text} for text in texts(config, config.prompts * (asked.steps + 1))]
    options = gd.Options(save_every=asked.save_every, keep=1, eval_tasks=0, rollouts_every=0)
    settings |= {"sampling.max_tokens": config.new_tokens, "prompts": config.prompts, "tries": config.tries}
    problems = {"path": rows, "answer": "none"}
    trained = gd.train(
        "grpo", data=problems, model=str(model), reward=digit_share, steps=asked.steps, out=folder / "run",
        options=options, settings=settings, progress=False,
    )  # fmt: skip
    phases.turn("end")
    sizes = {path: path.stat().st_size for path in trained.path.rglob("*") if path.is_file()}
    weights = [*model.glob("*.safetensors")]
    adapters = [size for path, size in sizes.items() if path.name == "adapter_model.safetensors"]
    return {
        "phases": dict(phases.seconds), "steps": [dict(step) for step in phases.steps], "folder": sum(sizes.values()),
        "reading": sum(map(read_seconds, weights)), "weights": sum(path.stat().st_size for path in weights),
        "adapter": sum(adapters),
    }  # fmt: skip


def evict(folder: Path) -> None:
    """Have the system forget what it holds of files, so that they are read from the disk."""
    for path in folder.rglob("*"):
        if path.is_file():
            with open(path, "rb") as file:
                os.fsync(file.fileno())
                os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def read_seconds(path: Path) -> float:
    """To read a file once, from the disk."""
    evict(path.parent)
    began = time.perf_counter()
    with open(path, "rb", buffering=0) as file:
        while file.read(1 << 24):
            pass
    return time.perf_counter() - began


def show(seen: dict[str, Any]) -> None:
    phases, steps = seen["phases"], seen["steps"]
    for name in sorted(name for name in phases if name.startswith((BEFORE, AFTER))):
        print(f"{name:28} {phases[name]:9.3f} s")
    print(f"{'first step':28} {sum(steps[0].get(name, 0.0) for name in WAITED):9.3f} s")
    for name in WAITED:
        of_steps = [step.get(name, 0.0) for step in steps[1:] or steps]
        print(f"{'a step: ' + name:28} {median(of_steps):9.3f} s  ({min(of_steps):.3f} to {max(of_steps):.3f})")
    apart = sum(seconds for name, seconds in phases.items() if name.startswith((BEFORE, AFTER)))
    print(f"{'all that is no step':28} {apart:9.3f} s, {apart / seen['reading']:.1f} times reading the weights")
    print(f"{'the run folder':28} {seen['folder'] / 1e6:9.1f} MB, the weights {seen['weights'] / 1e6:.1f} MB")
    if seen["adapter"]:
        print(f"{'over the adapter':28} {seen['folder'] / seen['adapter']:9.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SHAPES, default="135M")
    parser.add_argument("--model", default="", help="a folder of `bench.random_model`  [default: generate one]")
    parser.add_argument("--lora", action="store_true", help="train an adapter, whatever the size")
    parser.add_argument("--steps", type=int, default=4)
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--tries", type=int, default=8)
    parser.add_argument("--prompt", type=int, default=64, help="tokens of a prompt")
    parser.add_argument("--new", type=int, default=256, help="tokens of a try")
    parser.add_argument("--save-every", type=int, default=1, help="steps between checkpoints")
    parser.add_argument("--out", help="a JSON file for everything that was measured")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        model = Path(asked.model or f"{folder}/model")
        if not model.exists():
            words = [sys.executable, "-m", "bench.random_model", str(model), "--size", asked.size]
            subprocess.run(words, check=True, capture_output=True)
        evict(model)
        seen = run(Path(folder), model, asked)
    show(seen)
    if asked.out:
        Path(asked.out).write_text(json.dumps(seen, indent=1) + "\n")


if __name__ == "__main__":
    main()
