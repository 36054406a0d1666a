"""The parts a model can be asked to play besides solving, each with its question, its exact truth and how to read a reply.

A judge thinks before it speaks: it goes through a solution line by line, writes each as it should be
with `+` (so it is) or `-` (so it is not, and there it stops), then says its verdict.
One who proposes a problem works it out first.
Truth comes from the family's step checker, so every reply of every role can be checked.
Leaves out: roles that say more than a verdict (`judging/judge_roles.py`), and the table of all (`role_tasks.py`).
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence

from guerdon.core.task import Task
from guerdon.tasks.family import ANSWER, Family, read_solution, write_solution
from guerdon.tasks.judging.redoing import redone

CALL = re.compile(r"call (-?[0-9]{1,12})([-+*])([0-9]{1,12})")

Turns = list[tuple[str, str]]  # what is shown and what should be said, turn by turn


# --- questions ----------------------------------------------------------------------------------------------------


def verify_view(prompt: str, solution: str) -> str:
    return f"verify\n{prompt}\n{solution}"


def score_view(prompt: str, solution: str) -> str:
    return f"score\n{prompt}\n{solution}"


def prefer_view(prompt: str, first: str, second: str) -> str:
    return f"prefer\n{prompt}\na\n{first}\nb\n{second}"


def revise_view(prompt: str, solution: str) -> str:
    return f"revise\n{prompt}\n{solution}"


def propose_view(family: str, level: int | str) -> str:
    return f"propose {family} {level}"


def tool_view(prompt: str) -> str:
    return f"tool\n{prompt}"


# --- truth --------------------------------------------------------------------------------------------------------


def marks(family: Family, task: Task, solution: str) -> str:
    """`+` for every line that follows, `-` at the first that does not; the last mark is the answer's."""
    steps, answer = read_solution(solution)
    wrong = first_wrong(family, task, steps)
    if wrong is not None:
        return "+" * wrong + "-"
    return "+" * len(steps) + ("+" if answer is not None and family.right(task, answer) else "-")


def first_wrong(family: Family, task: Task, steps: Sequence[str]) -> int | None:
    """The family's own, way by way where a solution may search: the next way begins after the end of one."""
    if not hasattr(family, "searched"):
        return family.first_wrong(task, steps)
    way = len(family.steps(task))
    errors = ((at, family.first_wrong(task, steps[at : at + way])) for at in range(0, len(steps), way))
    return next((at + wrong for at, wrong in errors if wrong is not None), None)


def checked(family: Family, task: Task, solution: str) -> str:
    """A solution as a judge goes through it (`judging/redoing.py`): `7+5=12 +`, up to the first line that is wrong, which it
    writes as it should be. An answer that never comes is a `?`."""
    return "\n".join(redone(family, task, solution, marks(family, task, solution)))


def verdict(family: Family, task: Task, solution: str) -> str:
    """A solution gone through, then `yes` or `no`."""
    seen = checked(family, task, solution)
    return f"{seen}\n{ANSWER}{'no' if seen.endswith('-') else 'yes'}"


def grade(family: Family, task: Task, solution: str) -> int:
    """5 for a right solution; else 1 to 4 by the share of a worked solution it got right before its first error."""
    seen = marks(family, task, solution)
    if not seen.endswith("-"):
        return 5
    return 1 + min(3, (len(seen) - 1) * 4 // (len(family.steps(task)) + 1))


def graded(family: Family, task: Task, solution: str) -> str:
    return f"{checked(family, task, solution)}\n{ANSWER}{grade(family, task, solution)}"


def preferred(family: Family, task: Task, first: str, second: str) -> str:
    """The better of two: the right one, else the one that was right for longer. Where the first is wrong, the second is gone
    through from where they part as far as the first was: if it is still right there, it is better."""
    seen = marks(family, task, first), marks(family, task, second)
    better = 0 if _merit(seen[0]) >= _merit(seen[1]) else 1
    lines = redone(family, task, first, seen[0])
    if seen[0].endswith("-"):
        lines += ["b", *redone(family, task, second, seen[1][: len(seen[0])], _common(first, second))]
    return "\n".join([*lines, ANSWER + "ab"[better]])


def _common(first: str, second: str) -> int:
    """How many steps two solutions begin with alike."""
    pairs = zip(read_solution(first)[0], read_solution(second)[0], strict=False)
    return sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))


def _merit(seen: str) -> tuple[bool, int]:
    return not seen.endswith("-"), len(seen)


# --- reading replies ----------------------------------------------------------------------------------------------


def said(reply: str, allowed: Sequence[str]) -> str | None:
    """The word a judge's last line says, None unless it is one of those allowed."""
    _, answer = read_solution(reply)
    return answer if answer in allowed else None


def proposal(reply: str) -> str | None:
    """The problem that one who was asked for a problem ends on."""
    return read_solution(reply)[1]


def tool_call(reply: str) -> tuple[int, str, int] | None:
    """The numbers and the sign of a call such as `call 12*7`; None when it is not well formed."""
    match = CALL.fullmatch(reply.strip())
    return None if match is None else (int(match[1]), match[2], int(match[3]))


def tool_result(call: tuple[int, str, int]) -> str:
    left, sign, right = call
    return str(left + right if sign == "+" else left - right if sign == "-" else left * right)


# --- conversations to learn from ----------------------------------------------------------------------------------


def attempt(family: Family, task: Task, draw: random.Random) -> str:
    """A given solution: right as often as wrong, wrong in one of the ways its family knows."""
    if draw.random() < 0.5:
        return family.solution(task)
    return draw.choice(family.near_misses(task, draw)).text


def solve(family: Family, task: Task, draw: random.Random) -> Turns:
    return [(task.prompt, family.solution(task))]


def verify_of(family: Family, task: Task, solution: str, draw: random.Random) -> Turns:
    return [(verify_view(task.prompt, solution), verdict(family, task, solution))]


def score_of(family: Family, task: Task, solution: str, draw: random.Random) -> Turns:
    return [(score_view(task.prompt, solution), graded(family, task, solution))]


def verify(family: Family, task: Task, draw: random.Random) -> Turns:
    return verify_of(family, task, attempt(family, task, draw), draw)


def score(family: Family, task: Task, draw: random.Random) -> Turns:
    return score_of(family, task, attempt(family, task, draw), draw)


def prefer(family: Family, task: Task, draw: random.Random) -> Turns:
    """A right solution against a wrong one, on either side."""
    pair = [family.solution(task), draw.choice(family.near_misses(task, draw)).text]
    draw.shuffle(pair)
    return [(prefer_view(task.prompt, *pair), preferred(family, task, *pair))]


def revise(family: Family, task: Task, draw: random.Random) -> Turns:
    return [(revise_view(task.prompt, draw.choice(family.near_misses(task, draw)).text), family.solution(task))]


def propose(family: Family, task: Task, draw: random.Random) -> Turns:
    """Steps first, then the problem they belong to: what is worked out beforehand can be solved."""
    return [(propose_view(family.name, family.level), write_solution(family.steps(task), task.prompt))]


def tool(family: Family, task: Task, draw: random.Random) -> Turns:
    """Every step that is one sum or product is a call; what comes back is shown, and the last word is the answer."""
    turns: Turns = []
    shown = tool_view(task.prompt)
    for step in family.steps(task):
        call = f"call {step.partition('=')[0]}"
        read = tool_call(call)
        if read is None:
            return [(task.prompt, family.solution(task))]
        turns.append((shown, call))
        shown = tool_result(read)
    return [*turns, (shown, ANSWER + task.answer)]
