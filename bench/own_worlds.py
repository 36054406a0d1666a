"""Env steps per processor second of our own numpy worlds: `python -m bench.own_worlds --rounds 5 --out FILE.json`.

Each world with 256 side by side, stepped by its gold player and by random actions, one round of every world after another; what
counts is processor seconds, the choice of actions left out.
Leaves out: training (`bench/env_steps.py`), where each world is stepped alone.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from pathlib import Path
from statistics import median

import numpy as np

import guerdon as gd
from guerdon.worlds.own_names import OWN

WORLDS, STEPS = 256, 400


def measured(name: str, seed: int, by_gold: bool) -> float:
    worlds, spent = gd.worlds.side_by_side(name, WORLDS), 0.0
    worlds.reset(seed=seed)
    worlds.action_space.seed(seed)
    for _ in range(STEPS):
        actions = worlds.gold() if by_gold else worlds.action_space.sample()
        began = time.process_time()
        worlds.step(actions)
        spent += time.process_time() - began
    return WORLDS * STEPS / spent


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--out")
    asked = ask.parse_args()
    found: dict[str, list[float]] = {}
    for seed in range(asked.rounds):
        for name in OWN:
            for by_gold in (True, False):
                key = f"{name}, {'gold' if by_gold else 'random'}"
                found.setdefault(key, []).append(measured(name, seed, by_gold))
    for key, each in found.items():
        print(f"{key}: {median(each):,.0f} env steps per processor second ({min(each):,.0f} to {max(each):,.0f})")
    if asked.out:
        about = {"numpy": np.__version__, "machine": platform.machine()}
        Path(asked.out).write_text(json.dumps({"rounds": found, "about": about}, indent=1) + "\n")


if __name__ == "__main__":
    main()
