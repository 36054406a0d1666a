"""Regret preference model: a reward learned from preferences as if people preferred what gives least away, not what pays most.

Paper: Knox et al. 2022, Models of human preference for learning reward functions (arXiv:2206.02231), and the authors' code
(github.com/Stephanehk/Regret_Based_Reward_Learning). Of two segments of moves one is preferred by the sigmoid of a difference:
of what they were paid (partial return, the usual model), or of minus their regret, V*(start) - (sum of rewards + V*(end)). One
model makes preferences, a linear reward is learned by cross-entropy under one, and its best policy is paid by the true reward.
near_optimal: the share of worlds in which it comes further than 90 % of the way from random moves to the best, as in the paper.
In every other world no segment goes on after an end: a constant added to all rewards then changes no preference by return.
Different: at most 60 cells in place of 150; best policies for what is learned so far join those of random rewards.
Leaves out: preferences of people, weights for the parts of regret that are fitted to them, worlds with chance.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import torch

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Study, recipe
from guerdon.recipes.process.regret_preference_model.parts import (
    RewardReader,
    Statistic,
    preferences,
    random_segments,
    summary,
)
from guerdon.studies.grid_worlds import random_worlds

NAME = "regret-preference-model"


@recipe(
    "regret-preference-model",
    family="process",
    paper="arXiv:2206.02231",
    claim=Claim(
        says="Where preferences come from regret and are read so, more rewards are learned than by partial return.",
        baseline=f"{NAME} prefers=partial_return learns=partial_return",
        ablation=f"{NAME} learns=partial_return",
        model="",
        metric="near_optimal",
        effect=0.05,
        budget=100,
        unit="samples",
    ),
    needs=Needs(world="grid worlds with preferences over paths"),
)
def regret_preference_model(
    learns: Statistic = "regret",
    prefers: Statistic = "regret",
    noise: float = 0.0,  # the paper has noiseless preferences, and such with a chance
    pairs: int = 100,  # of each world; the paper goes from 3 to 3,000
    worlds: int = 50,  # the paper has 100
    lr: float = 0.1,  # the authors' 2 is for thousands of updates
    updates: int = 200,
) -> Study:
    """Learn rewards of random grid worlds from preferences, and see what their best policies are truly worth."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        some = random_worlds(worlds, seed)
        past_end = torch.arange(worlds) % 2 == 0
        segments = random_segments(some, pairs, 3, past_end, seed)
        preferred = preferences(some, segments, prefers, noise, seed)

        def earned(n: int) -> list[float]:
            weights = RewardReader(some, learns, lr, updates).read(segments[:n], preferred[:, :n], seed)
            return [float(x) for x in some.scaled(some.tied(weights))]

        sizes = sorted({max(1, pairs // 10), max(1, pairs // 3), pairs})
        return summary({n: run.remember(["pairs", n], partial(earned, n)) for n in sizes}, past_end)

    return Study(body)
