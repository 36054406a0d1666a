"""What every recipe comes to over five small steps: hashes of its weights, or of a study's results.

To move code and change nothing:

    PYTHONPATH=BEFORE python scripts/recipe_weights.py before.json
    PYTHONPATH=.      python scripts/recipe_weights.py after.json --against before.json

Hashes are equal on one machine with one build of torch and one thread, and on no other.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import torch

import guerdon as gd
from guerdon.training.catalog import find_recipe, listings

SMALL = {"prompts": 4, "tries": 4, "max_tokens": 48, "epochs": 1, "rounds": 2}
STEPS = 5
TASKS = {"one-shot-rlvr": "countdown:3@8", "multi-domain-rlvr-study": "chain:2+clock:2"}  # smaller than their claims'


def outcome(name: str, folder: Path) -> dict[str, Any]:
    """Train five steps of a recipe as its claim has it, only smaller."""
    entry = find_recipe(name)
    parameters = entry.parameters()
    slots: dict[str, Any] = {}
    if "task" in parameters:
        slots["task"] = TASKS.get(name) or (entry.claims[0].task if entry.claims else "") or "countdown:3"
    if "model" in parameters:
        slots["model"] = "sprig"
    if "teacher" in parameters:
        slots["teacher"] = "sprig"
    knobs = {knob: value for knob, value in SMALL.items() if knob in parameters}
    options = gd.Options(eval_tasks=8, save_every=1000)
    given = {**slots, **knobs, "out": folder, "seed": 1, "options": options}
    try:
        run = gd.train(name, steps=STEPS, **given)
    except gd.UserError as error:
        if "is a study" not in str(error):
            raise
        run = gd.train(name, budget=f"{STEPS}:steps", **given)
        return {"result": hashed(run.result), "weights": [inner.weights for inner in run.inner]}
    return {"weights": run.weights}


def hashed(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()[:16]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path, help="the JSON file to write")
    parser.add_argument("--against", type=Path, help="an earlier such file: exit code 1 where a recipe differs")
    parser.add_argument("--only", nargs="*", help="these recipes alone")
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    outcomes: dict[str, Any] = {}
    for name in chosen.only or listings():
        with tempfile.TemporaryDirectory() as folder:
            outcomes[name] = outcome(name, Path(folder) / "run")
        print(name, outcomes[name], flush=True)
        chosen.out.write_text(json.dumps(outcomes, indent=1) + "\n")
    if chosen.against is None:
        return 0
    before = json.loads(chosen.against.read_text())
    different = [name for name in outcomes if outcomes[name] != before.get(name)]
    print(f"{len(outcomes) - len(different)} of {len(outcomes)} equal", *different)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
