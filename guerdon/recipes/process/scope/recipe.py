"""SCOPE: failed tries are kept up to their first wrong step and put right from there by somebody who knows, beside the others.

Paper: Ren et al. 2026, Recycling Failures: Salvaging Exploration in RLVR via Fine-Grained Off-Policy Guidance
(arXiv:2602.24110; no code was found). A process reward model names the first wrong step of a failed try; what comes before
stays the policy's own, what follows is written off-policy, and the try joins its group. How its foreign tokens weigh is taken
from LUFFY (Yan et al. 2025, arXiv:2504.14945), which replaces whole tries: their ratio is to one who is certain, shaped by
x / (x + 0.1), without a clip; the policy's own tokens have the ordinary clipped ratio. Failed tries stay in their group.
The task's step checker names the first wrong step, or a process reward model, `--set prm=FOLDER`; its worked solution goes on
from there, or a teacher, `--set teacher=FOLDER`. Rows of your own need both, and a teacher that has the policy's tokens.
Leaves out: the paper's own weights of foreign tokens and its rule for which failures are worth it, which we could not read.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.models import load
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import loss_and_penalties
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.process_claims import STEPS
from guerdon.recipes.process.scope.parts import parted, salvage, shaped
from guerdon.rewards.model.reward_models import process_model
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.task_checks import true_lines
from guerdon.tasks.stepwise import by_steps


@recipe(
    "scope",
    family="process",
    paper="arXiv:2602.24110",
    claim=Claim(
        says="Failed tries put right from their first wrong line, beside the others, teach more than all tries as they are.",
        ablation="scope keep=false",
        **STEPS,
    ),
    on=grpo,
    needs=Needs(step_checker="prm+teacher", text=True),
    helps=("sparse",),
)
def scope(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    keep: bool = True,  # False: the whole failed try is replaced, as LUFFY has it
    shaping: float = 0.1,  # LUFFY's gamma
    prm: str = "",
    least: float = 0.5,  # what the process reward model says of a right line at least; ours
    teacher: Any = "",  # a model, or its name or folder (RUN/models/policy)
) -> Recipe:
    """GRPO in which failed tries are salvaged up to their first wrong line, and learned from as put right."""
    if not hasattr(task, "first_wrong") and not (prm and teacher):
        raise UserError(
            "scope needs a judge of steps and a teacher of your own rows: --set prm=FOLDER --set teacher=FOLDER"
        )
    judge = process_model(prm, aggregate="steps") if prm else true_lines(by_steps(task))
    if teacher:
        base.models["teacher"] = load(teacher) if isinstance(teacher, str) else teacher
        if getattr(base.models["teacher"], "text_identity", None) != getattr(model, "text_identity", None):
            raise UserError(
                "scope lets the teacher go on in the policy's tokens, and the two have different tokenizers"
            )
    (learner,), again = base.stages.learners, base.stages.scores
    first, _ = loss_and_penalties(learner)
    first.advantage = "on_advantage"
    learner.loss = learner.loss + shaped(shaping, first.mean, first.constant)
    saved = salvage(task, list(again), "teacher" if teacher else "", keep, least=least)
    base.exams += step_exams(task, judge if prm else None)
    return base.but(before={"centre": [score(judge, "judged"), saved]}, after={"centre": parted()})
