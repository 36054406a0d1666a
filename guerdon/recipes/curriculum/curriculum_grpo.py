"""Curriculum GRPO: train long, think short. GRPO with a token budget that starts wide and is tightened as the run goes on.

Paper: Hammoud et al. 2025, Train Long, Think Short (arXiv:2508.08940). The reward is a weighted sum of being right, of keeping
to the budget of the day (a triangle; `--set keeps_to.ramp=false`: the paper's band) and of form. The budget goes from `budget`
to `final` in a few equal factors (`--set decayed.times=7`) or on a straight line, is said in the prompt, and an answer is cut
short at twice of it (the paper clips lengths there). Models that know no instructions, such as sprig, are not told
(`announce=nothing`) and learn a length, or are told a number (`announce=number`).
Leaves out: the reward for form, with its tags: your own reward may have one, `exact + has_format().weight(0.1)`.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.schedule import linear
from guerdon.curricula.token_budgets import NUMBER, budgeted
from guerdon.recipes.curriculum.length_claims import LONG, SHORTER
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.text.length_budgets import keeps_to
from guerdon.studies.schedules import decayed

SHRINKS = "budget=128 final=48 announce=nothing"


@recipe(
    "curriculum-grpo",
    family="curriculum",
    paper="arXiv:2508.08940",
    claim=(
        Claim(
            says="A token budget that shrinks solves more than having the final budget from the start.",
            baseline="curriculum-grpo budget=48 final=48 announce=nothing",
            ablation=f"curriculum-grpo brief=0 {SHRINKS}",
            method=SHRINKS,
            **LONG,
        ),
        Claim(
            says="A token budget that shrinks leaves shorter answers than GRPO, and as many right ones.",
            method=SHRINKS,
            **SHORTER,
        ),
    ),
    on=grpo,
    helps=("long-answers",),
)
def curriculum_grpo(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    budget: int = 256,  # the paper's B0
    final: int = 87,  # the paper's
    decay: Literal["steps", "linear"] = "steps",  # the paper's main runs
    correct: float = 0.6,  # the paper's, where being right weighs more
    brief: float = 0.3,  # the paper's, with it
    announce: Literal["sentence", "number", "nothing"] = "sentence",
) -> Recipe:
    """GRPO with a reward for keeping to a token budget that shrinks."""
    now: Any = decayed(budget, final) if decay == "steps" else linear(budget, final)
    right = worth(task, reward)
    line = {"sentence": "{prompt}\nUse exactly {budget} tokens.", "number": NUMBER, "nothing": ""}[announce]
    base.curriculum = budgeted(base.curriculum, (now,), line, room=2.0, sampling=base.sampling)
    return paid_by(base, blend(right=right.weight(correct), length=keeps_to(now).weight(brief)))
