"""What recipes with a reward for steps are examined on beside their answers: how it judges lines, and what can be farmed of it.
No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.step_judging import judged_steps
from guerdon.tasks.stepwise import by_steps


def step_exam(task: Any, lines: Any, paid: Any, tasks: int = 64) -> list[Exam]:
    """An exam `steps` of what a reward says of `lines`, where a step checker knows, and of what `paid` gives for nothing."""
    judging = [judged_steps(lines)] if has_steps(task) and lines is not None else []
    return [Exam(task, [*judging, farmed(paid)], name="steps", tasks=tasks, tries=1)]


def has_steps(task: Any) -> bool:
    """Whether somebody can check the lines of its solutions."""
    try:
        by_steps(task)
    except UserError:
        return False
    return True
