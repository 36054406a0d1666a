"""Rewards with planted noise, and what is measured of a policy at its end, for `bench.compare losses_under_noise`.

Leaves out: the losses, which are recipes of the package but for one, and how runs are compared (`compare_losses.py`).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

import guerdon as gd
from guerdon.core.part import part
from guerdon.core.recipe import Recipe
from guerdon.exams import Sitting, accuracy, answer_length
from guerdon.exams.exam import TRUTH
from guerdon.exams.tries import checked, rights, texts
from guerdon.losses.signs import by_sign as weighted
from guerdon.prove.arms import Arm
from guerdon.prove.judges import lengthy_judge
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import loss_and_penalties
from guerdon.training.build import Built, find_task

CLEAN = "clean"
NOISES: dict[str, Any] = {  # a reward over a task; none is the truth
    CLEAN: None,
    "flips 0.2 by try": lambda task: gd.rewards.flipped(gd.rewards.checker(task), share=0.2),
    "flips 0.4 by try": lambda task: gd.rewards.flipped(gd.rewards.checker(task), share=0.4),
    "flips 0.2 by group": lambda task: gd.rewards.flipped(gd.rewards.checker(task), share=0.2, by="group"),
    "hackable": lambda task: lengthy_judge(task, lines=8, truth=0.2),  # most of it is for lines of work
}


@gd.recipe("by_sign", on=grpo)
def by_sign(base: gd.Recipe, *, positive: float = 0.1) -> gd.Recipe:
    """GRPO whose right tries count less than its wrong ones (Zhu et al. 2025, arXiv:2506.01347, find 0.1 best)."""
    (learner,) = base.stages.learners
    first, others = loss_and_penalties(learner)
    learner.loss = sum(others, start=weighted(first, positive=positive))
    return base


@part
class distinct_right:
    """`distinct_right`: how many different right texts a problem's tries gave on average.

    >>> from guerdon.exams.example_sitting import example_sitting
    >>> distinct_right()(example_sitting([["= 4", "2+2\\n= 4", "= 4", "= 5"], ["= 5"] * 4], answer="4"))
    {'distinct_right': 1.0}
    """

    needs = (TRUTH,)

    def __call__(self, sitting: Sitting) -> dict[str, float]:
        said, right = texts(sitting), rights(sitting)
        tried = [[k for ask in asks for k in ask] for asks in checked(sitting)]
        return {"distinct_right": fmean(len({said[k].strip() for k in tracks if right[k]}) for tracks in tried)}


@dataclass(frozen=True)
class NoisyArm(Arm):
    """An arm that learns from a reward with planted noise, and whose exam counts different right answers."""

    noise: str = CLEAN

    def build(self) -> Built:
        reward = NOISES[self.noise]
        request = self.request if reward is None else replace(self.request, reward=reward(find_task(self.request.task)))
        built = Arm.build(replace(self, request=request))
        assert isinstance(built.recipe, Recipe), "every loss is one run"
        for exam in built.recipe.exams:
            exam.metrics = [accuracy(), answer_length(), distinct_right()]
        return built
