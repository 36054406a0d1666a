"""What `gd.gym_reward` costs in stable-baselines3: `python -m bench.gym_reward --rounds 7 --out FILE.json`.

PPO of stable-baselines3 on CartPole in 32 worlds, 80 updates of 256 in each 2,048 env steps: as it is, and with a reward of
four named components in place of the environment's, once as a plain function and once batched. The arms train in turns in one
process, and what counts is processor seconds from the second rollout on; a round's ratio is of its own arms. `--only-env`
leaves PPO out: random actions, and the time of a step of the worlds alone.
Leaves out: rewards that take long themselves.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch

import guerdon as gd
from bench.env_steps import rate_of_theirs

WORLDS, HORIZON, MINIBATCH = 32, 64, 256
STEP = WORLDS * HORIZON


def four(observation: Any, action: Any, next_observation: Any, reward: Any, terminated: Any) -> dict[str, Any]:
    """Components that read all that a step has."""
    return {
        "own": reward,
        "centre": -0.1 * abs(next_observation[0]),
        "still": -0.1 * (next_observation[1] - observation[1]) ** 2,
        "fell": -5.0 * terminated,
    }


@gd.worlds.step_reward(batched=True)
def four_batched(observation: Any, action: Any, next_observation: Any, reward: Any, terminated: Any) -> dict[str, Any]:
    return {
        "own": reward,
        "centre": -0.1 * np.abs(next_observation[:, 0]),
        "still": -0.1 * (next_observation[:, 1] - observation[:, 1]) ** 2,
        "fell": -5.0 * terminated,
    }


ARMS: dict[str, Any] = {"as it is": None, "function": four, "batched": four_batched}


def worlds(reward: Any, seed: int) -> Any:
    from stable_baselines3.common.env_util import make_vec_env

    made = make_vec_env("CartPole-v1", WORLDS, seed=seed)
    return made if reward is None else gd.gym_reward(made, reward)


def trained(reward: Any, rollouts: int, seed: int) -> float:
    """Env steps per processor second of PPO."""
    return rate_of_theirs(worlds(reward, seed), HORIZON, MINIBATCH, rollouts, seed)


def stepped(reward: Any, rollouts: int, seed: int) -> float:
    """Env steps per processor second of the worlds alone, at random actions."""
    env, dice = worlds(reward, seed), np.random.default_rng(seed)
    env.reset()
    actions = dice.integers(0, 2, (rollouts * HORIZON, WORLDS))
    began = time.process_time()
    for action in actions:
        env.step(action)
    return actions.size / (time.process_time() - began)


def in_turns(arm: Callable[[Any, int, int], float], rounds: int, rollouts: int) -> dict[str, list[float]]:
    found: dict[str, list[float]] = {name: [] for name in ARMS}
    for seed in range(rounds):
        for name in list(ARMS)[seed % 3 :] + list(ARMS)[: seed % 3]:  # each is first, second and last in turn
            found[name].append(arm(ARMS[name], rollouts, seed))
        words = ", ".join(f"{name} {each[-1]:,.0f}" for name, each in found.items())
        print(f"round {seed + 1}: {words} env steps per processor second", flush=True)
    return found


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--rounds", type=int, default=7)
    ask.add_argument("--rollouts", type=int, default=5, help="of a training, 2,048 env steps each")
    ask.add_argument("--only-env", action="store_true", help="the worlds alone")
    ask.add_argument("--out")
    asked = ask.parse_args()
    torch.set_num_threads(1)
    found = in_turns(stepped if asked.only_env else trained, asked.rounds, asked.rollouts)
    plain = found.pop("as it is")
    ratios = {name: [a / b for a, b in zip(each, plain, strict=True)] for name, each in found.items()}
    print(f"as it is: {median(plain):,.0f} env steps per processor second, median of {asked.rounds}")
    for name, each in found.items():
        extra = median(1e6 / a - 1e6 / b for a, b in zip(each, plain, strict=True))
        low, high = min(ratios[name]), max(ratios[name])
        print(f"{name}: {median(ratios[name]):.3f} of it ({low:.3f} to {high:.3f}), {extra:.1f} us more an env step")
    if asked.out:
        about = {"torch": torch.__version__, "gymnasium": gymnasium.__version__, "machine": platform.machine()}
        text = json.dumps({"as it is": plain, **found, "ratios": ratios, "about": about}, indent=1)
        Path(asked.out).write_text(f"{text}\n")


if __name__ == "__main__":
    main()
