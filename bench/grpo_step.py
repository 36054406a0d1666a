"""A whole GRPO step of Guerdon against TRL's: `python -m bench.grpo_step --config cpu --rounds 3 --steps 4 --out FILE.json`.

Each arm is a process of its own, so that its memory is its own, and the arms take turns, so that a slow minute of the
machine meets both; a round that other processes disturbed is played again. This parent imports no torch: a process's
peak memory begins with that of the one that started it. The arms are `trl_arm.py` and `guerdon_arm.py`, what they show
is laid out in `table.py`.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import Any

import guerdon
from bench.arm import ARMS, REPORT, Job
from bench.configs import CONFIGS, SIZES
from bench.quiet import is_quiet, wait_until_quiet
from bench.table import show

LIBRARIES = ("guerdon", "trl", "torch", "transformers", "accelerate", "datasets", "tokenizers")
LEAST_WARMUP = 2
Round = dict[str, dict[str, Any]]  # what the machine, and each arm, reported


def main() -> None:
    asked = arguments()
    config = CONFIGS[asked.config]
    with tempfile.TemporaryDirectory() as folder:
        model = model_folder(config.model, Path(folder), asked.threads)
        job = Job(config, str(model), asked.steps, asked.warmup, asked.threads, asked.trl)
        quiet, disturbed = play_rounds(asked, job)
        result = {
            "name": asked.config,
            "config": asdict(config),
            "steps": asked.steps,
            "warmup": asked.warmup,
            "trl_options": asked.trl,
            "python": platform.python_version(),
            "versions": versions(),
            "rounds": quiet,
            "disturbed": disturbed,
        }
        result["summary"] = show(result, model)
    if asked.out:
        Path(asked.out).write_text(json.dumps(result, indent=1) + "\n")


def play_rounds(asked: argparse.Namespace, job: Job) -> tuple[list[Round], list[Round]]:
    """Rounds that count, and those in which another process took cores from either arm: they are played again, `retries`
    of them. After that a round counts as it is, and the table says so."""
    quiet: list[Round] = []
    disturbed: list[Round] = []
    while len(quiet) < asked.rounds:
        found = play_round(asked, job)
        check_alike([*quiet, *disturbed, found])
        if undisturbed(found) or len(disturbed) == asked.retries:
            quiet.append(found)
        else:
            disturbed.append(found)
        for arm in ARMS:
            print(f"round {len(quiet) + len(disturbed)}  {arm:8} {totals(found[arm])}", flush=True)
    return quiet, disturbed


def play_round(asked: argparse.Namespace, job: Job) -> Round:
    config = job.config
    words = ["--device", config.device, "--dtype", config.dtype, "--threads", str(asked.threads)]
    found = {"hardware": child("bench.hardware", words, asked)}
    return found | {arm: child(f"bench.{arm}_arm", job.arguments(asked.config), asked) for arm in ARMS}


def undisturbed(found: Round) -> bool:
    return all(is_quiet(step["others"]) for arm in ARMS for step in found[arm]["steps"])


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", choices=CONFIGS, default="cpu")
    parser.add_argument("--rounds", type=int, default=3, help="how often each arm is started")
    parser.add_argument("--steps", type=int, default=4, help="steps of each start that count")
    parser.add_argument("--warmup", type=int, default=LEAST_WARMUP, help="steps before them that do not")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--retries", type=int, default=3, help="how many disturbed rounds may be played again")
    parser.add_argument("--patience", type=float, default=60.0, help="seconds to wait for a quiet machine, each time")
    parser.add_argument("--trl", type=json.loads, default={}, help='more of GRPOConfig: \'{"optim": "adamw_torch"}\'')
    parser.add_argument("--out", help="a JSON file for everything that was measured")
    asked = parser.parse_args()
    if min(asked.rounds, asked.steps) < 1 or asked.warmup < LEAST_WARMUP:
        parser.error(f"at least one round, one step and {LEAST_WARMUP} steps of warm-up")
    return asked


def model_folder(name: str, scratch: Path, threads: int) -> Path:
    """The shipped model where it lies, or the random one written to `scratch`."""
    if name == "sprig":
        return Path(guerdon.__file__).parent / "models" / "sprig" / "sprig-1.1"
    run("bench.random_model", [str(scratch), "--size", SIZES[name]], threads)
    return scratch


def child(module: str, words: list[str], asked: argparse.Namespace) -> dict[str, Any]:
    """Run a module of this benchmark in a process of its own, once the machine is quiet, and read what it reports."""
    wait_until_quiet(asked.patience)
    lines = [line for line in run(module, words, asked.threads).splitlines() if line.startswith(REPORT)]
    found: dict[str, Any] = json.loads(lines[-1].removeprefix(REPORT))
    return found


def run(module: str, words: list[str], threads: int) -> str:
    quiet = {"HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": str(threads)}
    done = subprocess.run(
        [sys.executable, "-m", module, *words], env={**os.environ, **quiet}, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"{module} failed:\n" + "\n".join(done.stderr.splitlines()[-12:]))
    return done.stdout


def check_alike(rounds: list[Round]) -> None:
    """Both arms, in every round, must have seen the same prompts as the same tokens and made as many of their own."""
    seen = {
        tuple(found[arm][key] for key in ("prompts", "prompt_tokens", "tokens")) for found in rounds for arm in ARMS
    }
    if len(seen) > 1:
        raise SystemExit(f"the arms did not do the same work (prompts, their mean length, tokens made): {seen}")


def totals(found: dict[str, Any]) -> str:
    """The seconds of every step; those that had to share the machine are marked."""
    return "  ".join(
        f"{step['total']:.3f} s{'' if is_quiet(step['others']) else ' (shared)'}" for step in found["steps"]
    )


def versions() -> dict[str, str]:
    known = {found.metadata["Name"].lower(): found.version for found in importlib.metadata.distributions()}
    return {name: known.get(name, "not installed") for name in LIBRARIES}


if __name__ == "__main__":
    main()
