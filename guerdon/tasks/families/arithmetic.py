"""Arithmetic read from a solver's text: sums and products with brackets, at most linear in one letter, in exact fractions.

What a solver writes is never run as code.
Text that is too long, nested too deep, not linear or divides by zero has no value,
so that a checker can ask about any text at all.
"""

from __future__ import annotations

import re
from fractions import Fraction

LONGEST = 120  # characters; the longest honest line is about half of that
DEEPEST = 16  # brackets inside brackets, and minus signs before one another
TOKEN = re.compile(r" *([0-9]{1,9}|[a-z]|[-+*/()])")

Number = int | Fraction  # whole until something is divided: fractions take twenty times as long
Linear = tuple[Number, Number]  # slope and constant: 3x+4 is (3, 4)


class Unreadable(ValueError):
    """The text is not an expression of the kind asked for."""


def linear(text: str, letter: str = "") -> tuple[Fraction, Fraction] | None:
    """The value of `text`, None when it has none. With a `letter`, `3x` and `3(x+1)` are products."""
    tokens = split(text)
    if tokens is None:
        return None
    reader = ExpressionReader(tokens, letter)
    try:
        slope, constant = reader.total(0)
    except Unreadable:
        return None
    return (Fraction(slope), Fraction(constant)) if reader.at == len(tokens) else None


def split(text: str) -> list[str] | None:
    if len(text) > LONGEST:
        return None
    tokens, at, text = [], 0, text.strip(" ")
    while at < len(text):
        match = TOKEN.match(text, at)
        if match is None:
            return None
        tokens.append(match[1])
        at = match.end()
    return tokens


class ExpressionReader:
    """Reads tokens by the usual precedence: brackets and signs, then products, then sums."""

    def __init__(self, tokens: list[str], letter: str) -> None:
        self.tokens, self.letter, self.at = tokens, letter, 0

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self) -> str:
        token = self.peek()
        self.at += 1
        return token

    def total(self, depth: int) -> Linear:
        slope, constant = self.product(depth)
        while self.peek() in ("+", "-"):
            sign = 1 if self.take() == "+" else -1
            more = self.product(depth)
            slope, constant = slope + sign * more[0], constant + sign * more[1]
        return slope, constant

    def product(self, depth: int) -> Linear:
        value = self.factor(depth)
        while (token := self.peek()) in ("*", "/") or self.continues(token):
            if token in ("*", "/"):
                self.take()
            value = times(value, invert(self.factor(depth)) if token == "/" else self.factor(depth))
        return value

    def continues(self, token: str) -> bool:
        """Whether `token` multiplies what stands before it without a sign: the x of 3x."""
        return bool(self.letter) and token in (self.letter, "(")

    def factor(self, depth: int) -> Linear:
        token = self.take()
        if depth > DEEPEST:
            raise Unreadable
        if token.isdigit():
            return 0, int(token)
        if token == "-":
            slope, constant = self.factor(depth + 1)
            return -slope, -constant
        if token == "(":
            inner = self.total(depth + 1)
            if self.take() == ")":
                return inner
        elif token and token == self.letter:
            return 1, 0
        raise Unreadable


def times(one: Linear, other: Linear) -> Linear:
    if one[0] and other[0]:
        raise Unreadable  # a square is not linear
    return one[0] * other[1] + other[0] * one[1], one[1] * other[1]


def invert(value: Linear) -> Linear:
    if value[0] or not value[1]:
        raise Unreadable
    return 0, Fraction(1) / value[1]
