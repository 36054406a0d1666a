"""What recipes of preferences between tries have in common: what compares tries, and rounds. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.core.recipe import Recipe
from guerdon.judges.compare import listwise, pairwise
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.shared import worth
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.text.agreement import win_rate
from guerdon.rewards.text.preferences import preferred


def compared(task: Any, reward: Any) -> Reward:
    """How often a try is preferred to the others of its group: what a reward that compares tries says, or the order of one that
    does not, the task's own verdict where there is none."""
    own = worth(task, reward)
    return own if isinstance(own, pairwise | listwise | preferred) else win_rate(own)


def in_rounds(base: Recipe, steps: int) -> Recipe:
    """The recipe in rounds of so many steps: the reference is the policy as it was at the start of a round, and makes the tries
    that the policy learns from. What is examined is the policy."""
    base.models["reference"] = snapshot("policy", every=steps)
    base.seats = {"policy": "reference"}
    for exam in base.exams:
        exam.seats = {"policy": "policy"}
    return base
