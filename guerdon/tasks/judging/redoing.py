"""A judge that redoes the work: it writes each line as it should be and then says whether the attempt has it so.

`7+5=12 +` where the attempt says the same; where it first does not, the right line and `-`, and there the judge stops. So what
a judge says is never copied from a wrong line, and all of it is worked out. Lines without a mark are its side work.
Where an attempt answers before its work is done, the judge does the rest.
Where it went a way of its own and a right line is not known, the attempt's line stands with its `-`.
"""

from __future__ import annotations

from collections.abc import Sequence

from guerdon.core.task import Task
from guerdon.tasks.family import ANSWER, Family, read_solution
from guerdon.tasks.judging.right_lines import made, onward, right_line
from guerdon.tasks.judging.side_work import expression_moves, side_work


def redone(family: Family, task: Task, solution: str, marks: str, seen: int = 0) -> list[str]:
    """The lines of a judge of `solution` that gives these `marks` (`+` for a line that follows, `-` for one that does not).
    It passes over as many lines as it has `seen` before."""
    steps, answer = read_solution(solution)
    lines: list[str] = []
    for i, mark in list(enumerate(marks))[seen:]:
        before = steps[:i]
        if i == len(steps):
            lines += _answered(family, task, before, answer, mark)
        else:
            line = steps[i] if mark == "+" else right_line(family, task, before, steps[i])
            lines += [*_worked(family, task, before, line, mark), f"{line} {mark}"]
    return lines


def _worked(family: Family, task: Task, before: Sequence[str], line: str, mark: str) -> list[str]:
    follows = mark == "+" or line.startswith(ANSWER) or family.first_wrong(task, [*before, line]) is None
    return side_work(family, task, before, line) if follows else []


def _answered(family: Family, task: Task, steps: Sequence[str], answer: str | None, mark: str) -> list[str]:
    """The line of the answer, with the work that the attempt passed over."""
    if answer is None:
        return [f"? {mark}"]
    if family.name == "countdown":
        moves = expression_moves(answer)
        told = [step.partition(" left")[0] for step in steps]
        return [*([] if told[-len(moves) :] == moves else moves), f"{made(task, answer)} {mark}"]
    done, lines = list(steps), list[str]()
    for line in onward(family, task, steps) or ():
        lines += [*side_work(family, task, done, line), line]
        done.append(line)
    return [*lines, *side_work(family, task, done, ANSWER + task.answer), f"{ANSWER}{task.answer} {mark}"]
