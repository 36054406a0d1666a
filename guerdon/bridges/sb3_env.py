"""A VecEnv of stable-baselines3 that pays by a reward of ours (`gym_reward.py`)."""

from __future__ import annotations

from typing import Any

import numpy as np
from stable_baselines3.common.vec_env import VecEnv, VecEnvWrapper

from guerdon.bridges.gymnasium_envs import title_of_env
from guerdon.core.errors import RunStopped
from guerdon.worlds.step_rewards import Steps, copied, step_reward, with_rows


class RewardedVecEnv(VecEnvWrapper):  # type: ignore[misc]
    """Below VecMonitor, which then counts the returns of this reward, and below VecNormalize, which changes observations.

    A VecEnv begins the next episode in the step that ends one; what the last action led to is `terminal_observation`, and
    `terminated` is an end that is not `TimeLimit.truncated`."""

    def __init__(self, venv: VecEnv, paid_by: step_reward) -> None:
        super().__init__(venv)
        self.paid_by, self.title, self.steps = paid_by, title_of_env(venv), 0
        self.shown: Any = None
        self.actions: Any = None

    def reset(self) -> Any:
        shown = self.venv.reset()
        self.shown = copied(shown)
        return shown

    def step_async(self, actions: Any) -> None:
        self.actions = actions
        self.venv.step_async(actions)

    def step_wait(self) -> tuple[Any, Any, Any, list[dict[str, Any]]]:
        shown, own, ended, infos = self.venv.step_wait()
        self.steps += 1
        led_to, cut = shown, np.zeros(self.num_envs, bool)
        if ended.any():
            last = np.flatnonzero(ended).tolist()
            led_to = with_rows(shown, {i: infos[i]["terminal_observation"] for i in last})
            cut[last] = [infos[i].get("TimeLimit.truncated", False) for i in last]
        paid = self.paid_by.pay(Steps(self.shown, self.actions, led_to, own, ended & ~cut, cut, infos))
        for i in paid.why:
            raise RunStopped(paid.told(i, self.title, f"step {self.steps} of world {i}"))
        for info, pay, parts in zip(infos, own.tolist(), paid.each(), strict=True):
            info["env_reward"], info["reward_parts"] = pay, parts
        self.shown = copied(shown)
        return shown, paid.total.astype(np.float32), ended, infos
