"""What a judge works out beside a line, in smaller steps than a solution has.

A judge that knows no more than the solver it judges would make the same slips. So it divides the lines at which solvers make
errors: a product by tens and ones, a remainder by its quotient, a span of time by its units, a count one by one, and what
every variable holds before a statement is carried out. All of it is true of the problem, whatever the attempt says.
Leaves out families whose lines are small already.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from guerdon.core.task import Task
from guerdon.tasks.families.arithmetic import ExpressionReader, Linear, Unreadable, invert, split, times
from guerdon.tasks.families.clock_times import minutes
from guerdon.tasks.families.linear_equations import Side, constant, slope
from guerdon.tasks.families.unit_conversion import split_term
from guerdon.tasks.family import ANSWER, Family
from guerdon.tasks.judging.right_lines import terms_at_hand

MOVES = 8  # the longest countdown has five; an expression with more is not worked out
SIDE = re.compile("-?(?:[0-9]{0,6}x|[0-9]{1,6})(?:[-+](?:[0-9]{0,6}x|[0-9]{1,6}))*")
TERM = re.compile("([-+]?)([0-9]*)(x?)")
LARGER = {"min": (60, "h"), "h": (24, "d"), "d": (7, "w")}


def side_work(family: Family, task: Task, before: Sequence[str], line: str) -> list[str]:
    """The lines worked out before `line` is written; `line` and those before it are right."""
    work = WORK.get(family.name)
    return [] if work is None else work(task, before, line)


def _variables(task: Task, before: Sequence[str], line: str) -> list[str]:
    """What every variable holds, once there are two."""
    held: dict[str, str] = {}
    for done in before:
        name, equals, value = done.partition("=")
        if equals:
            held[name] = value.rpartition("=")[2]
    return [" ".join(f"{name}={value}" for name, value in held.items())] if len(held) > 1 else []


def _terms(task: Task, before: Sequence[str], line: str) -> list[str]:
    """What there is of the unit in hand: one term is converted, several are added."""
    if line.startswith(ANSWER):
        return []
    unit = split_term(re.split("[+=]", line, maxsplit=1)[0])[1]
    return [" ".join(term for term in terms_at_hand(task, before) if split_term(term)[1] == unit)]


def _remainder(task: Task, before: Sequence[str], line: str) -> list[str]:
    if line.startswith(ANSWER):
        return []
    product, whole, rest = line.partition(": ")[2].split("=")
    work = by_tens(product)
    quotient = int(whole) // int(task.meta["mod"])
    return [*work, f"{whole}={quotient}*{task.meta['mod']}+{rest}"] if quotient else work


def by_tens(product: str) -> list[str]:
    """`13*17` as `13*17=130+91`, where both have tens and the second has ones too."""
    one, _, other = product.partition("*")
    if not other or int(one) < 10 or int(other) < 10 or int(other) % 10 == 0:
        return []
    ones = int(other) % 10
    return [f"{product}={int(one) * (int(other) - ones)}+{int(one) * ones}"]


def _digits(task: Task, before: Sequence[str], line: str) -> list[str]:
    """`55*9+3=498` as `55*9=450+45`; `498/7=71 r 1` as `71*7=497`."""
    left, _, right = line.partition("=")
    if "*" in left:
        one, _, other = left.partition("+")[0].partition("*")
        tens = int(one) - int(one) % 10
        return [f"{one}*{other}={tens * int(other)}+{int(one) % 10 * int(other)}"] if tens else []
    _, divided, base = left.partition("/")
    quotient = right.partition(" ")[0]
    return [f"{quotient}*{base}={int(quotient) * int(base)}"] if divided and quotient != "0" else []


def _moment(task: Task, before: Sequence[str], line: str) -> list[str]:
    """A span in its largest units, then the sum of minutes or hours: `103min=1h 43min`, `53-43=10`."""
    op, colon, _ = line.partition(": ")
    if not colon:
        return []
    start = before[-1].partition(": ")[2] if before else task.meta["start"]
    unit = op.lstrip("+-0123456789")
    amount, work = int(op[1:].removesuffix(unit)), []
    if unit in LARGER and amount >= LARGER[unit][0]:
        size, larger = LARGER[unit]
        work.append(f"{amount}{unit}={amount // size}{larger} {amount % size}{unit}")
        amount %= size
    if unit in ("min", "h") and amount:
        now = minutes(start) % 60 if unit == "min" else minutes(start) // 60 % 24
        work.append(f"{now}{op[0]}{amount}={now + amount if op[0] == '+' else now - amount}")
    return work


def _letters(task: Task, before: Sequence[str], line: str) -> list[str]:
    """Counted letters with their numbers, and a word cut where it is rotated or where letters are deleted."""
    op, colon, _ = line.partition(": ")
    word = before[-1].partition(": ")[2] if before else str(task.meta["start"])
    name, _, argument = op.partition(" ")
    if colon and name in ("count", "len"):
        counted = [letter for letter in word if name == "len" or letter == argument]
        return [" ".join(f"{letter} {i}" for i, letter in enumerate(counted, start=1))] if counted else []
    if colon and name == "del":
        pieces = " ".join(piece for piece in word.split(argument) if piece)
        return [pieces] if pieces else []
    return [f"{word[: int(argument)]} {word[int(argument) :]}"] if colon and name == "rot" else []


def _numbers(task: Task, before: Sequence[str], line: str) -> list[str]:
    """Which numbers are kept, one by one (`7 n 30 y`), and how a sum grows."""
    op, colon, _ = line.partition(": ")
    if not colon or op not in ("odds", "evens", "sum"):
        return []
    numbers = [int(x) for x in (before[-1].partition(": ")[2] if before else task.meta["start"]).split()]
    if op != "sum":
        return [" ".join(f"{x} {'y' if x % 2 == (op == 'odds') else 'n'}" for x in numbers)]
    return [" ".join(str(sum(numbers[: i + 1])) for i in range(len(numbers)))]


def _equation(task: Task, before: Sequence[str], line: str) -> list[str]:
    """The sums behind a line: a bracket's products, terms of a kind, what is moved, what is divided."""
    old = [plain_side(side) for side in before[-1].split("=")] if before else [task.meta["left"], task.meta["right"]]
    new = [plain_side(side) for side in line.split("=")]
    if line.startswith(ANSWER) or not all(old) or not all(new):
        return []
    products = [f"{k}*{n}={k * n}" for side in old for k, a, b in side if a and b for n in (a, b)]
    if products:
        return products
    (a, b), (c, d) = ((slope(side), constant(side)) for side in old)
    (a_new, b_new), (c_new, d_new) = ((slope(side), constant(side)) for side in new)
    if (a, b, c, d) == (a_new, b_new, c_new, d_new):
        return [text for side in old for text in (_total(side, 1, "x"), _total(side, 2, "")) if text]
    work = [f"{a}{-c:+}={a - c}"] if c and not c_new else []
    work += [f"{d}{-b:+}={d - b}"] if b and not b_new else []
    return [*work, f"{d_new}*{a}={d}"] if a_new == 1 != a and not (b or c) else work


def plain_side(text: str) -> Side:
    """The terms of a side without brackets, as its family holds them; none when it is not such a side."""
    if not SIDE.fullmatch(text):
        return []
    terms = [TERM.fullmatch(term) for term in re.findall("[-+]?[^-+]+", text)]
    return [[1, int(t[1] + (t[2] or "1")), 0] if t[3] else [1, 0, int(t[1] + t[2])] for t in terms if t]


def _total(side: Side, place: int, unit: str) -> str:
    """The sum of a side's terms of one kind, where there are two or more: `8+11=19`, `3x+4x=7x`."""
    terms = [piece[place] for piece in side if piece[place]]
    added = "".join(f"{n:+}{unit}" for n in terms).removeprefix("+")
    return f"{added}={sum(terms)}{unit}" if len(terms) > 1 else ""


WORK: dict[str, Callable[[Task, Sequence[str], str], list[str]]] = {
    "trace": _variables,
    "units": _terms,
    "modular": _remainder,
    "bases": _digits,
    "clock": _moment,
    "strings": _letters,
    "lists": _numbers,
    "equation": _equation,
}


# --- an expression, sum by sum -------------------------------------------------------------------------------------


def expression_moves(text: str) -> list[str]:
    """The sums an expression is made of, in the order of reading: `9+5=14`, `14*5=70`; none when it is not readable."""
    tokens = split(text)
    if tokens is None or sum(token.isdigit() for token in tokens) > MOVES:
        return []
    reader = MoveReader(tokens, "")
    try:
        reader.total(0)
    except Unreadable:
        return []
    return reader.moves if reader.at == len(tokens) else []


class MoveReader(ExpressionReader):
    """Reads an expression and keeps every sum and product it comes by."""

    def __init__(self, tokens: list[str], letter: str) -> None:
        super().__init__(tokens, letter)
        self.moves: list[str] = []

    def total(self, depth: int) -> Linear:
        value = self.product(depth)
        while self.peek() in ("+", "-"):
            sign, more = self.take(), self.product(depth)
            value = self._joined(value, sign, more, (0, value[1] + more[1] if sign == "+" else value[1] - more[1]))
        return value

    def product(self, depth: int) -> Linear:
        value = self.factor(depth)
        while self.peek() in ("*", "/"):
            sign, more = self.take(), self.factor(depth)
            value = self._joined(value, sign, more, times(value, invert(more) if sign == "/" else more))
        return value

    def _joined(self, one: Linear, sign: str, other: Linear, result: Linear) -> Linear:
        self.moves.append(f"{one[1]}{sign}{other[1]}={result[1]}")
        return result
