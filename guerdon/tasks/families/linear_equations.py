"""Linear equations in x.

Each step is an equation with the same solution; which one is up to the solver.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from guerdon.core.part import knob, part
from guerdon.core.task import Task
from guerdon.tasks.families.arithmetic import linear
from guerdon.tasks.family import Family, NearMiss, Problem, write_solution

Piece = list[int]  # [k, a, b] is k(ax+b); a term without brackets is [1, a, 0] or [1, 0, b]
Side = list[Piece]
Choices = tuple[Sequence[int], Sequence[int], Sequence[int]]  # what k, a and b of a piece are chosen from
BODY = r"[0-9]\([0-9]?x[-+][0-9]\)|[0-9]?x|[0-9]{1,4}"  # what follows the sign of a piece
SIDE = f"-?(?:{BODY})(?:[-+](?:{BODY}))*"
PIECES = re.compile(r"([-+]?[0-9])\(([0-9]?)x([-+][0-9])\)|([-+]?[0-9]?)x|([-+]?[0-9]+)")


@part
class equation(Family):
    """`equation 3(x+4)-2=2x+7`: which x?

        3x+12-2=2x+7
        3x+10=2x+7
        x+10=7
        x=-3
        = -3

    A step is right when it is an equation with the same one solution as the problem, so any way of solving is. Level 1 is
    `x+4=19`, level 2 has a factor, level 3 negative numbers, level 4 x on both sides, level 5 that with negative numbers,
    level 6 brackets, level 7 brackets and x on both sides, level 8 brackets on both sides.

    >>> import guerdon as gd
    >>> family = gd.tasks.equation(level=2)
    >>> problem = family.get("train", 0)
    >>> problem.prompt, problem.answer, family.first_wrong(problem, ["3x+4=16", "3x=13"])
    ('equation 9x+12=48', '4', 1)
    """

    level: int = knob(default=1, ge=1, le=8)

    def make(self, draw: random.Random) -> Problem:
        form = FORMS[self.level]
        while True:
            x = draw.choice(form.x)
            left, right = ([list(map(draw.choice, three)) for three in side] for side in (form.left, form.right))
            rest = value(left, x) - value(right, x)
            if form.allows(x, slope(left) - slope(right), rest):
                return posed(x, left, right, rest)

    def read_problem(self, prompt: str) -> Problem | None:
        form, match = FORMS[self.level], re.fullmatch(f"equation ({SIDE})=({SIDE})", prompt)
        if match is None:
            return None
        left, right = map(read_side, match.groups())
        right, rest = right[: len(form.right)], constant(right[len(form.right) :])
        steeper = slope(left) - slope(right)
        if steeper == 0 or not fits(left, form.left) or not fits(right, form.right):
            return None
        x, over = divmod(rest + constant(right) - constant(left), steeper)
        if over or not form.allows(x, steeper, rest):
            return None
        problem = posed(x, left, right, rest)
        return problem if problem.prompt == prompt else None  # written as this family writes it

    def canonical(self, problem: Problem) -> str:
        return "=".join(sorted((show(problem.meta["left"]), show(problem.meta["right"]))))

    def same_problem(self, task: Task, text: str) -> Problem | None:
        """Sides may be exchanged, and the terms of a side may be in another order."""
        pieces, asked = sides_of(text), sides_of(task.prompt)
        if pieces is not None and pieces == asked:
            return Problem(text, task.answer, task.meta)
        return super().same_problem(task, text)

    def steps(self, task: Task) -> list[str]:
        lines, left, right = unfold(task.meta["left"], task.meta["right"])
        return lines + finish(left, right)[0]

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        solution = Fraction(task.answer)
        return next((i for i, step in enumerate(steps) if solve(step) != solution), None)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        first, second = task.meta["left"], task.meta["right"]
        lines, left, right = unfold(first, second)
        misses = []
        for slip in ("number moved with wrong sign", "x moved with wrong sign", "off by one"):
            if slip.startswith("x") and slope(left) + slope(right) == 0:
                continue  # that slip would leave no x
            rest, answer, at = finish(left, right, slip)
            if at is not None:
                misses.append(NearMiss(write_solution(lines + rest, answer), slip, len(lines) + at))
        if any(is_bracket(piece) for piece in first):
            bad_lines, left, right = unfold(first, second, careless=True)
            if slope(left) != slope(right):
                rest, answer, _ = finish(left, right)
                misses.append(NearMiss(write_solution(bad_lines + rest, answer), "bracket half expanded", 0))
        steps = self.steps(task)
        if len(steps) > 1 and not steps[-2].startswith("x"):
            misses.append(NearMiss(write_solution(steps[:-1], steps[-2].split("=")[1]), "not divided", len(steps) - 1))
        x = int(task.answer)
        spoilt = draw.choice([-x, x + 10, x - 1])
        misses.append(NearMiss(write_solution(steps, str(spoilt)), "answer miscopied", len(steps)))
        return misses


# --- making and reading -------------------------------------------------------------------------------------------


def sides_of(prompt: str) -> list[Side] | None:
    """The terms of both sides, sorted; None where a text is no equation."""
    match = re.fullmatch(f"equation ({SIDE})=({SIDE})", prompt)
    return sorted(sorted(read_side(side)) for side in match.groups()) if match else None


def up(low: int, high: int) -> Sequence[int]:
    return range(low, high + 1)


def signed(low: int, high: int) -> Sequence[int]:
    return [*range(-high, -low + 1), *range(low, high + 1)]


def term(coefficients: Sequence[int]) -> Choices:
    return (1,), coefficients, (0,)


def number(numbers: Sequence[int]) -> Choices:
    return (1,), (0,), numbers


BRACKET: Choices = signed(2, 5), up(1, 4), signed(1, 9)


@dataclass(frozen=True)
class Form:
    """What the equations of a level look like: the solutions, and what every piece of the two sides is chosen from. The
    right side is still without its last number, the `rest` that makes it equal. `rises`: neither rest nor slope is negative."""

    x: Sequence[int]
    left: tuple[Choices, ...]
    right: tuple[Choices, ...] = ()
    rises: bool = False

    def allows(self, x: int, steeper: int, rest: int) -> bool:
        """Whether an equation is set whose left side is so much steeper: there is one solution, unless it is 0."""
        return x in self.x and steeper != 0 and not (self.rises and (steeper < 0 or rest < 0))


FORMS = {
    1: Form(up(1, 20), (term((1,)), number(signed(1, 20))), rises=True),
    2: Form(up(1, 12), (term(up(2, 9)), number(signed(1, 20)))),
    3: Form(signed(2, 12), (term(signed(2, 9)), number(signed(1, 50)))),
    4: Form(up(1, 12), (term(up(3, 9)), number(up(1, 20))), (term(up(1, 8)),), rises=True),
    5: Form(signed(1, 12), (term(signed(1, 9)), number(signed(1, 30))), (term(signed(1, 9)),)),
    6: Form(signed(1, 12), (BRACKET, number(signed(1, 20)))),
    7: Form(signed(1, 12), (BRACKET, number(signed(1, 20))), (term(signed(1, 9)),)),
    8: Form(signed(1, 15), (BRACKET, term(signed(1, 9)), number(signed(1, 20))), (BRACKET,)),
}


def posed(x: int, left: Side, right: Side, rest: int) -> Problem:
    if rest or not right:
        right = [*right, [1, 0, rest]]
    return Problem(f"equation {show(left)}={show(right)}", str(x), {"left": left, "right": right})


def fits(side: Side, choices: Sequence[Choices]) -> bool:
    return len(side) == len(choices) and all(
        n in allowed
        for piece, three in zip(side, choices, strict=True)
        for n, allowed in zip(piece, three, strict=True)
    )


def read_side(text: str) -> Side:
    """The pieces of a side that is written as `SIDE` says."""
    side = []
    for piece in PIECES.finditer(text):
        factor, within, after, before_x, alone = piece.groups()
        if factor is not None:
            side.append([int(factor), counted(within), int(after)])
        else:
            side.append([1, counted(before_x), 0] if alone is None else [1, 0, int(alone)])
    return side


def counted(text: str) -> int:
    """How many x there are: one, when no number says it."""
    return int(text if text[-1:].isdigit() else f"{text}1")


# --- solving ------------------------------------------------------------------------------------------------------


def plain(a: int, b: int) -> Side:
    """The side ax+b."""
    return [[1, a, 0], [1, 0, b]]


def is_bracket(piece: Piece) -> bool:
    return piece[1] != 0 and piece[2] != 0


def slope(side: Side) -> int:
    return sum(k * a for k, a, _ in side)


def constant(side: Side) -> int:
    return sum(k * b for k, _, b in side)


def value(side: Side, x: int) -> int:
    return slope(side) * x + constant(side)


def show(side: Side) -> str:
    text = ""
    for k, a, b in side:
        factor = k * (a or b) if not (a and b) else k
        if factor:
            size = "" if abs(factor) == 1 and a else str(abs(factor))
            body = f"({show(plain(a, b))})" if a and b else "x" if a else ""
            text += ("-" if factor < 0 else "+" if text else "") + size + body
    return text or "0"


def unfold(left: Side, right: Side, careless: bool = False) -> tuple[list[str], Side, Side]:
    """The lines that clear brackets and gather terms, and the two sides they end in.

    `careless` makes the classic slip in the first bracket: its number is not multiplied.
    """
    lines = []
    if any(map(is_bracket, left + right)):
        left, right = expand(left, careless), expand(right, False)
        lines.append(f"{show(left)}={show(right)}")
    gathered = [plain(slope(side), constant(side)) for side in (left, right)]
    last = f"{show(gathered[0])}={show(gathered[1])}"
    if max(map(crowded, (left, right))):
        lines.append(last)
    return lines, gathered[0], gathered[1]


def expand(side: Side, careless: bool) -> Side:
    terms: Side = []
    for k, a, b in side:
        times = 1 if careless and a and b else k
        terms += [term for term in ([1, k * a, 0], [1, 0, times * b]) if any(term[1:])]
        careless = careless and not (a and b)
    return terms


def crowded(side: Side) -> bool:
    """Whether a side without brackets has two terms of a kind."""
    return sum(1 for _, a, _ in side if a) > 1 or sum(1 for _, _, b in side if b) > 1


def finish(left: Side, right: Side, slip: str = "") -> tuple[list[str], str, int | None]:
    """The lines from `ax+b=cx+d` to `x=...`, the answer, and the line where `slip` was made, if there was a place for it."""
    a, b, c, d = slope(left), constant(left), slope(right), constant(right)
    lines: list[str] = []
    at = None
    if c:
        if slip.startswith("x"):
            at, c = len(lines), -c
        a -= c
        lines.append(f"{show(plain(a, b))}={d}")
    if b:
        if slip.startswith("number"):
            at, b = len(lines), -b
        d -= b
        lines.append(f"{show(plain(a, 0))}={d}")
    answer = Fraction(d, a)
    if a != 1 or not lines:
        lines.append(f"x={answer}")
    if slip.startswith("off"):
        at, answer = len(lines) - 1, answer + 1
        lines[-1] = f"x={answer}"
    return lines, str(answer), at


def solve(text: str) -> Fraction | None:
    """The one solution of a written equation; None when it is not readable or has none, or any."""
    sides = [linear(side, "x") for side in text.split("=", 2)]
    if len(sides) != 2 or sides[0] is None or sides[1] is None:
        return None
    slope_left = sides[0][0] - sides[1][0]
    return (sides[1][1] - sides[0][1]) / slope_left if slope_left else None
