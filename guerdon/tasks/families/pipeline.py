"""What several families share: values carried through a row of operations, sums in any order, slips of the pen.

A `Pipeline` family says what one operation does and which operations may change places;
its steps, its step checker and its near-misses follow from that.
Step checkers here build the lines that would be right and compare text with them:
no step that a model wrote is ever parsed, so nothing it writes can make them fail.
"""

from __future__ import annotations

import abc
import random
from collections import Counter
from collections.abc import Sequence

from guerdon.core.task import Task
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

DIGITS = "0123456789"
LETTERS = "abcdefghij"
NUMBER = "(?:0|[1-9][0-9]{0,4})"  # a number as problems write it; no family has longer ones in its prompts


class Pipeline(Family):
    """Carry a value through operations from left to right, a line `operation: value` each. Values are text."""

    @abc.abstractmethod
    def apply(self, value: str, op: str) -> str:
        """The value after one operation; any value that operations made will do, also one from a wrong solution."""

    @abc.abstractmethod
    def commute(self, one: str, other: str) -> bool:
        """Whether two different operations may change places whatever the value is."""

    @abc.abstractmethod
    def slip(self, value: str, op: str, draw: random.Random) -> tuple[str, str]:
        """A typical error in one operation: its kind, and a result that is not the right one."""

    def miscopied(self, answer: str, draw: random.Random) -> str:
        return miscopy(answer, draw)

    @abc.abstractmethod
    def could_make(self, start: str, ops: list[str]) -> bool:
        """Whether a problem of this level may look like that; both are any text at all."""

    def posed(self, start: str, ops: list[str]) -> Problem:
        value = start
        for op in ops:
            value = self.apply(value, op)
        return Problem(f"{self.name} {start}: {', '.join(ops)}", value, {"start": start, "ops": ops})

    def read_problem(self, prompt: str) -> Problem | None:
        start, _, row = prompt.removeprefix(f"{self.name} ").partition(": ")
        ops = row.split(", ")
        if prompt != f"{self.name} {start}: {row}" or not self.could_make(start, ops):
            return None
        return self.posed(start, ops)

    def canonical(self, problem: Problem) -> str:
        """Operations that may change places stand in one order: of those that may go first the smallest, again and again."""
        start, left = problem.meta["start"], list(problem.meta["ops"])
        ops = []
        while left:
            ops.append(min(op for at, op in enumerate(left) if self._may_go_first(op, left[:at])))
            left.remove(ops[-1])
        return f"{start}: {', '.join(ops)}"

    def steps(self, task: Task) -> list[str]:
        return self.written(task.meta["start"], task.meta["ops"])[0]

    def written(self, value: str, ops: Sequence[str]) -> tuple[list[str], str]:
        """The lines of carrying `value` through `ops`, and where it ends."""
        lines = []
        for op in ops:
            value = self.apply(value, op)
            lines.append(f"{op}: {value}")
        return lines, value

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        """An operation may be done early when it may change places with all those still to do before it."""
        value, left = task.meta["start"], list(task.meta["ops"])
        for i, step in enumerate(steps):
            for at, op in enumerate(left):
                if self._may_go_first(op, left[:at]) and step == f"{op}: {self.apply(value, op)}":
                    value = self.apply(value, left.pop(at))
                    break
            else:
                return i
        return None

    def _may_go_first(self, op: str, others: Sequence[str]) -> bool:
        return all(op == other or self.commute(op, other) for other in others)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        start, ops = task.meta["start"], task.meta["ops"]
        right = self.steps(task)
        slips = (self._slipped(task, at, draw) for at in (draw.randrange(len(ops)), len(ops) - 1))
        # a slip in the last operation never comes out right, one before it may be undone by what follows
        misses = [next(miss for miss in slips if self.check(task, miss.text) == 0.0)]
        misses.append(
            NearMiss(write_solution(right, self.miscopied(task.answer, draw)), "answer miscopied", len(right))
        )
        if len(ops) > 1:
            misses.append(self._dropped(start, ops, draw.randrange(len(ops))))
        once = [i for i, op in enumerate(ops[:-1] or ops) if ops.count(op) == 1]
        if once:
            at = draw.choice(once)
            lines, value = self.written(start, [*ops[: at + 1], *ops[at:]])
            misses.append(NearMiss(write_solution(lines, value), "operation done twice", at + 1))
        clashes = [i for i in range(len(ops) - 1) if not self._may_go_first(ops[i + 1], [ops[i]])]
        if clashes:
            at = draw.choice(clashes)
            lines, value = self.written(start, [*ops[:at], ops[at + 1], ops[at], *ops[at + 2 :]])
            misses.append(NearMiss(write_solution(lines, value), "wrong order of operations", at))
        return misses

    def _slipped(self, task: Task, at: int, draw: random.Random) -> NearMiss:
        ops = task.meta["ops"]
        lines, value = self.written(task.meta["start"], ops[:at])
        kind, wrong = self.slip(value, ops[at], draw)
        rest, value = self.written(wrong, ops[at + 1 :])
        return NearMiss(write_solution([*lines, f"{ops[at]}: {wrong}", *rest], value), kind, at)

    def _dropped(self, start: str, ops: list[str], at: int) -> NearMiss:
        """Without operation `at`, the lines are right for as long as they could have been done before it."""
        lines, value = self.written(start, [*ops[:at], *ops[at + 1 :]])
        early = (k for k in range(at, len(lines)) if not self._may_go_first(ops[k + 1], [ops[at]]))
        return NearMiss(write_solution(lines, value), "operation dropped", next(early, len(lines)))


def first_difference(steps: Sequence[str], right: Sequence[str]) -> int | None:
    """The first step that is not the right line, for work that can be written in one way only."""
    for i, step in enumerate(steps):
        if i >= len(right) or step != right[i]:
            return i
    return None


def add_terms(step: str, terms: Counter[str]) -> bool:
    """Do the addition `a+b=c` on terms that are there, in any order, all of one unit; False when it is none or wrong."""
    parts, _, total = step.partition("=")
    pieces = parts.split("+")
    if len(pieces) < 2 or not Counter(pieces) <= terms:
        return False
    units = {piece.lstrip(DIGITS) for piece in pieces}
    unit = units.pop()
    if units or total != f"{sum(int(piece.removesuffix(unit)) for piece in pieces)}{unit}":
        return False
    terms -= Counter(pieces)
    terms[total] += 1
    return True


def miscopy(text: str, draw: random.Random) -> str:
    """The text with one digit or letter taken for another."""
    at = draw.choice([i for i, c in enumerate(text) if c.isalnum()])
    others = DIGITS[1:] if text[at].isdigit() else LETTERS
    return text[:at] + draw.choice([c for c in others if c != text[at]]) + text[at + 1 :]
