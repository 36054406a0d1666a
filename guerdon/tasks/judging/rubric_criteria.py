"""Criteria that an attempt meets or not, each with exact truth: about its form, its answer, and whether it is right."""

from __future__ import annotations

import random
import re

from guerdon.core.task import Task
from guerdon.tasks.family import ANSWER, Family, read_solution
from guerdon.tasks.roles import marks

FOLLOWS, RIGHT = "every step follows", "the answer is right"
ENDS, ONCE, EVEN = "ends on an answer", "says no line twice", "the answer is even"
STEPS = re.compile("has at most ([0-9]{1,3}) steps?")
DIGITS = re.compile("the answer has ([0-9]{1,2}) digits?")
ABOUT_RIGHTNESS = {FOLLOWS, RIGHT}
WHOLE = re.compile("-?[0-9]+")


def holds(family: Family, task: Task, solution: str, criterion: str) -> bool:
    """Whether an attempt meets a criterion. What is asked of an answer that is not there does not hold."""
    steps, answer = read_solution(solution)
    number = answer if answer is not None and WHOLE.fullmatch(answer) else None
    if most := STEPS.fullmatch(criterion):
        return len(steps) <= int(most[1])
    if digits := DIGITS.fullmatch(criterion):
        return number is not None and len(number.lstrip("-")) == int(digits[1])
    if criterion == EVEN:
        return number is not None and number[-1] in "02468"
    if criterion == ONCE:
        return len(set(steps)) == len(steps)
    if criterion == ENDS:
        return answer is not None
    if criterion == RIGHT:
        return answer is not None and family.right(task, answer)
    assert criterion == FOLLOWS, criterion
    return len(marks(family, task, solution)) > len(steps)


def criteria_for(task: Task, solution: str, draw: random.Random) -> list[str]:
    """Two to four criteria in any order, at least one of them about rightness; those of numbers where answers are numbers."""
    steps, answer = read_solution(solution)
    most = max(1, len(steps) + draw.choice((-1, 0, 1)))
    others = [ENDS, ONCE, f"has at most {most} {'step' if most == 1 else 'steps'}"]
    if WHOLE.fullmatch(task.answer):
        length = len((answer or task.answer).lstrip("-"))
        digits = max(1, length + draw.choice((-1, 0, 0, 1)))
        others += [EVEN, f"the answer has {digits} {'digit' if digits == 1 else 'digits'}"]
    about = draw.choice(([FOLLOWS], [RIGHT], [FOLLOWS, RIGHT]))
    chosen = [*about, *draw.sample(others, draw.randint(1, 4 - len(about)))]
    draw.shuffle(chosen)
    return chosen


def varied(solution: str, draw: random.Random) -> str:
    """The attempt, one time in six without its answer and one in six with a line said twice, so that form matters."""
    lines, chance = solution.split("\n"), draw.random()
    if len(lines) < 2:
        return solution
    if chance < 1 / 6 and lines[-1].startswith(ANSWER):
        return "\n".join(lines[:-1])
    if chance < 1 / 3:
        at = draw.randrange(len(lines) - 1)
        return "\n".join([*lines[: at + 1], *lines[at:]])
    return solution
