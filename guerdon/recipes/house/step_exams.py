"""What recipes that reward steps are examined by besides accuracy, on tasks whose steps can be checked. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.step_judging import judged_steps, sound
from guerdon.tasks.stepwise import has_steps

TASKS = 128  # of the exam: enough for shares that are averaged over seeds


def step_exams(task: Any, lines: Any = None, paid: Any = None) -> list[Exam]:
    """The exam `steps`: how many answers are right by right lines alone; how well the process reward `lines` judges lines; and
    how much of `paid`, what a policy is paid for them (the lines themselves unless told), it could farm. None where nobody can
    check steps, as of a file's rows."""
    if not has_steps(task):
        return []
    judged = [] if lines is None else [judged_steps(lines), farmed(lines if paid is None else paid)]
    return [Exam(task, [sound(), *judged], env=single_turn(), name="steps", tasks=TASKS, tries=1)]
