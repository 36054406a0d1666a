"""List operations: carry a list of numbers through reversals, rotations, sums and the like."""

from __future__ import annotations

import random
import re

from guerdon.core.part import knob, part
from guerdon.tasks.families.pipeline import NUMBER, Pipeline
from guerdon.tasks.family import Problem

# (numbers in the list, operations, largest number at the start) by level
LEVELS = ((3, 1, 9), (4, 2, 9), (4, 3, 9), (5, 3, 20), (5, 4, 20), (6, 4, 30), (6, 5, 40), (7, 6, 50))
LARGEST = 99  # no number in a list grows beyond it
NONE = "none"  # an empty list; only wrong solutions give one
SUMMARIES = ("sum", "max", "min", "len")
KINDS = ("rev", "rot", "take", "skip", "odds", "evens", "+", "+", "*")  # all other operations, as often as they come
CHANGES = {"+", "*"}
FILTERS = {"odds", "evens"}
# kinds of operation that may change places whatever the list: each on the left with each on the right
FREE = {
    frozenset((one, other))
    for ones, others in (
        ("+ *", "rev rot take skip max min"),
        ("*", "sum"),
        ("odds evens", "rev"),
        ("odds", "evens"),
        ("rev rot", "sum max min len"),
    )
    for one in ones.split()
    for other in others.split()
}


@part
class lists(Pipeline):
    """`lists 3 1 4 8: rev, +2, take 3, sum`: do each in turn.

    `rot 2` moves the first two to the end, `take 3` keeps the first three, `skip 1` leaves out the first, `odds` keeps odd
    numbers and `evens` even ones, `+2` and `*2` change every number; at the end there may be `sum`, `max`, `min` or `len`.
    The solution: `rev: 8 4 1 3`, `+2: 10 6 3 5`, `take 3: 10 6 3`, `sum: 19`, `= 19`. Operations that may change places
    (`rev` and `+2`) may be done in either order. A level has longer lists, more operations and larger numbers: from three
    digits and one operation to seven numbers up to 50 and six operations.

    >>> import guerdon as gd
    >>> family = gd.tasks.lists(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('lists 1 1 4 9: +2, odds', ['+2: 3 3 6 11', 'odds: 3 3 11', '= 3 3 11'])
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        length, count, top = LEVELS[self.level - 1]
        start = value = " ".join(str(draw.randint(1, top)) for _ in range(length))
        summary = [draw.choice(SUMMARIES)] if count > 1 and draw.random() < 0.5 else []
        ops: list[str] = []
        while len(ops) + len(summary) < count:
            op = draw.choice(operations(draw.choice(KINDS), value))
            if self._suits(value, op, ops):
                ops.append(op)
                value = self.apply(value, op)
        return self.posed(start, ops + summary)

    def _suits(self, value: str, op: str, before: list[str]) -> bool:
        """The same kind twice in a row, a list of one, or large numbers make a dull or an unfairly hard problem."""
        after = self.apply(value, op)
        repeats = bool(before) and word(op) == word(before[-1])
        return not repeats and " " in after and max(map(int, after.split())) <= LARGEST

    def could_make(self, start: str, ops: list[str]) -> bool:
        length, count, top = LEVELS[self.level - 1]
        if not re.fullmatch(rf"{NUMBER}(?: {NUMBER}){{{length - 1}}}", start) or len(ops) != count:
            return False
        if not all(1 <= int(x) <= top for x in start.split()):
            return False
        value = start
        for i, op in enumerate(ops):
            is_summary = 0 < i == count - 1 and op in SUMMARIES
            if not is_summary and (op not in operations(word(op), value) or not self._suits(value, op, ops[:i])):
                return False
            value = self.apply(value, op)
        return True

    def apply(self, value: str, op: str) -> str:
        numbers = [] if value == NONE else [int(x) for x in value.split()]
        done = operate(numbers, op)
        return " ".join(map(str, done)) or NONE

    def commute(self, one: str, other: str) -> bool:
        kinds = frozenset((word(one), word(other)))
        if kinds & CHANGES and kinds & FILTERS:
            change = one if word(one) in CHANGES else other
            return int(change[1:]) % 2 == (change[0] == "*")  # keeps odd numbers odd and even ones even
        return len(kinds) == 1 or kinds in FREE

    def slip(self, value: str, op: str, draw: random.Random) -> tuple[str, str]:
        name, _, number = op.partition(" ")
        right = self.apply(value, op)
        typical = {
            "rot": ("rotated the wrong way", f"rot -{number}"),
            "take": ("one too many", f"take {int(number or 0) + 1}"),
            "skip": ("one too many", f"skip {int(number or 0) + 1}"),
            "odds": ("odd taken for even", "evens"),
            "evens": ("odd taken for even", "odds"),
            "max": ("smallest taken for largest", "min"),
            "min": ("smallest taken for largest", "max"),
        }
        if name in typical:
            kind, instead = typical[name]
            wrong = self.apply(value, instead)
            if wrong not in (right, NONE):
                return kind, wrong
        numbers = [0] if right == NONE else [int(x) for x in right.split()]
        numbers[draw.randrange(len(numbers))] += 1
        return "off by one", " ".join(map(str, numbers))


def word(op: str) -> str:
    """What kind of operation it is: its first word, or its sign."""
    return op[0] if op[:1] in CHANGES else op.partition(" ")[0]


def operations(kind: str, value: str) -> list[str]:
    """What may be done with a list, of one kind; nothing when there is no such kind."""
    if kind in ("rot", "take", "skip"):
        return [f"{kind} {n}" for n in range(1, max(2, value.count(" ") + 1))]
    if kind in CHANGES:
        return [f"{kind}{n}" for n in (range(1, 10) if kind == "+" else (2, 3))]
    return [kind] if kind in KINDS else []


def operate(numbers: list[int], op: str) -> list[int]:
    """One operation on a list; a summary is a list of one."""
    name, _, argument = op.partition(" ")
    if op[0] in CHANGES:
        amount = int(op[1:])
        return [x + amount if op[0] == "+" else x * amount for x in numbers]
    if name in FILTERS:
        return [x for x in numbers if x % 2 == (name == "odds")]
    if name in SUMMARIES:
        if name in ("sum", "len"):
            return [sum(numbers) if name == "sum" else len(numbers)]
        return [max(numbers, default=0) if name == "max" else min(numbers, default=0)]
    if name == "rev":
        return numbers[::-1]
    count = int(argument)
    if name == "rot":
        at = count % max(1, len(numbers))
        return numbers[at:] + numbers[:at]
    return numbers[:count] if name == "take" else numbers[count:]
