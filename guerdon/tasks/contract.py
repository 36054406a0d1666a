"""What every task family promises, as a check any author can run: `gd.check_task(my_family)`."""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.core.task import Task
from guerdon.tasks.family import Family, Problem, read_solution


def check_task(family: Any, problems: int = 200) -> dict[str, int]:
    """Test a task source against the contract on `problems` problems a split; a broken promise is one clear line.

    Every source: the same index gives the same problem, train and test do not meet, the answer passes its own checker, and an
    empty and a padded answer do not. A `Family` moreover: the gold solution passes and has no wrong step, near-misses
    fail and are wrong where they say, a planted error is found where it was planted, and the prompt alone gives the problem
    back while a spoilt prompt gives none. Returns what was checked.

    Args:
        family: the source.
        problems: number of problems of each split.

    >>> import guerdon as gd
    >>> gd.check_task(gd.tasks.load("chain:1"), problems=20)
    {'problems': 40, 'near misses': 119, 'planted errors': 80}
    """
    seen: dict[str, set[str]] = {"train": set(), "test": set()}
    counts = {"problems": 0, "near misses": 0, "planted errors": 0}
    for split in ("train", "test"):
        size = family.size(split)
        for index in range(problems if size is None else min(size, problems)):
            task = family.get(split, index)
            where = f"{family.name}, {split} problem {index} ({task.prompt!r})"
            if family.get(split, index) != task:
                raise UserError(f"{where}: the same index gave another problem")
            seen[split].add(_canonical(family, task))
            counts["problems"] += 1
            _check_answers(family, task, where)
            if isinstance(family, Family):
                counts["near misses"] += _check_near_misses(family, task, where)
                counts["planted errors"] += _check_planted(family, task, where)
                _check_reading(family, task, where)
    shared = seen["train"] & seen["test"]
    if shared and isinstance(family, Family):
        raise UserError(f"{family.name}: {min(shared)!r} is in both train and test")
    return counts


def _canonical(family: Any, task: Task) -> str:
    """What must not be in both splits."""
    if not isinstance(family, Family):
        return task.prompt
    return family.canonical(Problem(task.prompt, task.answer, task.meta))


def _check_answers(family: Any, task: Any, where: str) -> None:
    gold = family.solution(task) if isinstance(family, Family) else task.answer
    if family.check(task, gold) != 1.0:
        raise UserError(f"{where}: its own answer {gold!r} does not pass")
    if isinstance(family, Family):
        steps, answer = read_solution(gold)
        if not steps or answer != task.answer:
            raise UserError(f"{where}: the gold solution does not end in the answer")
        if family.first_wrong(task, steps) is not None:
            raise UserError(f"{where}: the step checker finds fault with the gold solution")
    for bad in ("", " ", gold + "\n" + gold.split("\n")[-1] + "0"):
        if family.check(task, bad) == 1.0:
            raise UserError(f"{where}: {bad!r} passes")


def _check_near_misses(family: Family, task: Any, where: str) -> int:
    misses = family.near_misses(task, random.Random(derive("near miss", task.prompt)))
    if len({m.kind for m in misses}) < 2:
        raise UserError(f"{where}: fewer than two kinds of near-miss")
    for miss in misses:
        if family.check(task, miss.text) == 1.0:
            raise UserError(f"{where}: the near-miss {miss.kind!r} passes: {miss.text!r}")
        steps, _ = read_solution(miss.text)
        first = family.first_wrong(task, steps)
        if (len(steps) if first is None else first) != miss.step:
            raise UserError(
                f"{where}: the near-miss {miss.kind!r} is wrong at step {miss.step}, the checker says {first}"
            )
    return len(misses)


def _check_planted(family: Family, task: Any, where: str) -> int:
    """Make each step of the gold solution unreadable in turn: the step checker must stop right there."""
    gold = family.steps(task)
    for at in range(len(gold)):
        if family.first_wrong(task, [*gold[:at], "?", *gold[at + 1 :]]) != at:
            raise UserError(f"{where}: a planted error in step {at} was not found there")
        if family.first_wrong(task, gold[:at]) is not None:
            raise UserError(f"{where}: a solution that stops before step {at} has no wrong step, yet one was found")
    return len(gold)


def _check_reading(family: Family, task: Task, where: str) -> None:
    problem = family.read_problem(task.prompt)
    if problem is None or problem.prompt != task.prompt:
        raise UserError(f"{where}: read_problem does not know its own prompt")
    again = Task(task.id, problem.prompt, problem.answer, task.family, task.level, problem.meta)
    if family.check(again, family.solution(again)) != 1.0:
        raise UserError(f"{where}: the problem read from the prompt fails its own check")
    if type(family).right is not Family.right:  # there are several right answers, and a prompt names none of them
        same = family.right(task, problem.answer) and family.right(again, task.answer)
    else:
        same = (problem.answer, problem.meta) == (task.answer, task.meta)
    if not same:
        raise UserError(f"{where}: the prompt reads as another problem, {problem}")
    stranger = "sorting 3 1 2" if task.prompt.startswith("chain ") else "chain 3 +4 -2"
    for bad in (f"{task.prompt} 1", task.prompt.rpartition(" ")[0], stranger, ""):
        if family.read_problem(bad) is not None:
            raise UserError(f"{where}: {bad!r} is read as a problem")
