"""Where the list that a small function works on comes from: its arguments, as they are or made into a list first.

Leaves out: what is done with the list (`function_operations.py`).
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from guerdon.tasks.code.function_operations import Kind

NUMBERS = range(-9, 13)
WIDE = range(-40, 61)
SPELLED = """
a all ant apple bad barn bee big bird boat book cat city cold corn dark deep dog dust eel egg far fast fish fog gold good green
hat hen hill home ice ink iron lamp lake leaf lion long map milk moon nest night old one open pan pear pig pond rain red rice
river road sand sea ship snow star stone sun tall ten tree two warm well wind wolf wood
"""
WORDS = SPELLED.split()
Arguments = list[Any]
LAST = 9


@dataclass(frozen=True)
class Source:
    """The beginning of a function: its arguments, the list it makes of them (`code`, and `run`, the same in our own Python),
    how that is said (nothing where the list is the argument), and arguments to try it on, `place` 0 to 9 from easy to hard."""

    name: str
    takes: str
    code: str
    run: Callable[..., list[Any]]
    words: tuple[str, ...]
    kind: Kind
    draw: Callable[[random.Random, int], Arguments]


def numbers(draw: random.Random, place: int) -> list[int]:
    """A list of numbers: none, one, zeros, a few, ties, only negative ones, long ones, large ones."""
    if place == 0:
        return []
    if place == 1:
        return [draw.choice(range(1, 10))]
    if place == 2:
        return [0] * draw.choice((1, 2, 3))
    if place == 3:
        return draw.choices(range(1, 10), k=3)
    if place == 4:
        return draw.choices(NUMBERS, k=4)
    if place == 5:  # ties
        some = draw.choices(NUMBERS, k=3)
        return [*some, *some[:2], some[0]]
    if place == 6:
        return draw.choices(range(-9, 0), k=4)
    if place == 7:
        return list(range(-1, 11)) if draw.random() < 0.5 else list(range(10, -3, -1))  # every constant, and beside it
    return draw.choices(NUMBERS if place == 8 else WIDE, k=9)


def sentence(draw: random.Random, place: int) -> str:
    """Words with spaces between: none, one, ties, long ones."""
    if place == 0:
        return ""
    if place in (2, 5):
        some = draw.choices(WORDS, k=2)
        return " ".join([*some, *some])
    return " ".join(draw.choices(WORDS, k=(0, 1, 0, 2, 3, 0, 4, 6, 8, 10)[place]))


def letters(draw: random.Random, place: int) -> str:
    """A word, or several written together."""
    if place == 0:
        return ""
    if place == 1:
        return draw.choice("abcdefghijklmnopqrstuvwxyz")
    if place == 7:
        return "abcdefghijklmnopqrstu"
    return "".join(draw.choices(WORDS, k=(0, 0, 1, 1, 1, 2, 2, 0, 3, 4)[place]))


def whole_number(draw: random.Random, place: int) -> int:
    """A number from 1 on, the larger the later."""
    first = (1, 2, 2, 10, 10, 11, 11, 20, 20, 60)[place]
    return draw.choice(range(first, max(first + 1, (5 * first) // 3)))


def _two_lists(draw: random.Random, place: int) -> Arguments:
    first = numbers(draw, place)
    if place == 2:
        return [first, []]
    other = draw.choices(NUMBERS, k=max(1, len(first) + (place % 3) - 1))
    return [first, [*other, *first[:2]] if place >= 5 else other]


SOURCES = {
    source.name: source
    for source in (
        Source("list", "xs", "xs", lambda xs: xs, (), "numbers", lambda draw, place: [numbers(draw, place)]),
        Source("list_and_number", "xs, k", "xs", lambda xs, k: xs, (), "numbers",
            lambda draw, place: [numbers(draw, place), draw.choice(range(1, 7))]),
        Source("words", "s", "s.split()", lambda s: [w for w in s.split(" ") if w],
            ("take the words of s", "split s into words"), "words", lambda draw, place: [sentence(draw, place)]),
        Source("letters", "s", "list(s)", lambda s: [*s], ("take the letters of s", "go through the letters of s"), "letters",
            lambda draw, place: [letters(draw, place)]),
        Source("digits", "n", "[int(d) for d in str(n)]", lambda n: [ord(c) - 48 for c in str(n)],
            ("take the digits of n",), "numbers",
            lambda draw, place: [draw.choice(range(10**(place // 2), 10**(1 + place // 2)))]),
        Source("up_to", "n", "list(range(1, n + 1))", lambda n: [i + 1 for i in range(n)],
            ("take the numbers from 1 to n", "list 1, 2, ... up to n"), "numbers",
            lambda draw, place: [draw.choice(range(3 * place // 2, 3 * place // 2 + 2))]),
        Source("divisors", "n", "[d for d in range(1, n + 1) if n % d == 0]",
            lambda n: sorted({d for i in range(1, int(n**0.5) + 1) if n % i == 0 for d in (i, n // i)}),
            ("take the divisors of n", "list all divisors of n"), "numbers",
            lambda draw, place: [whole_number(draw, place)]),
        Source("sums", "xs, ys", "[x + y for x, y in zip(xs, ys)]",
            lambda xs, ys: [xs[i] + ys[i] for i in range(min(len(xs), len(ys)))],
            ("add xs and ys pair by pair", "take the sums of pairs from xs and ys"), "numbers", _two_lists),
        Source("products", "xs, ys", "[x * y for x, y in zip(xs, ys)]",
            lambda xs, ys: [xs[i] * ys[i] for i in range(min(len(xs), len(ys)))],
            ("multiply xs and ys pair by pair", "take the products of pairs from xs and ys"), "numbers", _two_lists),
        Source("shared", "xs, ys", "[x for x in xs if x in ys]", lambda xs, ys: list(filter(ys.count, xs)),
            ("take the numbers of xs that are in ys", "take what xs has that ys has too"), "numbers", _two_lists),
        Source("missing", "xs, ys", "[x for x in xs if x not in ys]", lambda xs, ys: [x for x in xs if not ys.count(x)],
            ("take the numbers of xs that are not in ys", "take what xs has and ys has not"), "numbers", _two_lists),
        Source("chained", "xs, ys", "[*xs, *ys]", lambda xs, ys: [*xs, *ys],
            ("take xs and then ys", "put ys behind xs"), "numbers",
            _two_lists),
    )
}  # fmt: skip
SLIPS = {"sums": "products", "products": "sums", "shared": "missing", "missing": "shared", "up_to": "divisors"}
