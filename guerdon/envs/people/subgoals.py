"""Plans for problems of the generated families: what is to be done, step by step, without what comes of it.

A plan is a worked solution less its results: `5*2`, `..-3` for `5*2=10`, `10-3=7`, where `..` is the result of the step before.
Families whose steps do not divide so are planned by every second step of their solution.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from guerdon.core.task import Task
from guerdon.tasks.families.linear_equations import constant, is_bracket, slope, unfold
from guerdon.tasks.families.pipeline import DIGITS

BEFORE = ".."  # the result of an earlier step
VALUE = re.compile(r"-?[0-9]+(?:[a-z]+)?")

Plan = Callable[[Task, Sequence[str]], list[str]]


def subgoals(task: Task, steps: Sequence[str]) -> list[str]:
    """What is to be done in these steps, a line each."""
    return PLANS.get(task.family, every_second)(task, steps)


def every_second(task: Task, steps: Sequence[str]) -> list[str]:
    """Where the solution is to pass by."""
    return list(steps[1::2] or steps)


def operations(task: Task, steps: Sequence[str]) -> list[str]:
    """`rev` of `rev: 8 4 1 3`."""
    return [step.partition(":")[0] for step in steps]


def left_sides(task: Task, steps: Sequence[str]) -> list[str]:
    """`..*4+3` of `9*4+3=39`, where 9 was worked out before."""
    results: list[str] = []
    lines = []
    for step in steps:
        left, _, right = step.partition("=")
        lines.append(_without(left, results))
        results.append(right.partition(" ")[0])
    return lines


def _without(left: str, results: list[str]) -> str:
    """A sum in which results of earlier steps are not named; each is used once."""
    first = VALUE.match(left)
    begins = first[0] if first is not None and first[0] in results else ""  # with its sign: -3-5
    if begins:
        results.remove(begins)
    words = re.split(r"([0-9]+[a-z]*)", left.removeprefix(begins))
    for at, word in enumerate(words):
        if word in results:
            results.remove(word)
            words[at] = BEFORE
    return (BEFORE if begins else "") + "".join(words)


def conversions(task: Task, steps: Sequence[str]) -> list[str]:
    """`.. in min` of `6h=360min`, and sums as they are."""
    lines = left_sides(task, steps)
    units = [step.rpartition("=")[2].lstrip(DIGITS) for step in steps]
    return [line if "+" in line else f"{line} in {unit}" for line, unit in zip(lines, units, strict=True)]


def moves(task: Task, steps: Sequence[str]) -> list[str]:
    """What is done to an equation, line by line."""
    first, second = task.meta["left"], task.meta["right"]
    lines, left, right = unfold(first, second)
    opens = any(map(is_bracket, first + second))
    before = ["expand"] * opens + ["gather"] * (len(lines) - opens)
    plan = ["move x"] * (slope(right) != 0) + ["move number"] * (constant(left) != 0)
    return [*before, *plan, *["divide"] * (len(steps) - len(before) - len(plan))]


def statements(task: Task, steps: Sequence[str]) -> list[str]:
    return [*task.meta["program"], f"print {task.meta['print']}"]


PLANS: dict[str, Plan] = {
    "chain": left_sides,
    "countdown": left_sides,
    "bases": left_sides,
    "units": conversions,
    "lists": operations,
    "strings": operations,
    "clock": operations,
    "counting": operations,
    "modular": operations,
    "equation": moves,
    "trace": statements,
}
