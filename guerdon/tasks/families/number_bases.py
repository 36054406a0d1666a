"""Base conversion: numbers written in bases 2 to 10, by repeated multiplication and repeated division."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.families.pipeline import add_terms, first_difference, miscopy
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# (smallest number, largest number, most digits in any base, share of problems between two bases other than ten) by level
LEVELS = (
    (5, 30, 4, 0.0),
    (10, 150, 5, 0.0),
    (50, 300, 6, 0.1),
    (80, 500, 6, 0.3),
    (100, 800, 6, 0.5),
    (200, 2000, 6, 0.7),
    (500, 5000, 7, 0.8),
    (1000, 9999, 7, 1.0),
)


@part
class bases(Family):
    """`bases 213 from 4 to 5`: the same number in another base.

    To ten by multiplying up from the first digit, from ten by dividing down, remainders read from the last to the first:
    `2*4+1=9`, `9*4+3=39`, `39/5=7 r 4`, `7/5=1 r 2`, `1/5=0 r 1`, `= 124`. To ten one may also go by powers in any order:
    `3*1=3`, `2*16=32`, `1*4=4`, `32+4+3=39`. A level has larger numbers, and more often both halves of the work: from
    numbers up to 30 to or from ten, to numbers of four digits between two other bases.

    >>> import guerdon as gd
    >>> family = gd.tasks.bases(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('bases 21 from 10 to 4', ['21/4=5 r 1', '5/4=1 r 1', '1/4=0 r 1', '= 111'])
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        low, high, most, both = LEVELS[self.level - 1]
        value = draw.randint(low, high)
        source, target = draw.sample([base for base in range(2, 10) if base <= value < base**most], 2)
        if draw.random() >= both:
            source, target = draw.choice(((10, target), (source, 10)))
        return posed(value, source, target)

    def read_problem(self, prompt: str) -> Problem | None:
        low, high, most, both = LEVELS[self.level - 1]
        match = re.fullmatch(r"bases ([0-9]{1,9}) from ([2-9]|10) to ([2-9]|10)", prompt)
        if match is None or match[1][0] == "0" or match[2] == match[3]:
            return None
        source, target = int(match[2]), int(match[3])
        if any(int(digit) >= source for digit in match[1]):
            return None
        value = int(match[1], source)
        small = all(base <= value < base**most for base in (source, target) if base != 10)
        if not small or not low <= value <= high or (both == 0.0 and 10 not in (source, target)):
            return None
        if both == 1.0 and 10 in (source, target):
            return None
        return posed(value, source, target)

    def steps(self, task: Task) -> list[str]:
        return written(task.meta["digits"], task.meta["from"], task.meta["to"])[0]

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        digits, source, target = task.meta["digits"], task.meta["from"], task.meta["to"]
        right = self.steps(task)
        if source == 10 or not steps or steps[0] == right[0]:
            return first_difference(steps, right)
        return first_wrong_by_powers(steps, digits, source, target)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        digits, source, target = task.meta["digits"], task.meta["from"], task.meta["to"]
        right = self.steps(task)
        at = draw.randrange(len(right))
        slipped, result = written(digits, source, target, slip_at=at)
        misses = [
            NearMiss(write_solution(slipped, result), "off by one", at),
            NearMiss(write_solution(right, miscopy(task.answer, draw)), "answer miscopied", len(right)),
        ]
        mistaken = (source, neighbour(target)) if source == 10 else (neighbour(source), target)
        lines, result = written(digits, *mistaken)
        misses.append(NearMiss(write_solution(lines, result), "wrong base", 0))
        if target != 10:
            misses.append(NearMiss(write_solution(right, task.answer[::-1]), "digits backwards", len(right)))
            misses.append(NearMiss(write_solution(right[:-1], task.answer[1:]), "last step forgotten", len(right) - 1))
        elif len(right) > 1:
            before = right[-2].rpartition("=")[2]
            misses.append(NearMiss(write_solution(right[:-1], before), "last step forgotten", len(right) - 1))
        return misses


def posed(value: int, source: int, target: int) -> Problem:
    digits = write_in(value, source)
    prompt = f"bases {digits} from {source} to {target}"
    return Problem(prompt, write_in(value, target), {"digits": digits, "from": source, "to": target})


def write_in(value: int, base: int) -> str:
    digits = ""
    while value:
        value, rest = divmod(value, base)
        digits = str(rest) + digits
    return digits or "0"


def neighbour(base: int) -> int:
    return base + 1 if base < 9 else 8


def written(digits: str, source: int, target: int, slip_at: int = -1) -> tuple[list[str], str]:
    """The lines of taking `digits` from one base to another, and the result; line `slip_at` comes out one off."""
    lines: list[str] = []
    value = int(digits) if source == 10 else int(digits[0])
    for digit in digits[1:] if source != 10 else "":
        after = value * source + int(digit) + (len(lines) == slip_at)
        lines.append(f"{value}*{source}+{digit}={after}")
        value = after
    if target == 10:
        return lines, str(value)
    result = ""
    while value:
        after, rest = divmod(value, target)
        rest = (rest + (len(lines) == slip_at)) % target
        lines.append(f"{value}/{target}={after} r {rest}")
        value, result = after, str(rest) + result
    return lines, result


def first_wrong_by_powers(steps: Sequence[str], digits: str, source: int, target: int) -> int | None:
    """The first wrong step of a solution that goes to ten by powers: digits in any order, sums in any order. Digits that
    are 0 may be passed over. When one number is left and it is all there, divisions follow."""
    value = int(digits, source)
    powers = {}
    for i, digit in enumerate(reversed(digits)):
        powers[f"{digit}*{source**i}={int(digit) * source**i}"] = str(int(digit) * source**i)
    terms: Counter[str] = Counter()
    for i, step in enumerate(steps):
        if step in powers:
            terms[powers.pop(step)] += 1
        elif not add_terms(step, terms):
            if terms[str(value)] != 1 or target == 10:
                return i
            wrong = first_difference(steps[i:], written(str(value), 10, target)[0])
            return None if wrong is None else i + wrong
    return None
