"""The tool `calculator`: exact arithmetic on what a model wrote, by a parser of its own and within bounds.

Leaves out: functions and variables (`interpreter` has all of Python).
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Annotated

LONGEST = 1000  # characters of an expression
DIGITS = 1000  # of a number on the way
DEEPEST = 50  # brackets and signs inside of each other
TOKEN = re.compile(r"\s*(?:(\d+(?:\.\d*)?|\.\d+)|(\*\*|//|[-+*/%^()×÷−]))")
SAME = {"^": "**", "×": "*", "÷": "/", "−": "-"}


def calculator(expression: Annotated[str, "such as (12.5+3)*7"]) -> str:
    """Work out an expression exactly. It may have + - * / // % ** and brackets.

    >>> import guerdon as gd
    >>> gd.envs.calculator("(12.5 + 3) * 7"), gd.envs.calculator("2**70"), gd.envs.calculator("1/3")
    ('108.5', '1180591620717411303424', '1/3, about 0.333333333333')
    """
    if len(expression) > LONGEST:
        raise ValueError(f"an expression of {len(expression)} characters: {LONGEST} are the most")
    return _written(Arithmetic(expression).value())


class Arithmetic:
    """A parser that works out what it reads: sums of products of powers of numbers, brackets and signs."""

    def __init__(self, text: str) -> None:
        self.tokens, at = [], 0
        text = text.rstrip()
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                raise ValueError(
                    f"there is no {text[at:].strip()[:1]!r} in an expression: + - * / // % ** ( ) and numbers"
                )
            self.tokens.append(SAME.get(match[2], match[2]) if match[2] else match[1])
            at = match.end()
        self.at = self.depth = 0

    def value(self) -> Fraction:
        if not self.tokens:
            raise ValueError("there is nothing to work out")
        value = self._sum()
        if self._next():
            raise ValueError(f"there is a {self._next()!r} too many")
        return value

    def _next(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def _take(self, *signs: str) -> str:
        sign = self._next()
        if sign and sign in signs:
            self.at += 1
            return sign
        return ""

    def _sum(self) -> Fraction:
        value = self._product()
        while sign := self._take("+", "-"):
            other = self._product()
            value = _bounded(value + other if sign == "+" else value - other)
        return value

    def _product(self) -> Fraction:
        value = self._signed()
        while sign := self._take("*", "/", "//", "%"):
            other = self._signed()
            if sign != "*" and other == 0:
                raise ValueError("a division by zero")
            if sign == "*":
                value = _bounded(value * other)
            else:
                value = _bounded(
                    value / other if sign == "/" else Fraction(value // other) if sign == "//" else value % other
                )
        return value

    def _signed(self) -> Fraction:
        if sign := self._take("-", "+"):
            with _Deeper(self):
                value = self._signed()
            return -value if sign == "-" else value
        return self._power()

    def _power(self) -> Fraction:
        base = self._atom()
        if not self._take("**"):
            return base
        with _Deeper(self):
            power = self._signed()  # from right to left, as in Python
        if power.denominator != 1:
            raise ValueError("a power that is no whole number has no exact value")
        size = max(len(str(abs(base.numerator))), len(str(base.denominator)))
        if abs(base) != 1 and base != 0 and abs(power) * size > 4 * DIGITS:
            raise ValueError(f"a number of more than {DIGITS} digits")
        if base == 0 and power < 0:
            raise ValueError("a division by zero")
        return _bounded(base ** (int(power) % 2 if abs(base) == 1 else int(power)))

    def _atom(self) -> Fraction:
        if self._take("("):
            with _Deeper(self):
                value = self._sum()
            if not self._take(")"):
                raise ValueError("a bracket is not closed")
            return value
        word = self._next()
        if not word or not (word[0].isdigit() or word[0] == "."):
            raise ValueError(f"a number is missing before {word!r}" if word else "a number is missing at the end")
        self.at += 1
        return Fraction(word)


class _Deeper:
    def __init__(self, parser: Arithmetic) -> None:
        self.parser = parser

    def __enter__(self) -> None:
        self.parser.depth += 1
        if self.parser.depth > DEEPEST:
            raise ValueError(f"more than {DEEPEST} brackets or signs inside of each other")

    def __exit__(self, *error: object) -> None:
        self.parser.depth -= 1


def _bounded(value: Fraction) -> Fraction:
    if max(value.numerator.bit_length(), value.denominator.bit_length()) > 3.33 * DIGITS:
        raise ValueError(f"a number of more than {DIGITS} digits")
    return value


def _written(value: Fraction) -> str:
    """A whole number or a decimal that ends as it is, another as a fraction and what it is about."""
    if value.denominator == 1:
        return str(value.numerator)
    rest, places = value.denominator, 0
    for prime in (2, 5):
        count = 0
        while rest % prime == 0:
            rest, count = rest // prime, count + 1
        places = max(places, count)
    if rest == 1 and places <= 30:
        whole = str(abs(value.numerator) * 10**places // value.denominator).rjust(places + 1, "0")
        return f"{'-' if value < 0 else ''}{whole[:-places]}.{whole[-places:]}"
    try:
        return f"{value}, about {float(value):.12g}"
    except OverflowError:
        return str(value)
