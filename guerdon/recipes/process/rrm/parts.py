"""Who grades a solution by a rubric, and what that is worth."""

from __future__ import annotations

from typing import Any

from guerdon.judges.local_models import run_model
from guerdon.judges.pointwise import yes
from guerdon.judges.rubrics import rubric
from guerdon.rewards.formula.per_step import overall
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.text.task_checks import true_lines


def graded_by(grader: str, task: Any, criteria: tuple[str, ...] = ()) -> Reward:
    """What a solution is worth to a grader, from 0 to 1: by the step checker 1 if every line follows, the answer among them,
    else 0; to sprig how sure it is of a yes after going through the lines; to any other model the share of `criteria` that are
    met, each row's own where there are none."""
    if grader == "exact":
        return overall(true_lines(task), "min")
    if grader == "sprig":
        return yes("sprig")
    return rubric(criteria, by=run_model("policy") if grader == "policy" else grader, sure=True)
