"""Addition and subtraction of long numbers, column by column from the right, with carries and borrows."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

STEP = re.compile(r"([0-9]{1,2}(?:[-+][0-9]{1,2}){1,3})=([0-9]{1,2})")


@part
class addition(Family):
    """`addition 4827+936` or `addition 805-97`: one column a step, the carry (`+1`) or the borrow (`-1`) last.

        7+6=13               15-7=8
        2+3+1=6              10-9-1=0
        8+9=17               8-0-1=7
        4+0+1=5
        = 5763               = 708

    The sum of a column is written whole; its last digit stays, its first is the carry. The terms of a column may come in
    any order, a 0 may be left out, and a borrow may be taken off the upper digit first (`9-9=0`). Level n has numbers of
    up to n + 1 digits, the second up to two digits shorter.

    >>> import guerdon as gd
    >>> family = gd.tasks.addition(level=1)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('addition 93-35', ['13-5=8', '9-3-1=5', '= 58'])
    """

    level: int = knob(default=1, ge=1, le=8)

    @property
    def digits(self) -> tuple[int, int]:
        """The digits of the longer number, and the fewest of the other."""
        return self.level + 1, max(1, self.level - 1)

    def make(self, draw: random.Random) -> Problem:
        digits, fewest = self.digits
        fewer = draw.randint(fewest, digits)
        one, other = number(digits, draw), number(fewer, draw)
        sign = draw.choice("+-")
        if other > one and (sign == "-" or draw.random() < 0.5):
            one, other = other, one
        return posed(one, sign, other)

    def read_problem(self, prompt: str) -> Problem | None:
        digits, fewest = self.digits
        one, other = f"[1-9][0-9]{{{digits - 1}}}", f"[1-9][0-9]{{{fewest - 1},{digits - 1}}}"
        match = re.fullmatch(f"addition ({one})([-+])({other})", prompt)
        if match is None or (match[2] == "-" and int(match[3]) > int(match[1])):
            return None
        return posed(int(match[1]), match[2], int(match[3]))

    def canonical(self, problem: Problem) -> str:
        one, sign, other = (problem.meta[name] for name in ("one", "sign", "other"))
        return f"{max(one, other)}{sign}{min(one, other)}"  # the smaller is never the first of a difference

    def steps(self, task: Task) -> list[str]:
        return work(task)[0]

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        right = self.steps(task)
        for i, step in enumerate(steps):
            if i >= len(right) or not same_column(step, right[i]):
                return i
        return None

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        right, sign = self.steps(task), task.meta["sign"]
        columns = range(len(right))
        carried = [i for i in columns if right[i].count("+") + right[i].count("-") > 1]
        plans = [("off by one", draw.choice(columns))]
        if carried:
            plans.append(("carry forgotten" if sign == "+" else "borrow forgotten", draw.choice(carried)))
        elif sign == "+":
            plans.append(("carry made up", draw.choice(columns)))
        if sign == "-":
            plans += [("smaller taken from larger", i) for i in columns if right[i][:2].isdigit()][:1]
        misses = []
        for kind, at in plans:
            lines, answer = work(task, kind, at)
            misses.append(NearMiss(write_solution(lines, answer), kind, at))
        swapped = swap(task.answer, draw)
        return [*misses, NearMiss(write_solution(right, swapped), "answer miscopied", len(right))]


def posed(one: int, sign: str, other: int) -> Problem:
    answer = one + other if sign == "+" else one - other
    return Problem(f"addition {one}{sign}{other}", str(answer), {"one": one, "sign": sign, "other": other})


def number(digits: int, draw: random.Random) -> int:
    return draw.randint(10 ** (digits - 1), 10**digits - 1)


def work(task: Task, slip: str = "", at: int = -1) -> tuple[list[str], str]:
    """The lines and the answer they give; the error `slip` is made in column `at`, counted from the right."""
    one, other = str(task.meta["one"])[::-1], str(task.meta["other"])[::-1]
    column = add_column if task.meta["sign"] == "+" else subtract_column
    lines, digits, carry = [], "", 0
    for i in range(max(len(one), len(other))):
        x, y = (int(text[i]) if i < len(text) else 0 for text in (one, other))
        line, digit, carry = column(x, y, carry, slip if i == at else "")
        lines.append(line)
        digits += str(digit)
    if carry and task.meta["sign"] == "+":
        digits += str(carry)
    return lines, digits[::-1].lstrip("0") or "0"


def add_column(x: int, y: int, carry: int, slip: str) -> tuple[str, int, int]:
    carry = {"carry forgotten": 0, "carry made up": 1}.get(slip, carry)
    total = x + y + carry
    if slip == "off by one":
        total += -1 if total > 9 else 1
    return f"{x}+{y}{'+1' * carry}={total}", total % 10, total // 10


def subtract_column(x: int, y: int, borrow: int, slip: str) -> tuple[str, int, int]:
    if slip == "smaller taken from larger":
        x, y = max(x, y), min(x, y)
    borrow = 0 if slip == "borrow forgotten" else borrow
    short = x - borrow < y
    digit = x - borrow - y + 10 * short
    if slip == "off by one":
        digit += -1 if digit > 4 else 1
    return f"{x + 10 * short}-{y}{'-1' * borrow}={digit}", digit, int(short)


def same_column(step: str, right: str) -> bool:
    """Whether a line says the same of its column as the right one, perhaps in other words."""
    read, known = STEP.fullmatch(step), STEP.fullmatch(right)
    if read is None or known is None or int(read[2]) != int(known[2]):
        return False
    terms, wanted = signed_terms(read[1]), signed_terms(known[1])
    first, *taken = (int(term) for term in re.findall("[0-9]+", right.partition("=")[0]))
    if "-" in right and len(taken) == 2:  # the borrow taken off the upper digit first
        return terms in (wanted, sorted(term for term in (first - 1, -taken[0]) if term))
    return terms == wanted


def signed_terms(text: str) -> list[int]:
    return sorted(term for term in map(int, re.findall("[-+]?[0-9]+", text)) if term)


def swap(answer: str, draw: random.Random) -> str:
    """The number with two neighbouring digits exchanged, or one digit changed where there are no two that differ."""
    places = [i for i in range(len(answer) - 1) if answer[i] != answer[i + 1] and (i or answer[1] != "0")]
    if places:
        i = draw.choice(places)
        return answer[:i] + answer[i + 1] + answer[i] + answer[i + 2 :]
    return answer[:-1] + str((int(answer[-1]) + 1) % 10)
