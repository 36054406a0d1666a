"""Our own numpy worlds as environments of Gymnasium: one, and N side by side.

A world of several is the same in each of its places as one alone at the same seed.
Leaves out: what the worlds are (`desk.py`, `bandits.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from guerdon.worlds.own_names import core_of


def _views(core: Any) -> spaces.Box:
    return spaces.Box(-np.inf, np.inf, (core.size,), np.float32)


def _actions(core: Any) -> Any:
    return spaces.Discrete(core.choices) if core.choices else spaces.Box(-1.0, 1.0, (core.moves,), np.float32)


class OwnWorld(gymnasium.Env[Any, Any]):
    """One world, by its name: `desk:push`. `gold()` is the action of a player that knows all."""

    def __init__(self, name: str) -> None:
        self.core = core_of(name, 1)
        self.observation_space, self.action_space = _views(self.core), _actions(self.core)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.core.begin(0, self.np_random)
        return self.core.seen()[0].astype(np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        pay, over, cut, reached = self.core.step(np.asarray(action)[None])
        info = {"success": bool(reached[0])}
        return self.core.seen()[0].astype(np.float32), float(pay[0]), bool(over[0]), bool(cut[0]), info

    def gold(self) -> Any:
        return self.core.gold()[0]


class OwnWorlds(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """N worlds side by side, which begin their next episode in the step that ends one (Gymnasium's `SAME_STEP`)."""

    def __init__(self, name: str, num_envs: int) -> None:
        self.core, self.num_envs = core_of(name, num_envs), num_envs
        self.metadata = {"autoreset_mode": AutoresetMode.SAME_STEP}
        self.single_observation_space, self.single_action_space = _views(self.core), _actions(self.core)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.dice: list[np.random.Generator] = []

    def reset(self, *, seed: Any = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        seeds: Sequence[Any] = (
            seed if isinstance(seed, Sequence) else [None if seed is None else seed + i for i in range(self.num_envs)]
        )
        if not self.dice or seed is not None:
            self.dice = [gymnasium.utils.seeding.np_random(each)[0] for each in seeds]
        for i, dice in enumerate(self.dice):
            self.core.begin(i, dice)
        return self.core.seen().astype(np.float32), {}

    def step(self, actions: Any) -> tuple[Any, Any, Any, Any, dict[str, Any]]:
        pay, over, cut, reached = self.core.step(actions)
        every = np.ones(self.num_envs, bool)
        infos: dict[str, Any] = {"success": reached.copy(), "_success": every}
        seen, ended = self.core.seen().astype(np.float32), over | cut
        if ended.any():
            last = np.full(self.num_envs, None, object)
            for i in np.flatnonzero(ended).tolist():
                last[i] = seen[i].copy()
                self.core.begin(i, self.dice[i])
            told = {"success": np.where(ended, reached, False), "_success": ended}
            infos |= {"final_obs": last, "_final_obs": ended, "final_info": told, "_final_info": ended}
            seen = self.core.seen().astype(np.float32)
        return seen, pay, over, cut, infos

    def gold(self) -> Any:
        return self.core.gold()
