"""RRM: the whole way to an answer is graded by a rubric, in place of the answer alone.

Paper: Yuan et al. 2025, Curing Miracle Steps in LLM Mathematical Reasoning with Rubric Rewards (arXiv:2510.07774). A reward for
right answers also pays for miracle steps, which arrive at the answer from lines that do not lead there. The rubric reward model
is a generative grader that holds a solution against its problem's rubric and says a number from 0 to 1; it takes the place of
the outcome reward in GRPO, and answers are counted as solved only where their reasoning is verified (`sound@k`, the paper's
Verified Pass@N, and `false_positive_share`).
Here the rubric of a generated problem is its family's: every line follows and the answer is right. `grader=exact` applies it by
the step checker, as a grader that never errs; `grader=sprig` is generative, sprig in its role `verify`, which goes through the
lines and is then as sure as its p(yes), and what it says counts in the budget. Any other is a model that lies here, or
`policy`, which reads `criteria`, or, without any, each row's own, in a column `rubric` (a list of sentences). `answer` grades
answers alone, which is GRPO, examined as this is.
The paper's abstract and summaries of it were followed; its code was not to be had. Leaves out: writing rubrics, training the
grader on them, partial points by the exact grader, and people who verify.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.rates import accuracy, answer_length
from guerdon.exams.step_judging import sound
from guerdon.judges.local_models import run_model
from guerdon.judges.pointwise import yes
from guerdon.judges.rubrics import rubric
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.recipes.process.process_claims import STEPS
from guerdon.rewards.formula.per_step import overall
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.text.task_checks import true_lines
from guerdon.tasks.stepwise import has_steps

OUTCOME: dict[str, Any] = {"baseline": "rrm grader=answer", **STEPS}


@recipe(
    "rrm",
    family="process",
    paper="arXiv:2510.07774",
    claim=(
        Claim(
            says="Paid for solutions that follow line by line, a policy gives more of them than one paid for right answers.",
            metric="sound@1",
            **OUTCOME,
        ),
        Claim(
            says="Paid for solutions that follow line by line, fewer of a policy's right answers have a wrong line.",
            metric="false_positive_share",
            better="lower",
            effect=0.05,
            **OUTCOME,
        ),
    ),
    on=grpo,
    needs=Needs(step_checker="grader", text=True),
    helps=("hacking", "unsound-steps"),
)
def rrm(
    base: Recipe,
    task: Any,
    *,
    grader: str = "exact",  # ours: the paper's is a language model taught to grade
    criteria: tuple[str, ...] = (),
) -> Recipe:
    """GRPO paid by a grader of the whole solution."""
    checks = [sound()] if has_steps(task) else []
    base.exams = [Exam(task, [accuracy(), answer_length(), *checks], env=single_turn())]
    if grader == "answer":
        return base
    graded = graded_by(grader, task, criteria)
    base.exams += [
        Exam(task, [farmed(graded)], name="steps", tasks=64 if grader == "exact" else 16, tries=1)
    ]  # by judges: dear
    return paid_by(base, graded)


def graded_by(grader: str, task: Any, criteria: tuple[str, ...] = ()) -> Reward:
    """What a solution is worth to a grader, from 0 to 1: by the step checker 1 if every line follows, the answer among them,
    else 0; to sprig how sure it is of a yes after going through the lines; to any other model the share of `criteria` that are
    met, each row's own where there are none."""
    if grader == "exact":
        return overall(true_lines(task), "min")
    if grader == "sprig":
        return yes("sprig")
    return rubric(criteria, by=run_model("policy") if grader == "policy" else grader, sure=True)
