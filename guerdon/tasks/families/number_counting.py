"""Counting: how many numbers of a range are such and such, their sum, or the largest or smallest of them."""

from __future__ import annotations

import random
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from functools import cache

from guerdon.core.part import knob, part
from guerdon.tasks.families.pipeline import DIGITS, NUMBER, Pipeline
from guerdon.tasks.family import Problem

# (conditions, largest number, most numbers that the first condition leaves) by level
LEVELS = ((1, 50, 6), (1, 99, 12), (2, 150, 12), (2, 300, 16), (2, 600, 24), (3, 600, 24), (3, 999, 32), (4, 1999, 40))
FEWEST = 2  # numbers that all conditions leave: to find one is not to count
HOW_MANY = "how many"
GOALS = (HOW_MANY, "sum", "largest", "smallest")
NONE = "none"  # no number at all; only wrong solutions give that
RANGE = re.compile(rf"({NUMBER}) to ({NUMBER})")


def digit_sum(n: int) -> int:
    return sum(map(int, str(n)))


def is_prime(n: int) -> bool:
    return n > 1 and all(n % d for d in range(2, int(n**0.5) + 1))


def _each(words: str, numbers: Sequence[int], holds: Callable[[int, int], bool]) -> dict[str, Callable[[int], bool]]:
    """A condition for each number that may stand in it."""
    return {f"{words} {k}": lambda n, k=k: holds(n, k) for k in numbers}  # type: ignore[misc]


# every condition there is, and whether a number meets it
CONDITIONS: dict[str, Callable[[int], bool]] = {
    **_each("divisible by", range(3, 31), lambda n, k: n % k == 0),
    **_each("not divisible by", range(2, 10), lambda n, k: n % k != 0),
    **_each("ends in", range(10), lambda n, k: n % 10 == k),
    **_each("has digit", range(1, 10), lambda n, k: str(k) in str(n)),
    **_each("no digit", range(1, 10), lambda n, k: str(k) not in str(n)),
    **_each("digit sum", range(3, 19), lambda n, k: digit_sum(n) == k),
    "even digit sum": lambda n: digit_sum(n) % 2 == 0,
    "odd digit sum": lambda n: digit_sum(n) % 2 == 1,
    "prime": is_prime,
    "square": lambda n: round(n**0.5) ** 2 == n,
    "palindrome": lambda n: str(n) == str(n)[::-1],
}


def kind_of(condition: str) -> str:
    """What a condition is about; a problem has no two of a kind."""
    return "digit sum" if "digit sum" in condition else condition.rstrip(DIGITS).strip()


KINDS = {kind: [one for one in CONDITIONS if kind_of(one) == kind] for kind in dict.fromkeys(map(kind_of, CONDITIONS))}


@part
class counting(Pipeline):
    """`counting 10 to 60: divisible by 7, even digit sum, how many`: of the numbers from 10 to 60, both among them, keep those
    that meet each condition; then say how many are left, their `sum`, or the `largest` or `smallest`.

    The solution lists what each condition leaves: `divisible by 7: 14 21 28 35 42 49 56`, `even digit sum: 28 35 42`,
    `how many: 3`, `= 3`. Conditions may be taken in any order. They are `divisible by 7`, `not divisible by 4`, `ends in 3`,
    `has digit 5`, `no digit 5`, `digit sum 9`, `even digit sum`, `odd digit sum`, `prime`, `square` and `palindrome`. A level
    has more conditions, larger numbers and longer lists: from one condition up to 50 to four up to 1999, where the first
    leaves at most 40 numbers.

    >>> import guerdon as gd
    >>> family = gd.tasks.counting(level=3)
    >>> problem = family.read_problem("counting 10 to 60: divisible by 7, even digit sum, how many")
    >>> problem.answer, family.read_problem("counting 10 to 60: divisible by 7, cheerful, how many")
    ('3', None)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        count = LEVELS[self.level - 1][0]
        while True:
            conditions = [draw.choice(KINDS[kind]) for kind in draw.sample(list(KINDS), count)]
            low, high = self._range(conditions[0], draw)
            if self._suits(low, high, conditions):
                return self.posed(f"{low} to {high}", [*conditions, draw.choice(GOALS)])

    def _range(self, first: str, draw: random.Random) -> tuple[int, int]:
        """A range in which the first condition leaves as many numbers as there is room for, or fewer."""
        _, top, longest = LEVELS[self.level - 1]
        numbers = kept(1, top, first)
        if len(numbers) < FEWEST:
            return 1, top  # which does not suit
        size = draw.randint(FEWEST, min(longest, len(numbers)))
        at = draw.randint(1, len(numbers) + 1 - size)
        around = [0, *numbers, top + 1]
        low = draw.randint(around[at - 1] + 1, around[at])
        return low, draw.randint(around[at + size - 1], around[at + size] - 1)

    def _suits(self, low: int, high: int, conditions: Sequence[str]) -> bool:
        """What the first condition leaves can be written down, and every other takes some away and leaves some."""
        left: Sequence[int] = kept(low, high, conditions[0])
        if not FEWEST <= len(left) <= min(LEVELS[self.level - 1][2], high - low):
            return False
        for condition in conditions[1:]:
            before, left = len(left), [n for n in left if n in members(condition)]
            if not FEWEST <= len(left) < before:
                return False
        return True

    def could_make(self, start: str, ops: list[str]) -> bool:
        count, top, _ = LEVELS[self.level - 1]
        match, conditions = RANGE.fullmatch(start), ops[:-1]
        if match is None or len(conditions) != count or ops[-1] not in GOALS or not set(conditions) <= set(CONDITIONS):
            return False
        low, high = int(match[1]), int(match[2])
        is_apart = len({kind_of(condition) for condition in conditions}) == count
        return is_apart and 1 <= low <= high <= top and self._suits(low, high, conditions)

    def canonical(self, problem: Problem) -> str:
        """Conditions in one order, with the numbers that they leave in place of the range: from 11 and from 14 on there are the
        same multiples of seven."""
        *conditions, goal = problem.meta["ops"]
        _, left = self.written(problem.meta["start"], conditions)
        return f"{left}: {', '.join(sorted(conditions))}, {goal}"

    def apply(self, value: str, op: str) -> str:
        match = RANGE.fullmatch(value)
        if op in CONDITIONS and match is not None:
            return " ".join(map(str, kept(int(match[1]), int(match[2]), op))) or NONE
        numbers = numbers_in(value)
        if op in CONDITIONS:
            return " ".join(str(n) for n in numbers if CONDITIONS[op](n)) or NONE
        if op in (HOW_MANY, "sum"):
            return str(len(numbers) if op == HOW_MANY else sum(numbers))
        return str(max(numbers) if op == "largest" else min(numbers)) if numbers else NONE

    def commute(self, one: str, other: str) -> bool:
        return one in CONDITIONS and other in CONDITIONS

    def slip(self, value: str, op: str, draw: random.Random) -> tuple[str, str]:
        before, right = numbers_in(value), self.apply(value, op)
        if op not in CONDITIONS:
            return self._misjudged(before, op, int(right), draw)
        left = numbers_in(right)
        others = sorted(set(before) - set(left))
        if others and (len(left) < FEWEST or draw.random() < 0.5):
            return "one too many", " ".join(map(str, sorted([*left, draw.choice(others)])))
        gone = draw.randrange(len(left))
        return "one passed over", " ".join(map(str, [*left[:gone], *left[gone + 1 :]])) or NONE

    def _misjudged(self, numbers: Sequence[int], goal: str, right: int, draw: random.Random) -> tuple[str, str]:
        """A wrong last line."""
        if goal in ("largest", "smallest") and len(numbers) > 1:
            ends = ("smallest taken for largest", min(numbers) if goal == "largest" else max(numbers))
            kind, wrong = draw.choice([ends, ("next to the end", sorted(numbers)[-2 if goal == "largest" else 1])])
            return kind, str(wrong)
        by = draw.choice([-1, 1] if goal == HOW_MANY else [-10, -1, 1, 10])
        return "miscounted" if goal == HOW_MANY else "sum is off", str(right + by if right + by > 0 else right + 1)


@cache
def every_number(condition: str) -> tuple[int, ...]:
    """All numbers that meet a condition, as far as problems go."""
    return tuple(n for n in range(1, LEVELS[-1][1] + 1) if CONDITIONS[condition](n))


@cache
def members(condition: str) -> frozenset[int]:
    return frozenset(every_number(condition))


def kept(low: int, high: int, condition: str) -> tuple[int, ...]:
    """The numbers of a range that meet a condition."""
    numbers = every_number(condition)
    return numbers[bisect_left(numbers, low) : bisect_right(numbers, high)]


def numbers_in(value: str) -> Sequence[int]:
    """The numbers that a range or a list names."""
    match = RANGE.fullmatch(value)
    if match is not None:
        return range(int(match[1]), int(match[2]) + 1)
    return [] if value == NONE else [int(word) for word in value.split()]
