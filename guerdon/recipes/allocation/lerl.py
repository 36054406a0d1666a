"""LERL: a planner chooses categories from a summary of what was shown, a policy recommends items within them.

Paper: Xia et al. 2026 (arXiv:2601.19585), of which the abstract could be read, its repository could not. Every `every` steps a
planner is told, of each category, how often it was shown and clicked in the session, and how much of it was shown lately; it
names `allowed` categories. Items of all others have probability 0 exactly: their logits are out of reach. The policy is PPO's
for control, its view and its nets are the flat one's: with `planner=all` it is `ppo_control` on the same feed to the bit.
`diversity` is another way to spread, to compare with: a bonus for categories that were not shown lately, in training alone.
Different: users are simulated (`gd.worlds.Crowd`); the planner is a rule of ours, or your function, which may ask a language
model. Leaves out: what the planner learns from its own mistakes, embeddings of items.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.user_file import find_in_file
from guerdon.models.control import Towers, mlp
from guerdon.recipes.house.catalogues import own_catalogue
from guerdon.recipes.house.ppo_control import ppo_control
from guerdon.worlds.crowds import Catalogue
from guerdon.worlds.feeds import Feed
from guerdon.worlds.lock_step import gym
from guerdon.worlds.sources import episodes, streams
from guerdon.worlds.spaces import Row

TOLD = ("shown", "clicked", "lately")
Summary = Mapping[str, Mapping[str, float]]  # of each category
Planner = Callable[[Summary, int, np.random.Generator], Sequence[str]]
FAR = 1e9  # below all other logits: exp is 0 in any precision


@recipe(
    "lerl",
    family="allocation",
    paper="arXiv:2601.19585",
    on=ppo_control,
    needs=Needs(world="users of a feed; your own items: --set catalogue=FILE"),
)
def lerl(
    base: Recipe,
    *,
    catalogue: str = "",  # a file with a row for each item: category, appeal (0 to 1); none: 200 drawn items in 20 categories
    planner: str = "rule",  # or all, random, or FILE.py:NAME of a function of a summary and a number that returns categories
    allowed: int = 5,  # categories at a time; ours
    every: int = 1,  # steps between plans
    diversity: float = 0.0,
    entropy_weight: float = 0.01,  # ours: of many items most are never tried without
    exam: int = 64,
    steps: int = 30,  # 61,440 env steps
) -> Recipe:
    """PPO over the items of categories that a planner allows."""
    feed = planned(catalogue, planner, allowed, every, diversity)
    world, plain = feed(), planned(catalogue, planner, allowed, every)
    flat: Any = base
    flat.models["policy"] = masked(
        world.observation_space.shape[0], (len(world.kind),), 0, flat.models["policy"].hidden
    )
    flat.env, flat.curriculum = gym(feed, flat.env.at_once, flat.env.limit), streams(feed, flat.curriculum.steps)
    flat.exams[0].source, flat.exams[0].env = episodes(plain), gym(plain, flat.env.at_once, flat.env.limit)
    return base


@part
class masked(mlp):
    """An actor for one choice whose views end with a 1 for each value that may be chosen, and a 0 for each that may not."""

    def build(self, seed: int) -> nn.Module:
        return Towers(self.inputs - self.choices[0], self.hidden, self.choices[0], 0, seed)

    def policy_of(self, rows: Tensor) -> Tensor:
        seen, may = rows.tensor_split((self.inputs - self.choices[0],), 1)
        return super().policy_of(seen.contiguous()) + torch.where(may > 0, 0.0, -FAR)

    def value_of(self, rows: Tensor) -> Tensor:
        return super().value_of(rows[:, : self.inputs - self.choices[0]].contiguous())


@part
class planned:
    """Makes a feed with a planner: its views end with what may be shown."""

    catalogue: str = ""
    planner: str = "rule"
    allowed: int = knob(default=5, ge=1)
    every: int = knob(default=1, ge=1)
    diversity: float = knob(default=0.0, ge=0.0)

    def __call__(self) -> PlannedFeed:
        items = own_catalogue(self.catalogue) if self.catalogue else None
        return PlannedFeed(items, planner_of(self.planner), self.allowed, self.every, self.diversity)


class PlannedFeed(Feed):
    """A feed whose categories a planner narrows."""

    def __init__(self, items: Catalogue | None, plan: Planner, allowed: int, every: int, diversity: float) -> None:
        super().__init__(items)
        self.plan, self.allowed, self.every, self.diversity = plan, allowed, every, diversity
        self.kind, self.names, seen = self.items.category, self.items.names, self.observation_space
        self.observation_space = type(seen)(0.0, np.inf, (seen.shape[0] + len(self.kind),), np.float32)

    def reset(self, *, seed: int = 0, options: Any = None) -> Any:
        self.shown, self.clicked = np.zeros((2, len(self.names)))
        self.random = np.random.default_rng(seed)
        view, info = super().reset(seed=seed)
        return self._with_plan(view), info

    def step(self, action: int) -> Any:
        kind = self.kind[action]
        bonus = self.diversity / (1 + self.crowd.shown[0, kind])
        view, pay, over, cut, info = super().step(action)
        self.shown[kind] += 1
        self.clicked[kind] += pay
        return self._with_plan(view), pay + bonus, over, cut, info

    def _with_plan(self, view: Row) -> Row:
        if self.crowd.steps[0] % self.every == 0:
            rows = np.stack([self.shown, self.clicked, self.crowd.shown[0]], 1).tolist()
            told = {name: dict(zip(TOLD, row, strict=True)) for name, row in zip(self.names, rows, strict=True)}
            named = list(self.plan(told, self.allowed, self.random))
            if not named or not set(named) <= set(self.names):
                raise UserError(f"the planner named {named}; categories are {', '.join(self.names)}")
            self.may = np.isin(self.kind, [self.names.index(name) for name in named])
        return np.concatenate([view, self.may], dtype=np.float32)


def by_rule(told: Summary, allowed: int, dice: np.random.Generator) -> list[str]:
    """Categories by their rate of clicks, a quarter where nothing was shown; those that were shown lately count for less."""

    def score(name: str) -> float:
        return (1 + told[name]["clicked"]) / (4 + told[name]["shown"]) * math.exp(-0.5 * told[name]["lately"])

    return sorted(told, key=score, reverse=True)[:allowed]


PLANNERS: dict[str, Planner] = {
    "rule": by_rule,
    "all": lambda told, allowed, dice: list(told),
    "random": lambda told, allowed, dice: dice.permutation(list(told))[:allowed].tolist(),
}


def planner_of(name: str) -> Planner:
    """A planner of ours, or a function of a user's file."""
    if name in PLANNERS:
        return PLANNERS[name]
    if ".py:" not in name:
        raise UserError(f"lerl.planner is {', '.join(PLANNERS)}, or FILE.py:NAME of a function, not {name!r}")
    own = find_in_file(name, "planner")
    return lambda told, allowed, dice: own(told, allowed)
