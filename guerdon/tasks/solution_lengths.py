"""Solutions of several lengths: the answer at once, with lines passed over, in full, after ways that led elsewhere.

A model that learns from one length answers at one length, and methods that shape length have nothing to shape. Every form is
right by the family's checker, and no line of any is wrong: lines are passed over only where the step checker accepts what is
left, and only families that can be searched are.
Leaves out which form suits which problem: all that there are come alike.
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.task import Task
from guerdon.tasks.family import Family, write_solution

WAYS = 3  # the most ways that lead elsewhere


def lengths(family: Family, task: Task, draw: random.Random) -> str:
    """A solution of a length drawn at random."""
    forms = solution_forms(family, task, draw)
    return forms[draw.choice(list(forms))]


def solution_forms(family: Family, task: Task, draw: random.Random) -> dict[str, str]:
    """The solutions that there are, by name: `at once` and `full` always, `brief` where the steps allow it, `searched` where
    the family can."""
    steps = family.steps(task)
    forms = {"at once": write_solution([], task.answer), "full": write_solution(steps, task.answer)}
    kept = [step for step in steps[:-1] if draw.random() < 0.5]
    if len(kept) < len(steps) - 1 and family.first_wrong(task, [*kept, steps[-1]]) is None:
        forms["brief"] = write_solution([*kept, steps[-1]], task.answer)
    if hasattr(family, "searched"):
        searcher: Any = family
        forms["searched"] = str(searcher.searched(task, draw, draw.randint(1, WAYS)))
    return forms
