"""Modular arithmetic: a power, a product and a sum, of which only the remainder counts."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Sequence

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.families.pipeline import NUMBER
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

# (powers, smallest modulus, largest) by level; a power with many ones in binary takes more steps
LEVELS: tuple[tuple[tuple[int, ...], int, int], ...] = (
    ((1,), 6, 9),
    ((2, 3), 6, 12),
    ((3, 4), 8, 15),
    ((4, 5, 6), 10, 19),
    ((5, 6, 8), 11, 25),
    ((8, 9, 10, 12), 16, 35),
    ((10, 12, 16, 17), 24, 60),
    ((16, 18, 19, 20, 21, 24), 40, 99),
)


@part
class modular(Family):
    """`modular 7^5*4+3 mod 10`: the remainder.

    Powers come by squaring and multiplying what is known; each line gives the number before and after the remainder is
    taken: `^2: 7*7=49=9`, `^4: 9*9=81=1`, `^5: 1*7=7=7`, `*4: 7*4=28=8`, `+3: 8+3=11=1`, `= 1`. Any way of building the
    power from smaller ones is right, as long as each line brings a new one. A level has larger powers and moduli: from
    `7*4+3 mod 9` to powers up to 24 and moduli up to 99.

    >>> import guerdon as gd
    >>> family = gd.tasks.modular(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, family.solution(problem).splitlines()
    ('modular 10^2*4+9 mod 11', ['^2: 10*10=100=1', '*4: 1*4=4=4', '+9: 4+9=13=2', '= 2'])
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        powers, low, high = LEVELS[self.level - 1]
        base, power, mod = 0, 1, 1
        while not worth_asking(base, power, mod):
            power, mod = draw.choice(powers), draw.randint(low, high)
            base = draw.randint(2, mod - 1)
        times, plus = draw.randint(2, 9), draw.randint(1, min(mod - 1, 20))
        return posed(base, power, times, plus, mod)

    def read_problem(self, prompt: str) -> Problem | None:
        powers, low, high = LEVELS[self.level - 1]
        match = re.fullmatch(rf"modular ({NUMBER})(?:\^({NUMBER}))?\*({NUMBER})\+({NUMBER}) mod ({NUMBER})", prompt)
        if match is None or match[2] == "1":
            return None
        base, power, times, plus, mod = (int(text) for text in match.groups(default="1"))
        if power not in powers or not (low <= mod <= high and 2 <= times <= 9 and 1 <= plus <= min(mod - 1, 20)):
            return None
        return posed(base, power, times, plus, mod) if worth_asking(base, power, mod) else None

    def canonical(self, problem: Problem) -> str:
        base, power, times = (problem.meta[name] for name in ("base", "power", "times"))
        factors = f"{base}^{power}*{times}" if power > 1 else f"{min(base, times)}*{max(base, times)}"
        return f"{factors}+{problem.meta['plus']} mod {problem.meta['mod']}"

    def steps(self, task: Task) -> list[str]:
        return written(task)[0]

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        value, power, mod = task.meta["base"], task.meta["power"], task.meta["mod"]
        known = {1: value}  # powers found so far
        tail = tail_of(task)
        for i, step in enumerate(steps):
            if power not in known:
                new = power_lines(known, power, mod)
                if step not in new:
                    return i
                exponent, value = new[step]
                known[exponent] = value
            elif tail:
                sign, number = tail.pop(0)
                text, after = line(f"{sign}{number}", value, sign, number, mod)
                if step not in (text, line(f"{sign}{number}", number, sign, value, mod)[0]):
                    return i
                value = after
            else:
                return i
        return None

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        base, power, mod = task.meta["base"], task.meta["power"], task.meta["mod"]
        right, answer = self.steps(task), int(task.answer)
        at = draw.randrange(len(right))
        slipped, result = written(task, slip_at=at)
        if result == answer:  # the error was multiplied away; one in the last line never is
            at = len(right) - 1
            slipped, result = written(task, slip_at=at)
        before = right[-2].rpartition("=")[2]
        unreduced = right[-1].split("=")[1]
        misses = [
            NearMiss(write_solution(slipped, str(result)), "remainder off by one", at),
            NearMiss(write_solution(right, str((answer + 1) % mod)), "answer miscopied", len(right)),
            NearMiss(write_solution(right[:-1], before), "addition forgotten", len(right) - 1),
            NearMiss(write_solution(right, unreduced), "remainder not taken", len(right)),
        ]
        if power > 1:
            text, value = line(f"^{power}", base, "*", power, mod)
            lines, result = finished(value, tail_of(task), mod)
            misses.append(NearMiss(write_solution([text, *lines], str(result)), "power taken for a product", 0))
        else:
            times, plus = task.meta["times"], task.meta["plus"]
            text, value = line(f"+{plus}", times, "+", plus, mod)
            lines, result = finished(base, [("*", value)], mod)
            misses.append(NearMiss(write_solution([text, *lines], str(result)), "added before multiplying", 0))
        return misses


def worth_asking(base: int, power: int, mod: int) -> bool:
    """Powers of a base that shares a factor with the modulus may soon stay 0; where the square is 1, so are all others."""
    return 2 <= base < mod and (power == 1 or math.gcd(base, mod) == 1) and (power < 4 or base * base % mod != 1)


def posed(base: int, power: int, times: int, plus: int, mod: int) -> Problem:
    shown = f"{base}^{power}" if power > 1 else str(base)
    answer = str((pow(base, power, mod) * times + plus) % mod)
    meta = {"base": base, "power": power, "times": times, "plus": plus, "mod": mod}
    return Problem(f"modular {shown}*{times}+{plus} mod {mod}", answer, meta)


def line(label: str, x: int, sign: str, y: int, mod: int, slip: int = 0) -> tuple[str, int]:
    """A line of work and its remainder."""
    whole = x * y if sign == "*" else x + y
    rest = (whole + slip) % mod
    return f"{label}: {x}{sign}{y}={whole}={rest}", rest


def power_lines(known: dict[int, int], power: int, mod: int) -> dict[str, tuple[int, int]]:
    """Every line that makes a new power from two known ones: the exponent and the remainder it gives."""
    lines = {}
    for a, x in known.items():
        for b, y in known.items():
            if a + b <= power and a + b not in known:
                text, rest = line(f"^{a + b}", x, "*", y, mod)
                lines[text] = (a + b, rest)
    return lines


def tail_of(task: Task) -> list[tuple[str, int]]:
    """What is to be done after the power."""
    return [("*", task.meta["times"]), ("+", task.meta["plus"])]


def plan(power: int) -> list[tuple[int, int]]:
    """Which two known powers to multiply, line by line: squares up to the largest that fits, then what is missing."""
    squares = [1 << i for i in range(power.bit_length())]
    pairs = [(square, square) for square in squares[:-1]]
    total = squares[-1]
    for square in reversed(squares[:-1]):
        if power & square:
            pairs.append((total, square))
            total += square
    return pairs


def finished(value: int, tail: Sequence[tuple[str, int]], mod: int, slip_at: int = -1) -> tuple[list[str], int]:
    """The lines after the power, and the remainder at the end."""
    lines = []
    for i, (sign, number) in enumerate(tail):
        text, value = line(f"{sign}{number}", value, sign, number, mod, slip=i == slip_at)
        lines.append(text)
    return lines, value


def written(task: Task, slip_at: int = -1) -> tuple[list[str], int]:
    """A whole solution and its remainder; the one in line `slip_at` is one off."""
    known, mod = {1: task.meta["base"]}, task.meta["mod"]
    lines: list[str] = []
    for a, b in plan(task.meta["power"]):
        text, known[a + b] = line(f"^{a + b}", known[a], "*", known[b], mod, slip=len(lines) == slip_at)
        lines.append(text)
    rest, value = finished(known[task.meta["power"]], tail_of(task), mod, slip_at - len(lines))
    return lines + rest, value
