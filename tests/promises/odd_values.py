"""What a reward may return that is no score, and what is one in spite of its looks. Shared by the promises about scores.

`ODD` is of Python and numpy alone, so that a worker need not load torch for it; `TENSORS` are the others.
"""

from __future__ import annotations

import asyncio
import dataclasses
import sys
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np

from guerdon.core.score import Score

FAILED, VALUE, NONE = "failed", "value", "not_applicable"


class Raises:
    """Raises whatever one asks of it."""

    def __float__(self):
        raise ZeroDivisionError("no float")

    def __bool__(self):
        raise ZeroDivisionError("no bool")

    def __len__(self):
        raise ZeroDivisionError("no len")

    def __eq__(self, other):
        raise ZeroDivisionError("no eq")

    def __repr__(self):
        raise ZeroDivisionError("no repr")

    def tolist(self):
        raise ZeroDivisionError("no list")


class Leaves:
    def __float__(self):
        sys.exit(0)


class Itself:
    def tolist(self):
        return self


class Infinite(float):
    def __float__(self):
        return float("inf")

    def __le__(self, other):
        return True

    def __ge__(self, other):
        return True


class LongList(list):
    def __len__(self):
        return 3

    def __iter__(self):
        raise ZeroDivisionError("no items")


class Unprintable(Exception):
    def __str__(self):
        raise ZeroDivisionError("no text")

    __repr__ = __str__


def own_score(dataclass: bool) -> Any:
    """A user's own class of that name."""

    class Score:
        grade: float = 1.0
        notes: str = ""

    return (dataclasses.dataclass(Score) if dataclass else Score)()


def no_class() -> Any:
    class NoClass:  # in here, because a worker could not load it
        @property
        def __class__(self):
            raise ZeroDivisionError("no class")

    return NoClass()


async def later() -> float:
    await asyncio.sleep(0)
    return 1e39


def raises(error: BaseException) -> Any:
    raise error


def deep() -> list[Any]:
    found: list[Any] = [1.0]
    for _ in range(100_000):
        found = [found]
    return found


ODD: dict[str, tuple[str, Callable[[], Any]]] = {
    "1e39": (FAILED, lambda: 1e39),
    "-1e39": (FAILED, lambda: -1e39),
    "inf": (FAILED, lambda: float("inf")),
    "nan": (FAILED, lambda: float("nan")),
    "10**400": (FAILED, lambda: 10**400),
    "-10**400": (FAILED, lambda: -(10**400)),
    "10**5000": (FAILED, lambda: 10**5000),  # Python refuses to print it
    "numpy 1e300": (FAILED, lambda: np.float64(1e300)),
    "numpy longdouble": (FAILED, lambda: np.longdouble("1e4000")),
    "numpy nan": (FAILED, lambda: np.float16("nan")),
    "numpy complex": (FAILED, lambda: np.complex64(1 + 2j)),
    "numpy void": (FAILED, lambda: np.zeros(1, "V4")[0]),
    "numpy date": (FAILED, lambda: np.datetime64("2020-01-01")),
    "numpy object": (FAILED, lambda: np.array([None, object()])),
    "complex": (FAILED, lambda: 1 + 2j),
    "decimal": (FAILED, lambda: Decimal("1e400")),
    "decimal nan": (FAILED, lambda: Decimal("NaN")),
    "decimal snan": (FAILED, lambda: Decimal("sNaN")),
    "fraction": (FAILED, lambda: Fraction(10**400, 3)),
    "text": (FAILED, lambda: "1.0"),
    "bytes": (FAILED, lambda: b"1.0"),
    "bytearray": (FAILED, lambda: bytearray(b"1.0")),
    "dict": (FAILED, lambda: {"value": 1.0}),
    "forged": (FAILED, lambda: {"__dataclass__": "Score", "value": 1.0, "why": "", "parts": {}}),
    "forged more": (FAILED, lambda: {"__dataclass__": "guerdon.core.score.Score", "value": 1.0}),
    "own Score": (FAILED, lambda: own_score(True)),
    "own plain Score": (FAILED, lambda: own_score(False)),
    "Score of text": (FAILED, lambda: Score("x")),
    "Score of 1e39": (FAILED, lambda: Score(1e39)),
    "Score of Score": (FAILED, lambda: Score(Score(1.0))),
    "Score of a hole": (FAILED, lambda: Score([1.0, None])),
    "raises": (FAILED, Raises),
    "leaves": (FAILED, Leaves),
    "itself": (FAILED, Itself),
    "no class": (FAILED, no_class),
    "infinite": (FAILED, lambda: Infinite(1.0)),
    "set": (FAILED, lambda: {1.0}),
    "generator": (FAILED, lambda: (x for x in (1.0, 2.0))),
    "coroutine": (FAILED, later),
    "function": (FAILED, lambda: lambda: 1.0),
    "class": (FAILED, lambda: float),
    "object": (FAILED, object),
    "long list": (FAILED, LongList),
    "empty": (FAILED, list),
    "hole": (FAILED, lambda: [1.0, None]),
    "nan step": (FAILED, lambda: [1.0, float("nan")]),
    "nested": (FAILED, lambda: [1.0, [2.0]]),
    "deep": (FAILED, deep),
    "1e39 step": (FAILED, lambda: [1e39, -1e39]),
    "sum": (FAILED, lambda: [3e38, 3e38]),
    "many steps": (FAILED, lambda: [0.0] * 2_000_000),
    "raised": (FAILED, lambda: raises(ValueError("no good"))),
    "megabyte": (FAILED, lambda: raises(ValueError("x" * 1_000_000))),
    "unprintable": (FAILED, lambda: raises(Unprintable())),
    "surrogate": (FAILED, lambda: raises(ValueError("lone \ud800 one"))),
    "lines": (FAILED, lambda: raises(ValueError("\n\n  \n"))),
    "True": (VALUE, lambda: True),
    "numpy True": (VALUE, lambda: np.bool_(True)),
    "numpy int8": (VALUE, lambda: np.int8(1)),
    "numpy array": (VALUE, lambda: np.array([[1.0]])[0]),
    "denormal": (VALUE, lambda: 1e-45),
    "largest": (VALUE, lambda: 3.4e38),
    "subclass": (VALUE, lambda: type("Grade", (float,), {})(1.0)),
    "int subclass": (VALUE, lambda: type("Count", (int,), {})(1)),
    "steps": (VALUE, lambda: [0.5, 0.5]),
    "None": (NONE, lambda: None),
    "Score of None": (NONE, lambda: Score(None)),
    "Score": (VALUE, lambda: Score(1.0, why="good", parts={"a": 1.0})),
    "odd why": (VALUE, lambda: Score(1.0, why=b"\xff", parts={"nan": float("nan"), "text": "x", 3: 10**400})),
}
IN_PROCESS_ONLY = ("odd why",)  # a worker sends plain data alone: such a Score has failed there


def tensors() -> dict[str, tuple[str, Callable[[], Any]]]:
    import torch

    return {
        "no element": (FAILED, lambda: torch.zeros(0)),
        "one": (VALUE, lambda: torch.ones(1)),
        "two": (VALUE, lambda: torch.tensor([0.5, 0.5])),
        "a table": (FAILED, lambda: torch.ones(2, 2)),
        "a scalar": (VALUE, lambda: torch.tensor(1.0)),
        "gradient": (VALUE, lambda: torch.tensor(1.0, requires_grad=True) * 1.0),
        "infinite": (FAILED, lambda: torch.tensor(float("inf"))),
        "double": (FAILED, lambda: torch.tensor(1e300, dtype=torch.float64)),
        "complex": (FAILED, lambda: torch.tensor(1 + 2j)),
        "without data": (FAILED, lambda: torch.zeros(2, device="meta")),
        "bool": (VALUE, lambda: torch.tensor(True)),
    }
