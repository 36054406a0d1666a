"""Gymnasium's environments, one or vectorised, that pay by a reward of ours (`gym_reward.py`)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AutoresetMode

from guerdon.core.errors import RunStopped
from guerdon.worlds.step_rewards import FIELDS, Paid, Steps, copied, rows_of, step_reward, with_rows


class RewardedEnv(gymnasium.Wrapper[Any, Any, Any, Any]):
    """One environment."""

    def __init__(self, env: gymnasium.Env[Any, Any], paid_by: step_reward) -> None:
        super().__init__(env)
        self.paid_by, self.title = paid_by, title_of_env(env)
        self.begun: int | None = None
        self.steps = 0
        self.shown: Any = None

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        shown, info = self.env.reset(seed=seed, options=options)
        self.begun, self.steps, self.shown = seed, 0, copied(shown)
        return shown, info

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        shown, own, over, cut, info = self.env.step(action)
        self.steps += 1
        paid = self.paid_by.pay_each([(self.shown, action, shown, own, over, cut, info)])
        if paid.why:
            seed = "" if self.begun is None else f" of seed {self.begun}"
            raise RunStopped(paid.told(0, self.title, f"step {self.steps}{seed}"))
        self.shown = copied(shown)
        return (
            shown,
            float(paid.total[0]),
            over,
            cut,
            {**info, "env_reward": float(own), "reward_parts": paid.each()[0]},
        )


class RewardedVectorEnv(gymnasium.vector.VectorWrapper[Any, Any, Any, Any, Any]):
    """Several environments that are stepped together, in each of Gymnasium's three ways to begin the next episode."""

    def __init__(self, env: gymnasium.vector.VectorEnv[Any, Any, Any], paid_by: step_reward) -> None:
        super().__init__(env)
        self.paid_by, self.title = paid_by, title_of_env(env)
        self.mode = AutoresetMode(env.metadata.get("autoreset_mode", AutoresetMode.NEXT_STEP))
        self.ended = np.zeros(env.num_envs, bool)
        self.steps, self.shown = 0, None

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        shown, info = self.env.reset(seed=seed, options=options)
        mask = None if options is None else options.get("reset_mask")
        self.ended = np.zeros(self.num_envs, bool) if mask is None else self.ended & ~np.asarray(mask)
        self.shown = copied(shown)
        return shown, info

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        shown, own, over, cut, infos = self.env.step(actions)
        self.steps += 1
        acted = ~self.ended if self.mode is AutoresetMode.NEXT_STEP else np.ones(self.num_envs, bool)
        led_to = self._led_to(shown, infos, over | cut)
        wants_info = "info" in self.paid_by.wants
        given = [info_of(infos, i) for i in range(self.num_envs)] if wants_info else [{}] * self.num_envs
        steps = Steps(self.shown, actions, led_to, own, over, cut, given)
        paid = self.paid_by.pay(steps if acted.all() else _only(steps, np.flatnonzero(acted)))
        total = np.array(own, np.float64)
        total[acted] = paid.total
        for at in paid.why:
            world = int(np.flatnonzero(acted)[at])
            raise RunStopped(paid.told(at, self.title, f"step {self.steps} of world {world}"))
        self.ended, self.shown = over | cut, copied(shown)
        return shown, total, over, cut, {**infos, **self._infos(paid, own, acted)}

    def _led_to(self, shown: Any, infos: Mapping[str, Any], ended: Any) -> Any:
        """What each action led to: where the next episode has begun already, the last view of the one before."""
        if self.mode is not AutoresetMode.SAME_STEP or not ended.any():
            return shown
        return with_rows(shown, {i: infos["final_obs"][i] for i in np.flatnonzero(ended).tolist()})

    def _infos(self, paid: Paid, own: Any, acted: Any) -> dict[str, Any]:
        """Components as Gymnasium has them in the info of vectorised environments: arrays, and which worlds have them."""
        parts: dict[str, Any] = {}
        for name, each in paid.parts.items():
            whole = np.full(self.num_envs, np.nan)
            whole[acted] = each
            parts |= {name: np.nan_to_num(whole), f"_{name}": ~np.isnan(whole)}
        told = {"env_reward": np.array(own, np.float64), "reward_parts": parts}
        return told | {f"_{name}": acted.copy() for name in told}


def info_of(infos: Mapping[str, Any], i: int) -> dict[str, Any]:
    """The info of one world, out of that of all; of an episode that ended in this step, its own."""
    if "final_info" in infos and infos["_final_info"][i]:
        return info_of(infos["final_info"], i)
    mine = {name: each for name, each in infos.items() if f"_{name}" in infos and infos[f"_{name}"][i]}
    return {name: info_of(each, i) if isinstance(each, Mapping) else each[i] for name, each in mine.items()}


def _only(steps: Steps, index: Any) -> Steps:
    arrays = {name: rows_of(getattr(steps, name), index) for name in FIELDS if name != "info"}
    return Steps(**arrays, info=[steps.info[i] for i in index.tolist()])


def title_of_env(env: Any) -> str:
    """What an environment is called, in messages; of several, the first one."""
    one = (getattr(env.unwrapped, "envs", None) or [env])[0]
    spec = getattr(one, "spec", None)
    return str(spec.id) if spec is not None else type(one.unwrapped).__name__
