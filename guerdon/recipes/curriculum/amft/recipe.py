"""AMFT: imitation and exploration in one update, with a weight between them that climbs held-out reward.

Paper: He et al. 2025, Adaptive Meta Fine-Tuning (arXiv:2508.06944; withdrawn by its authors in its third version), with the
released code (github.com/TSYJ-He/AMFT), which has no sampling. Every update follows (1 - mu) L_GRPO + mu L_SFT, on tries at a
step's problems and on their reference solutions. Every `every` steps problems apart are tried, and mu moves by
rate * <grad U, grad L_GRPO - grad L_SFT>, U their expected reward: its derivative through the update just made, to first order.
After each step it also moves by `entropy_rate` times what the policy's entropy lacks of that at the start, the code's sign.
Held-out tries and the solutions that are recited count in the budget.
Leaves out: PPO with a critic for the exploring half (here GRPO); the warm-up by imitation alone, which sprig comes with; the
code's U, which is the cross-entropy of held-out solutions, and which it moves mu to make larger.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import validation_problems
from guerdon.recipes.curriculum.amft.parts import balanced, climbing
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid
from guerdon.select.hints import hint


@recipe(
    "amft",
    family="curriculum",
    paper="arXiv:2508.06944",
    claim=Claim(
        method="every=5",  # some ten moves in this budget
        says="A weight between imitation and exploration that climbs held-out reward ends higher than an even one.",
        baseline="amft start=0.5 rate=0 entropy_rate=0",
        ablation="amft rate=0",
        task="countdown:3-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(solutions="hint.solution|solution"),
    helps=("sparse",),
)
def amft(
    base: Recipe,
    task: Any,
    *,
    start: float = 0.8,  # the released configuration
    rate: float = 0.2,  # ours: the released 1e-4 times the learning rate would not move mu at all
    entropy_rate: float = 5e-4,  # the released configuration
    every: int = 20,  # the released configuration
    solution: str = "solution",  # the column of your own data that holds it; tasks with `solution(task)` need none
) -> Recipe:
    """GRPO and imitation of reference solutions, balanced by a meta-gradient."""
    scores, (learner,) = base.stages.scores, base.stages.learners
    held = validation_problems(task, tries=base.curriculum.tries)
    compared = [*scores, centre(paid(scores), std=False, others=True)]
    mu = climbing(held, compared, base.prompts, start, rate, entropy_rate, every=every)
    shown = hint(task, solution=solution)
    both = balanced(learner.model, learner.loss, opt=learner.opt, updates=learner.updates, solve=shown, weight=mu)
    return base.but(replace={"learn": both})
