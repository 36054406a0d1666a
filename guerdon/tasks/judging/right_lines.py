"""The line that should stand where an attempt went wrong, and the lines that lead from there to the answer.

As long as an attempt follows the worked solution, that is continued. Families in which lines may come in another order or
in other words continue from the results of those lines.
Nothing is said that the family's own step checker does not accept: where no way on is known, there is none.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from guerdon.core.task import Task
from guerdon.tasks.families.arithmetic import linear
from guerdon.tasks.families.boolean_expressions import read, worked
from guerdon.tasks.families.countdown_search import STEP, calculate, take
from guerdon.tasks.families.linear_equations import finish, plain
from guerdon.tasks.families.pipeline import Pipeline, add_terms
from guerdon.tasks.families.unit_conversion import convert_term, written
from guerdon.tasks.family import ANSWER, Family


def right_line(family: Family, task: Task, before: Sequence[str], line: str) -> str:
    """What should stand where `line` is wrong, after lines that are right; `line` itself where that is not known."""
    if family.name == "countdown":
        return mended_move(task, before, line)
    rest = onward(family, task, before)
    if rest is None:
        return line
    return rest[0] if rest else ANSWER + task.answer


def onward(family: Family, task: Task, before: Sequence[str]) -> list[str] | None:
    """The lines that are left after lines that are right, up to the answer; None where they are not known."""
    steps = family.steps(task)
    if list(before) == steps[: len(before)]:
        return steps[len(before) :]
    rest: list[str] | None
    if isinstance(family, Pipeline):
        rest = _operations_left(family, task, before)
    elif family.name in OWN_WAYS:
        rest = OWN_WAYS[family.name](task, before)
    else:  # as many lines as there should be, only in other words
        rest = steps[len(before) :]
    accepted = rest is not None and family.first_wrong(task, [*before, *rest]) is None
    return rest if accepted else None


def _operations_left(family: Pipeline, task: Task, before: Sequence[str]) -> list[str]:
    left, value = list(task.meta["ops"]), str(task.meta["start"])
    for line in before:
        op, _, value = line.partition(": ")
        left.remove(op)
    return family.written(value, left)[0]


def _terms_left(task: Task, before: Sequence[str]) -> list[str]:
    return written(terms_at_hand(task, before), task.meta["to"])[0]


def terms_at_hand(task: Task, before: Sequence[str]) -> list[str]:
    """What is still to be added up in a conversion of units, after lines that are right."""
    terms = Counter(task.meta["terms"])
    for line in before:
        assert convert_term(line, terms, task.meta["to"]) or add_terms(line, terms), "lines before are right"
    return list(terms.elements())


def _expression_left(task: Task, before: Sequence[str]) -> list[str] | None:
    node = read(before[-1])
    return None if node is None else worked(node)


def _equation_left(task: Task, before: Sequence[str]) -> list[str] | None:
    sides = [linear(side, "x") for side in before[-1].split("=")]
    numbers = [number for side in sides if side is not None for number in side]
    if len(numbers) != 4 or any(number.denominator != 1 for number in numbers):
        return None
    a, b, c, d = map(int, numbers)
    lines = finish(plain(a, b), plain(c, d))[0]
    return lines[1:] if lines[:1] == [before[-1]] else lines


OWN_WAYS = {"units": _terms_left, "boolean": _expression_left, "equation": _equation_left}


# --- countdown, where only a sum can be corrected ------------------------------------------------------------------


def mended_move(task: Task, before: Sequence[str], line: str) -> str:
    """The same sum with its result, or the numbers at hand where it is not a sum of two of them."""
    hand = numbers_at_hand(task, before)
    pool, move = list(hand), STEP.fullmatch(line)
    if move is None or not take(pool, int(move[1]), int(move[3])) or (move[2] == "/" and int(move[3]) == 0):
        return f"left {' '.join(map(str, hand))}"
    a, sign, b = int(move[1]), move[2], int(move[3])
    result = calculate(a, sign, b)
    if result is None:
        return f"{a}{sign}{b}={a // b} r {a % b}"
    left = f" left {' '.join(map(str, [*pool, result]))}" if move[5] is not None else ""
    return f"{a}{sign}{b}={result}{left}"


def numbers_at_hand(task: Task, before: Sequence[str]) -> list[int]:
    """The numbers that are left after lines that are right; a way that is gone to its end leaves those that were given."""
    pool: list[int] = list(task.meta["numbers"])
    way = len(pool) - 1
    for line in before[len(before) - len(before) % way :]:
        move = STEP.fullmatch(line)
        assert move is not None and take(pool, int(move[1]), int(move[3])), "lines before are right"
        pool.append(int(move[4]))
    return pool


def made(task: Task, answer: str) -> str:
    """The problem that an expression solves: `6 7 5 make 4`, its numbers in the order in which they were given."""
    used = Counter(map(int, re.findall("[0-9]+", answer)))
    given = [number for number in task.meta["numbers"] if _count_down(used, number)]
    value = linear(answer)
    said = " ".join(map(str, [*given, *used.elements()]))
    return f"{said} make {'?' if value is None else value[1]}"


def _count_down(counts: Counter[int], number: int) -> bool:
    is_there = counts[number] > 0
    counts[number] -= is_there
    return is_there
