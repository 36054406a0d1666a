"""Env steps per processor second of PPO in control: `python -m bench.env_steps --rounds 5 --out FILE.json`.

Guerdon's `ppo_control` against stable-baselines3's PPO on CartPole: 8 worlds, nets of 64 x 64, and in each step of a run
2,048 env steps and 80 updates of 256 of them; whole runs as users have them (ours with its rollouts, events and
checkpoints on disk). Both run in one process and take turns, and what counts is processor seconds from the second step on,
so that other work of the machine and the start of a run are in neither. `--lengths` measures episodes of 50 and of 500 steps
in a world whose episodes have that length.
Leaves out: how much is learned (the exam of a run), and environments that take longer than the learner.
"""

from __future__ import annotations

import argparse
import json
import platform
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch

import guerdon as gd
from guerdon.training.catalog import find_recipe

WORLDS, HORIZON, MINIBATCH, EPOCHS = 8, 256, 256, 10
STEP = WORLDS * HORIZON
LENGTHS = (50, 500)


class Fixed(gymnasium.Env[Any, Any]):
    """Four numbers of noise, two actions, and episodes of `length` steps."""

    def __init__(self, length: int = 50) -> None:
        self.observation_space = gymnasium.spaces.Box(-np.inf, np.inf, (4,), np.float32)
        self.action_space = gymnasium.spaces.Discrete(2)
        self.length, self.t = length, 0

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t = 0
        return self._seen(), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.t += 1
        return self._seen(), 1.0, self.t >= self.length, False, {}

    def _seen(self) -> Any:
        return self.np_random.standard_normal(4, dtype=np.float32)


def fifty() -> Fixed:
    return Fixed(50)


def five_hundred() -> Fixed:
    return Fixed(500)


def ours(env: Any, steps: int, seed: int) -> float:
    """Env steps per processor second of our run, from its second step on."""
    made = find_recipe("ppo_control")(env=env, worlds=WORLDS, horizon=HORIZON, minibatch=MINIBATCH, steps=steps)
    at: list[float] = []

    def listen(event: Any) -> None:
        if type(event).__name__ == "StepDone":
            at.append(time.process_time())

    with tempfile.TemporaryDirectory() as folder:
        gd.train(made, out=Path(folder) / "run", options=gd.Options(eval_tasks=0), seed=seed, listeners=[listen])
    return (steps - 1) * STEP / (at[-1] - at[0])


def theirs(env: str, steps: int, seed: int) -> float:
    """The same of stable-baselines3's."""
    from stable_baselines3.common.env_util import make_vec_env

    return rate_of_theirs(make_vec_env(env, WORLDS, seed=seed), HORIZON, MINIBATCH, steps, seed)


def rate_of_theirs(worlds: Any, horizon: int, minibatch: int, rollouts: int, seed: int) -> float:
    """Env steps per processor second of stable-baselines3's PPO in some worlds, from its second rollout on."""
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import BaseCallback

    at: list[float] = []

    class Clock(BaseCallback):  # type: ignore[misc]
        def _on_step(self) -> bool:
            return True

        def _on_rollout_start(self) -> None:
            at.append(time.process_time())

    model = PPO(
        "MlpPolicy",
        worlds,
        n_steps=horizon,
        batch_size=minibatch,
        n_epochs=EPOCHS,
        policy_kwargs={"net_arch": [64, 64]},
        device="cpu",
        seed=seed,
    )
    step = worlds.num_envs * horizon
    model.learn(rollouts * step, callback=Clock())
    at.append(time.process_time())  # the end of the last update
    return float((rollouts - 1) * step / (at[-1] - at[1]))


def in_turns(arms: dict[str, Callable[[int], float]], rounds: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in arms}
    for seed in range(rounds):
        for name, arm in arms.items():
            found[name].append(arm(seed))
            print(f"round {seed + 1}: {name} {found[name][-1]:,.0f} env steps per processor second", flush=True)
    return found


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--rounds", type=int, default=5)
    ask.add_argument("--steps", type=int, default=6, help="of a run, 2,048 env steps each")
    ask.add_argument("--lengths", action="store_true", help="episodes of 50 and of 500 steps, ours alone")
    ask.add_argument("--out")
    asked = ask.parse_args()
    torch.set_num_threads(1)
    arms: dict[str, Callable[[int], float]] = {
        "guerdon": lambda seed: ours("CartPole-v1", asked.steps, seed),
        "stable-baselines3": lambda seed: theirs("CartPole-v1", asked.steps, seed),
    }
    if asked.lengths:
        arms = {
            "episodes of 50": lambda seed: ours(fifty, asked.steps, seed),
            "episodes of 500": lambda seed: ours(five_hundred, asked.steps, seed),
        }
    found = in_turns(arms, asked.rounds)
    middle = {name: median(each) for name, each in found.items()}
    first, second = middle.values()
    for name, value in middle.items():
        print(f"{name}: {value:,.0f} env steps per processor second, median of {asked.rounds}")
    print(f"ratio {first / second:.2f}")
    if asked.out:
        about = {"torch": torch.__version__, "gymnasium": gymnasium.__version__, "machine": platform.machine()}
        Path(asked.out).write_text(json.dumps({"rounds": found, "median": middle, "about": about}, indent=1) + "\n")


if __name__ == "__main__":
    main()
