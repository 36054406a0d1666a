"""What `guerdon train` costs before and beside the learning: `python -m bench.start --rounds 5`.

A run of one step that computes next to nothing, against a bare `import torch`, each in a process of its own, in turns.
Processor seconds of the whole child, which other work on the machine hardly changes; compiled files are there, as they
are from the second start on. `--before FOLDER` adds the package of another checkout as an arm.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

import guerdon

TRAIN = "from guerdon.cli.main import main; main()"
WORDS = "train grpo --steps 1 --set prompts=1 --set tries=2 --eval-tasks 0"
STEPS = {
    "tabular": "--task successor --model tabular",
    "sprig": "--task countdown:1 --model sprig --set max_tokens=1",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--before", type=Path, help="a checkout whose package is measured too")
    asked = parser.parse_args()
    here = Path(guerdon.__file__).parent.parent
    checkouts = {"": here} | ({" before": asked.before.resolve()} if asked.before else {})
    arms = [(model, name) for model in STEPS for name in checkouts]
    over: dict[tuple[str, str], list[float]] = {arm: [] for arm in arms}
    with tempfile.TemporaryDirectory() as scratch:
        for round_ in range(asked.rounds + 1):
            torch = seconds(["-c", "import torch"], here, scratch)
            for model, name in arms:
                words = f"{WORDS} {STEPS[model]} --out {scratch}/{model}{name.strip()}{round_}".split()
                took = seconds(["-c", TRAIN, *words], checkouts[name], scratch) - torch
                if round_:  # the first one compiles
                    over[model, name].append(took)
    for (model, name), times in over.items():
        spread = f"{min(times):.2f} to {max(times):.2f}"
        print(f"{model}{name}: {median(times):.2f} s of a processor over `import torch` ({spread})")


def seconds(words: list[str], checkout: Path, scratch: str) -> float:
    """Processor seconds of a Python process, with those of its children."""
    kept = {"PYTHONPATH": str(checkout), "OMP_NUM_THREADS": "1", "PYTHONPYCACHEPREFIX": f"{scratch}/compiled"}
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"} | kept
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *words], env=env, cwd=scratch, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(words)} failed:\n" + "\n".join(done.stderr.splitlines()[-12:]))
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


if __name__ == "__main__":
    main()
