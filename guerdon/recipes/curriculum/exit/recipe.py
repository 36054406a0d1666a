"""ExIt: GRPO on single steps of self-improvement, whose starts are the policy's own earlier attempts.

Paper: Jiang et al. 2025, Bootstrapping Task Spaces for Self-Improvement (arXiv:2509.04575). Half of a step's asks are problems,
half are histories of a buffer, a problem with an attempt at it ("revise this"), drawn in proportion to how much the returns of
their groups varied; attempts from groups that vary join it, so that chains of any depth are trained one step at a time. The
exam is the whole chain: an answer that is revised `times` times, of which the last counts. The return is the new answer's own:
its gain over the attempt, which all tries at a start share, has the same advantages. Every try counts in the budget.
Leaves out: steps that ask for a different approach, and the bonus for answers far from the group's (sprig knows one wording of
"revise", and no embedding); histories of more than the latest attempt. Sizes of buffer and shares are ours.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.exams.exam import Exam
from guerdon.recipes.curriculum.exit.parts import histories, revised
from guerdon.recipes.house.grpo import grpo
from guerdon.tasks.roles import revise_view


@recipe(
    "exit",
    family="curriculum",
    paper="arXiv:2509.04575",
    claim=Claim(
        says="Trained on single steps from its own attempts, a policy is better after revising its answer than one that was"
        " trained on problems alone.",
        baseline="exit share=0",
        ablation="exit power=0",
        task="countdown:3-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64 times=4",
    ),
    on=grpo,
    helps=("few-labels",),
)
def exit(
    base: Recipe,
    task: Any,
    *,
    tries: int = 8,
    share: float = 0.5,  # ours
    power: float = 1.0,  # ours: the paper draws what varies more more often
    keep: int = 256,  # ours
    times: int = 4,  # revisions in the exam; ours
    template: str = revise_view("{prompt}", "{attempt}"),  # sprig's; other models are asked in plain language
) -> Recipe:
    """GRPO on problems and on its own attempts at them, one revision at a time."""
    base.curriculum = histories(task, template, tries=tries, share=share, power=power, keep=keep)
    seats = {"draft": "policy", "policy": "policy"}
    base.exams = [Exam(task, env=revised(template, times=times), seats=seats)]
    (credit,) = base.stages.credit
    credit.by = "ask"
    return base
