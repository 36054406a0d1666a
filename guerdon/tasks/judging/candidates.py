"""Candidates for a judge, right and wrong, of any source.

Where no errors are known, a wrong one is the solution of another problem.
"""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.task import Split, Task
from guerdon.tasks.family import ANSWER
from guerdon.tasks.roles import verdict

TRIES, ENDLESS = 64, 10_000  # problems that are looked at; of an endless source, among how many


def other_problems(source: Any, split: Split, task: Task, number: int, draw: random.Random) -> list[Task]:
    """Up to `number` other problems of the kind of a task, no two with the same answer and none with its own."""
    size, by_answer = source.size(split), {task.answer: task}
    for _ in range(TRIES):
        other: Task = source.get(split, draw.randrange(size or ENDLESS))
        if len(by_answer) <= number and other.kind == task.kind:
            by_answer.setdefault(other.answer, other)
    return [*by_answer.values()][1:]


def right_candidate(source: Any, task: Task) -> str:
    """A task's worked solution, or its answer."""
    return str(source.solution(task)) if hasattr(source, "solution") else task.answer


def wrong_candidate(source: Any, split: Split, task: Task, draw: random.Random) -> str:
    """A near-miss, or the solution of another problem; nothing where all problems have one answer."""
    if hasattr(source, "near_misses"):
        return str(draw.choice(source.near_misses(task, draw)).text)
    others = other_problems(source, split, task, 1, draw)
    return right_candidate(source, others[0]) if others else ""


def candidate_verdict(source: Any, task: Task, tried: str) -> str:
    """What a judge says of a candidate: line by line where there is a step checker (`tasks/roles.py`), else yes or no."""
    if hasattr(source, "near_misses"):
        return verdict(source.of(task) if hasattr(source, "of") else source, task, tried)
    return f"{ANSWER}{'yes' if tried == right_candidate(source, task) else 'no'}"
