"""STARC: a distance between rewards that tells what it costs to follow one when the other is meant.

Paper: Skalse, Farnik, Motwani, Jenner, Gleave & Abate 2023, STARC: A General Framework For Quantifying Differences Between
Reward Functions (arXiv:2309.15257), and the authors' code (github.com/lucyfarnik/starc). In random worlds of 32 states and 4
actions a reward is changed step by step into another one; each step's distance from the first (`audits/distances`) is held
against the regret of the policy that is best by it, under the first, as a share of what there is to lose. The metric is their
correlation over all steps of all pairs. Values, best policies and distances are exact. Followed: worlds, rewards, steps,
value-adjusted levelling with a policy that takes all actions equally often. Different: exact returns in place of rollouts; EPIC
and DARD by Pearson's correlation under the coverage of their own papers; of several best policies the one that costs most.
Leaves out: the continuous world (Reacher), and regret in both directions, on average, which `lost=both` has.
Tried before the claims were registered, on other seeds: some 28 with other sizes, norms and regrets, and 12 as they are now
(STARC 0.79, EPIC 0.73, DARD 0.73). Pairs of random rewards were kept because they tell distances apart; with shaped, scaled and
negated ones among them (`others=mixed`) all distances are right about those, and the difference is lost.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from guerdon.core.recipe import Claim, Study, recipe
from guerdon.core.seeds import derive
from guerdon.recipes.audit.starc.parts import Lost, Others, Told, told_regret

ABOUT: dict[str, Any] = {"model": "", "metric": "correlation", "effect": 0.02, "budget": 128, "unit": "samples"}


@recipe(
    "starc",
    family="audit",
    paper="arXiv:2309.15257",
    claim=(
        Claim(
            says="STARC's distance correlates with regret more than EPIC's.",
            baseline="starc distance=epic",
            ablation="starc distance=val_potential",
            **ABOUT,
        ),
        Claim(
            says="STARC's distance correlates with regret more than DARD's.",
            baseline="starc distance=dard",
            ablation="starc distance=val_potential",
            **ABOUT,
        ),
    ),
)
def starc(
    distance: Told = "starc",
    lost: Lost = "followed",
    others: Others = "random",
    states: int = 32,
    actions: int = 4,
    gamma: float = 0.95,
    pairs: int = 128,  # of rewards, each in a world of its own; the authors have 1,024 in 128 worlds
    steps: int = 8,  # the authors take 16
) -> Study:
    """How well a distance between rewards tells regret, in random worlds that can be solved."""

    def body(run: Any, seed: int) -> dict[str, Any]:
        draw = np.random.default_rng(derive(seed, "worlds and rewards"))
        return told_regret(distance, lost, others, (states, actions, gamma), pairs, steps, draw)

    return Study(body)
