"""String operations: carry a word through reversals, rotations and exchanges of letters."""

from __future__ import annotations

import random

from guerdon.core.part import knob, part
from guerdon.tasks.families.pipeline import LETTERS, Pipeline, miscopy
from guerdon.tasks.family import Problem

# (letters in the word, operations, letters to choose from) by level
LEVELS = ((4, 1, 5), (4, 2, 5), (5, 3, 6), (5, 4, 6), (6, 4, 8), (7, 5, 8), (7, 6, 8), (8, 7, 10))
LONGEST = 10
NONE = "-"  # the empty word; only wrong solutions give one
SUMMARIES = ("count", "len")
KINDS = ("rev", "rot", "rot", "swap", "swap", "del", "dbl")  # the operations of a problem, as often as they come


@part
class strings(Pipeline):
    """`strings abca: rev, swap a b, dbl c, count c`: do each in turn.

    `rot 2` moves the first two letters to the end, `swap a b` exchanges every a with b and every b with a, `del a` deletes
    every a, `dbl a` writes every a twice; at the end there may be `count a` or `len`. The solution: `rev: acba`,
    `swap a b: bcab`, `dbl c: bccab`, `count c: 2`, `= 2`. Operations that may change places (`rev` and `swap a b`) may be
    done in either order. A level has longer words, more operations and more letters: from four letters and one operation
    to eight letters and seven operations.

    >>> import guerdon as gd
    >>> family = gd.tasks.strings(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('strings aeac: rev, dbl a', ['rev: caea', 'dbl a: caaeaa', '= caaeaa'])
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        length, count, kinds = LEVELS[self.level - 1]
        letters = LETTERS[:kinds]
        start = value = "".join(draw.choice(letters) for _ in range(length))
        has_summary = count > 2 and draw.random() < 0.3
        ops: list[str] = []
        while len(ops) + has_summary < count:
            op = draw.choice(operations(draw.choice(KINDS), value, letters))
            if self._suits(value, op, ops):
                ops.append(op)
                value = self.apply(value, op)
        if has_summary:
            ops.append(f"count {draw.choice(value)}" if draw.random() < 0.7 else "len")
        return self.posed(start, ops)

    def _suits(self, value: str, op: str, before: list[str]) -> bool:
        """Neither a word too short or too long, nor the same kind of operation twice in a row."""
        return 2 <= len(self.apply(value, op)) <= LONGEST and not (before and op[:3] == before[-1][:3])

    def could_make(self, start: str, ops: list[str]) -> bool:
        length, count, kinds = LEVELS[self.level - 1]
        letters = LETTERS[:kinds]
        if len(start) != length or not set(start) <= set(letters) or len(ops) != count:
            return False
        value = start
        for i, op in enumerate(ops):
            is_summary = 1 < i == count - 1 and op in ("len", *(f"count {letter}" for letter in value))
            known = op in operations(op.partition(" ")[0], value, letters)
            if not is_summary and not (known and self._suits(value, op, ops[:i])):
                return False
            value = self.apply(value, op)
        return True

    def apply(self, value: str, op: str) -> str:
        name, *arguments = op.split(" ")
        if name == "rev":
            return value[::-1]
        if name == "rot":
            at = int(arguments[0]) % len(value)
            return value[at:] + value[:at]
        if name == "len":
            return str(0 if value == NONE else len(value))
        letter = arguments[0]
        if name == "count":
            return str(value.count(letter))
        if name == "swap":
            return value.translate(str.maketrans(letter + arguments[1], arguments[1] + letter))
        return value.replace(letter, "" if name == "del" else letter * 2) or NONE

    def commute(self, one: str, other: str) -> bool:
        (first, *firsts), (second, *seconds) = sorted((one.split(" "), other.split(" ")))
        if first in SUMMARIES or second in SUMMARIES:
            return False
        if second == "swap":
            return first in ("rev", "rot") or not set(firsts) & set(seconds) or set(firsts) == set(seconds)
        if first in ("del", "dbl"):
            return second in ("del", "dbl", "rev")  # dbl a and del a leave no a either way round
        return first == second

    def slip(self, value: str, op: str, draw: random.Random) -> tuple[str, str]:
        name, *arguments = op.split(" ")
        right = self.apply(value, op)
        if name == "rev":
            kind, wrong = "not reversed", value
        elif name == "rot":
            kind, wrong = "rotated the wrong way", self.apply(value, f"rot -{arguments[0]}")
        elif name == "swap":
            kind, wrong = "swapped one way only", value.replace(arguments[0], arguments[1])
        elif name in ("del", "dbl"):
            double = "" if name == "del" else arguments[0] * 2
            kind, wrong = "first one only", value.replace(arguments[0], double, 1) or NONE
        else:
            kind, wrong = "off by one", str(int(right) + 1)
        if wrong not in (right, NONE):
            return kind, wrong
        return "letter miscopied", draw.choice(LETTERS) if right == NONE else miscopy(right, draw)


def operations(kind: str, value: str, letters: str) -> list[str]:
    """What may be done with a word, of one kind; nothing when there is no such kind."""
    if kind == "rev":
        return ["rev"]
    if kind == "rot":
        return [f"rot {n}" for n in range(1, min(4, len(value)))]
    if kind == "swap":
        return [f"swap {one} {other}" for one in value for other in letters if one != other]
    return [f"{kind} {letter}" for letter in value] if kind in ("del", "dbl") else []
