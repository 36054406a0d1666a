"""PreRL and DSRL: first wrong tries are made unlikely without their problem, then ordinary RL.

Paper: Tan et al. 2026, reinforcement learning in pre-train space (arXiv:2604.14142), read in its abstract. For `before` steps
the policy learns from the wrong tries alone (negative sample reinforcement), and not from P(answer | problem) but from
P(answer): each is learned from as if nothing had been asked. This is meant to prune wrong ways to reason whatever the problem
is. From then on it is GRPO, on the tries as they were made. The prompt that is left out here is the text of the problem: what a
chat template puts around it stays. Leaves out: a fresh optimiser for the second stage.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask
from guerdon.losses.signs import by_sign
from guerdon.losses.terms import on
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import loss_and_penalties
from guerdon.select.filters import during
from guerdon.select.other_views import shown_as


@recipe("prerl-dsrl", family="policy", paper="arXiv:2604.14142", on=grpo, needs=Needs(text=True, one_turn=True))
def prerl_dsrl(
    base: Recipe,
    *,
    before: int = 20,  # steps without the problem; ours
    positive: float = 0.0,  # weight of right tries in these steps; the abstract: negative samples alone
) -> Recipe:
    """Wrong tries unlearned without their problem for a while, then GRPO."""
    (learner,) = base.stages.learners
    unasked = during(0, before, shown_as(nothing_asked, corrected=False))
    first, _ = loss_and_penalties(learner)
    learner.loss = learner.loss + on(unasked, by_sign(first, positive=positive), name="unasked")
    learner.on = during(before)
    return base


def nothing_asked(ask: Ask) -> Any:
    """The view of an ask without its problem."""
    return ""
