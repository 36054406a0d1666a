"""Chained arithmetic: carry a number through a row of operations, from left to right."""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

NUMBER = "[1-9][0-9]?"


@part
class chain(Family):
    """`chain 7 +5 *3 -4`: start at 7 and do each in turn. Level n has n + 1 operations; numbers grow from level 4 on.

    >>> import guerdon as gd
    >>> family = gd.tasks.chain(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.first_wrong(problem, ["5*2=10", "10-3=6"])
    ('chain 5 *2 -3 -2', '5', 1)
    """

    level: int = knob(default=1, ge=1, le=8)

    @property
    def top(self) -> int:
        """The largest number to start from, add or take away."""
        return 9 if self.level < 4 else 20

    def make(self, draw: random.Random) -> Problem:
        top = self.top
        value = draw.randint(1, top)
        start, ops = value, []
        for _ in range(self.level + 1):
            sign = draw.choice([s for s in "+-*" if s != "*" or abs(value) <= 50])
            number = draw.randint(2, 5) if sign == "*" else draw.randint(1, top)
            ops.append(f"{sign}{number}")
            value = apply(value, ops[-1])
        return Problem(f"chain {start} {' '.join(ops)}", str(value), {"start": start, "ops": ops})

    def read_problem(self, prompt: str) -> Problem | None:
        match = re.fullmatch(f"chain ({NUMBER})((?: [-+*]{NUMBER}){{{self.level + 1}}})", prompt)
        top = self.top
        if match is None or not 1 <= int(match[1]) <= top:
            return None
        value, ops = int(match[1]), match[2].split()
        for op in ops:
            number = int(op[1:])
            fits = 2 <= number <= 5 and abs(value) <= 50 if op[0] == "*" else 1 <= number <= top
            if not fits:
                return None
            value = apply(value, op)
        return Problem(prompt, str(value), {"start": int(match[1]), "ops": ops})

    def canonical(self, problem: Problem) -> str:
        """What is added or taken away in a row may come in any order, and so may factors; the start is the first of them."""
        start, ops = problem.meta["start"], problem.meta["ops"]
        first = "*" if ops[0][0] == "*" else "+"
        rows = itertools.groupby([f"{first}{start}", *ops], key=lambda op: op[0] == "*")
        return " ".join(op for _, row in rows for op in sorted(row))

    def steps(self, task: Task) -> list[str]:
        return written(task.meta["start"], task.meta["ops"])

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        right = self.steps(task)
        for i, step in enumerate(steps):
            if i >= len(right) or step != right[i]:
                return i
        return None

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        start, ops = task.meta["start"], task.meta["ops"]
        right = self.steps(task)
        at = draw.randrange(len(ops))
        before = start if at == 0 else int(right[at - 1].split("=")[1])
        slipped = apply(before, ops[at]) + draw.choice([-1, 1])
        slip = [*right[:at], f"{before}{ops[at]}={slipped}", *written(slipped, ops[at + 1 :])]
        short = written(start, ops[:-1])
        return [
            NearMiss(write_solution(slip, slip[-1].split("=")[1]), "off by one", at),
            NearMiss(write_solution(short, short[-1].split("=")[1]), "last operation dropped", len(short)),
            NearMiss(write_solution(right, str(int(task.answer) + 10)), "answer miscopied", len(right)),
        ]


def apply(value: int, op: str) -> int:
    number = int(op[1:])
    return value + number if op[0] == "+" else value - number if op[0] == "-" else value * number


def written(value: int, ops: Sequence[str]) -> list[str]:
    """The steps of carrying `value` through `ops`."""
    lines = []
    for op in ops:
        lines.append(f"{value}{op}={apply(value, op)}")
        value = apply(value, op)
    return lines
