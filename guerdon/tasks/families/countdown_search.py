"""Countdown: reach a target with the given numbers, each used exactly once.

Finding how is search; checking is not.
"""

from __future__ import annotations

import itertools
import random
import re
from collections.abc import Sequence
from functools import lru_cache

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.families.arithmetic import linear
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# level: how many numbers, the largest of them, the signs
SIZES = {
    1: (2, 20, "+-"),
    2: (3, 9, "+-"),
    3: (3, 9, "+-*"),
    4: (3, 20, "+-*/"),
    5: (4, 9, "+-*"),
    6: (4, 20, "+-*/"),
    7: (5, 20, "+-*/"),
    8: (6, 25, "+-*/"),
}
TARGET = 99  # the largest target
PRODUCT = 150  # the largest product on the way to it
MANY = 5  # numbers whose every value would take long to find; a search asks for one value at a time
STEP = re.compile(r"(-?[0-9]{1,6})([-+*/])(-?[0-9]{1,6})=(-?[0-9]{1,6})(?: left((?: -?[0-9]{1,6})+))?")
STRENGTH = {"+": 1, "-": 1, "*": 2, "/": 2}

Numbers = tuple[int, ...]  # sorted
Move = tuple[int, str, int, int]  # 25, "-", 7, 18


@part
class countdown(Family):
    """`countdown 3 7 25 make 54`: use each number exactly once, with + - * / and brackets.

        25-7=18 left 3 18
        18*3=54
        = (25-7)*3

    A step joins two of the numbers at hand into a whole number and may say what is left, in any order. A step that leads
    nowhere is not a wrong step: it is true, it only does not help. Any expression that uses the numbers and makes the target
    is right. Level 1 has 2 numbers and + -, level 3 has 3 and + - *, level 5 has 4, level 8 has 6 numbers up to 25.

    >>> import guerdon as gd
    >>> family = gd.tasks.countdown(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.check(problem, "= 5+1+9"), family.check(problem, "= 9+5")
    ('countdown 9 1 5 make 15', '9+1+5', 1.0, 0.0)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        count, top, signs = SIZES[self.level]
        while True:
            numbers = [draw.randint(1, top) for _ in range(count)]
            moves = combine(numbers, signs, draw)
            if moves[-1][3] <= TARGET:
                return posed(numbers, moves)

    def read_problem(self, prompt: str) -> Problem | None:
        """The prompt does not say which way to the target `make` drew; this is a way, and another answer may be as right."""
        count, top, signs = SIZES[self.level]
        number = "[1-9][0-9]?"
        match = re.fullmatch(f"countdown ({number}(?: {number}){{{count - 1}}}) make ({number})", prompt)
        numbers = [int(word) for word in match[1].split()] if match else []
        if match is None or max(numbers) > top or int(match[2]) > TARGET:
            return None
        moves = search(tuple(sorted(numbers)), int(match[2]), signs)
        return None if moves is None else posed(numbers, moves)

    def canonical(self, problem: Problem) -> str:
        return f"{sorted(problem.meta['numbers'])} make {problem.meta['target']}"

    def steps(self, task: Task) -> list[str]:
        return written(task.meta["numbers"], gold(task))

    def searched(self, task: Task, draw: random.Random, ways: int) -> str:
        """A solution that first goes so many ways that end elsewhere, each from the numbers as they were given. None where
        every way ends at the target."""
        numbers, target, signs = task.meta["numbers"], task.meta["target"], SIZES[self.level][2]
        lines: list[str] = []
        while ways and (len(numbers) >= MANY or values(tuple(sorted(numbers)), signs) != {target}):
            moves = combine(numbers, signs, draw)
            if moves[-1][3] != target:
                lines += written(numbers, moves)
                ways -= 1
        return write_solution([*lines, *self.steps(task)], task.answer)

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        pool: list[int] = list(task.meta["numbers"])
        for i, step in enumerate(steps):
            read = STEP.fullmatch(step)
            if read is None:
                return i
            a, sign, b, result = int(read[1]), read[2], int(read[3]), int(read[4])
            if not take(pool, a, b) or calculate(a, sign, b) != result:
                return i
            pool.append(result)
            if read[5] is not None and sorted(map(int, read[5].split())) != sorted(pool):
                return i
        return None

    def right(self, task: Task, answer: str) -> bool:
        value = linear(answer)
        if value is None or value[1] != task.meta["target"]:
            return False
        return sorted(map(int, re.findall("[0-9]+", answer))) == sorted(task.meta["numbers"])

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        numbers, target, moves = task.meta["numbers"], task.meta["target"], gold(task)
        *before, (a, _, b, _) = moves
        last = len(before)
        tries = [(a, sign, b, result) for sign in "+-*" if (result := calculate(a, sign, b)) not in (None, target)]
        close = min(tries, key=lambda move: abs(move[3] - target))
        wishful = (*draw.choice(tries)[:3], target)
        misses = [
            solve(numbers, [*before, close], "misses the target", len(moves)),
            solve(numbers, [*before, wishful], "false sum", last),
            solve(numbers, [*before, invented(a, b, target)], "number not given", last),
        ]
        again = sorted({n for n in numbers if n not in (a, b)} & {n for move in before for n in (move[0], move[2])})
        if again:
            pairs = [(max(p, n), min(p, n)) for p in (a, b) for n in again]
            twice = [(p, "+", n, p + n) for p, n in pairs] + [(p, "-", n, p - n) for p, n in pairs]
            near = min(twice, key=lambda move: abs(move[3] - target))
            misses.append(solve(numbers, [*before, near], "number used twice", last))
        if before:
            misses.append(solve(numbers, before, "number left out", last))
        spoilt = task.answer.replace("(", "").replace(")", "")
        if spoilt == task.answer:
            spoilt = re.sub("[0-9]+", lambda number: str(int(number[0]) + 1), task.answer, count=1)
        misses.append(NearMiss(write_solution(self.steps(task), spoilt), "answer miscopied", len(moves)))
        return misses


def posed(numbers: list[int], moves: Sequence[Move]) -> Problem:
    target = moves[-1][3]
    meta = {"numbers": numbers, "target": target, "moves": [list(move) for move in moves]}
    return Problem(f"countdown {' '.join(map(str, numbers))} make {target}", express(numbers, moves), meta)


def gold(task: Task) -> list[Move]:
    return [(a, sign, b, result) for a, sign, b, result in task.meta["moves"]]


def calculate(a: int, sign: str, b: int) -> int | None:
    """The result where it is a whole number."""
    if sign == "/":
        return a // b if b and a % b == 0 else None
    return a + b if sign == "+" else a - b if sign == "-" else a * b


def take(pool: list[int], *wanted: int) -> bool:
    """Take numbers out of the pool; False as soon as one is not there."""
    for number in wanted:
        if number not in pool:
            return False
        pool.remove(number)
    return True


def combine(numbers: Sequence[int], signs: str, draw: random.Random) -> list[Move]:
    """Join random pairs until one number remains."""
    pool, moves = list(numbers), []
    while len(pool) > 1:
        one, other = pool.pop(draw.randrange(len(pool))), pool.pop(draw.randrange(len(pool)))
        moves.append(draw.choice(joined(one, other, signs)))
        pool.append(moves[-1][3])
    return moves


@lru_cache(maxsize=2**16)
def joined(one: int, other: int, signs: str) -> list[Move]:
    """The moves that join two numbers. Results are whole and positive, the larger number stands first."""
    a, b = max(one, other), min(one, other)
    results = ((sign, calculate(a, sign, b)) for sign in signs if helps(a, sign, b))
    return [(a, sign, b, result) for sign, result in results if result is not None]


def helps(a: int, sign: str, b: int) -> bool:
    """Whether a sum is worth setting: nothing vanishes, nothing is multiplied or divided by one."""
    if sign == "+":
        return True
    if sign == "-":
        return a > b
    return b > 1 and (a * b <= PRODUCT if sign == "*" else a % b == 0)


# --- searching: every way that `combine` could have gone ----------------------------------------------------------


def search(numbers: Numbers, target: int, signs: str) -> list[Move] | None:
    """Moves that join all the numbers into the target, None when there are none. The last move is sought first: some of
    the numbers make `a`, so the others have to make what is missing."""
    if len(numbers) == 1:
        return [] if numbers[0] == target else None
    for some, others in halves(numbers):
        possible = values(others, signs) if len(others) < MANY else range(1, PRODUCT * len(others))
        for a in values(some, signs):
            for b in (target - a, target + a, a - target, target // a, target * a, a // target):
                last = [move for move in joined(a, b, signs) if move[3] == target] if b in possible else []
                rest = search(others, b, signs) if last else None
                if rest is not None:
                    return [*(search(some, a, signs) or []), *rest, last[0]]
    return None


@lru_cache(maxsize=2**11)
def values(numbers: Numbers, signs: str) -> frozenset[int]:
    """All that numbers can be joined into."""
    if len(numbers) == 1:
        return frozenset(numbers)
    return frozenset(
        move[3]
        for some, others in halves(numbers)
        for a in values(some, signs)
        for b in values(others, signs)
        for move in joined(a, b, signs)
    )


@lru_cache(maxsize=2**11)
def halves(numbers: Numbers) -> list[tuple[Numbers, Numbers]]:
    """Every way to part the numbers in two, the smaller part first, the most even ways first."""
    pairs = {}
    for size in range(len(numbers) // 2, 0, -1):
        for places in itertools.combinations(range(len(numbers)), size):
            some = tuple(numbers[i] for i in places)
            others = tuple(number for i, number in enumerate(numbers) if i not in places)
            if size < len(others) or some <= others:
                pairs[some, others] = True
    return list(pairs)


def written(numbers: Sequence[int], moves: Sequence[Move]) -> list[str]:
    pool, lines = list(numbers), []
    for a, sign, b, result in moves:
        take(pool, a, b)
        pool.append(result)
        lines.append(f"{a}{sign}{b}={result}")
        if len(lines) < len(numbers) - 1:
            lines[-1] += f" left {' '.join(map(str, pool))}"
    return lines


def express(numbers: Sequence[int], moves: Sequence[Move]) -> str:
    """The moves as one expression. A number that is neither given nor the result of a move is written as itself."""
    terms = [(n, str(n), 3) for n in numbers]  # value, text, how strongly its parts hold together

    def pick(number: int) -> tuple[str, int]:
        for i in range(len(terms) - 1, -1, -1):
            if terms[i][0] == number:
                return terms.pop(i)[1:]
        return str(number), 3

    for a, sign, b, result in moves:
        (left, left_holds), (right, right_holds) = pick(a), pick(b)
        holds = STRENGTH[sign]
        left = f"({left})" if left_holds < holds else left
        right = f"({right})" if right_holds < holds + (sign in "-/") else right
        terms.append((result, f"{left}{sign}{right}", holds))
    return terms[-1][1]


def invented(a: int, b: int, target: int) -> Move:
    """A true sum that makes the target from `a` or `b` and a number that is not there."""
    for have, other in ((a, b), (b, a)):
        need = abs(target - have)
        if need not in (0, have, other):
            return (have, "+" if target > have else "-", need, target)
    have = a if target + a != b else b
    return (target + have, "-", have, target)


def solve(numbers: Sequence[int], moves: Sequence[Move], kind: str, step: int) -> NearMiss:
    return NearMiss(write_solution(written(numbers, moves), express(numbers, moves)), kind, step)
