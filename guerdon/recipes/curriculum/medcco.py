"""MedCCO: first answers are chosen among options, then they are given freely.

Paper: Rui et al. 2025, Improving Medical Reasoning with Curriculum-Aware Reinforcement Learning (arXiv:2505.19213). Medical
questions about images with options or a yes or no to choose come first, then questions with free answers; both stages are GRPO.
Here the closed form of a problem shows two solutions, one of them right ("prefer"), or one to say yes or no to ("verify"), and
the open form is the problem itself. `order` is also "open_first", "mixed" (both forms all along) or "open". The exam is the
open form.
Leaves out: images and medicine; the likeness of texts as a reward for free answers (generated problems have exact ones); the
reward for format, which here is part of being right. When the paper goes from one stage to the other was not at hand: here it
is at half of the run.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.core.task import kinds_of
from guerdon.curricula.plain import in_stages, uniform
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks.closed import closed_form
from guerdon.tasks.mixtures import mixture


@recipe(
    "medcco",
    family="curriculum",
    paper="arXiv:2505.19213",
    claim=Claim(
        says="Choosing answers first and giving them after solves more of the open problems than both forms mixed.",
        baseline="medcco order=mixed",
        ablation="medcco order=open",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(one_turn=True),
    helps=("sparse",),
)
def medcco(
    base: Recipe,
    task: Any,
    *,
    tries: int = 8,
    order: Literal["closed_first", "open_first", "mixed", "open"] = "closed_first",
    closed: Literal["prefer", "verify"] = "prefer",
    at: float = 0.5,  # ours
) -> Recipe:
    """GRPO on choices first, then on the same kinds of problems without options."""
    choices = closed_form(task, closed)
    both = mixture(f"{choices.name}+{task.name}", [*choices.sources, *kinds_of(task).values()])
    lessons = [uniform(choices, tries), uniform(task, tries)]
    if order == "mixed":
        base.curriculum = uniform(both, tries)
    elif order != "open":
        base.curriculum = in_stages(lessons if order == "closed_first" else lessons[::-1], (at,))
    return base.but(verified=verified(both))
