"""The builtins and methods that plain functions may call, and the bounds that keep them small.

Only plain values are ever handed to them: numbers, text, lists, tuples, dicts, sets, ranges, and what is gone through once
(`Once`), which counts as it goes.
Leaves out: evaluating expressions (`plain_expressions.py`).
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterable, Iterator
from typing import Any

LONGEST = 10_000  # elements of a list, letters of a text
MOST_BITS = 10_000
NESTED = 4


class Unsupported(Exception):
    """The program is more than a plain evaluator knows: it says nothing about whether it is right."""


class Endless(Exception):
    """A call took more steps than it may."""


class Once:
    """What is gone through once, counting: a generator, or what zip, map, enumerate and the like give."""

    __slots__ = ("values",)

    def __init__(self, values: Iterator[Any]) -> None:
        self.values = values

    def __iter__(self) -> Iterator[Any]:
        return self.values

    def __next__(self) -> Any:
        return next(self.values)


PLAIN = (int, float, str, bool, type(None), list, tuple, dict, set, range, slice, Once)
HOLDERS = (list, tuple, dict, set)


def is_plain_answer(value: Any) -> bool:
    """Whether a value is taken as an answer: a number, a text, a truth, nothing, or a list of these."""
    if type(value) is list:
        return len(value) <= LONGEST and all(_is_single(each) for each in value)
    return _is_single(value)


def is_plain_constant(value: Any) -> bool:
    return type(value) in (int, float, bool, type(None)) or (type(value) is str and len(value) <= LONGEST)


def _is_single(value: Any) -> bool:
    if type(value) is int:
        return value.bit_length() <= LONGEST
    return type(value) in (bool, float, type(None)) or (type(value) is str and len(value) <= LONGEST)


def weigh(value: Any, depth: int = 0) -> None:
    """Refuse what is nested so that going through it may take forever."""
    if type(value) in HOLDERS:
        if depth > NESTED or len(value) > LONGEST:
            raise Unsupported("values in values")
        for each in value.values() if type(value) is dict else value:
            if type(each) in HOLDERS:
                weigh(each, depth + 1)


def known_order(values: Any) -> Any:
    """What can be gone through, in an order that every process agrees on: sets of text have none."""
    if type(values) is set and any(type(each) not in (int, bool) for each in values):
        raise Unsupported("the order of a set")
    if type(values) in (int, float, bool, type(None)):
        raise TypeError("not iterable")
    if type(values) not in PLAIN:
        raise Unsupported("what is gone through")
    return values


def check_sizes(operation: type[ast.operator], a: Any, b: Any) -> None:
    """Refuse an operation on two values whose result would be too large."""
    if type(a) not in PLAIN or type(b) not in PLAIN:
        raise Unsupported("an operation on what is not plain")
    if isinstance(a, int) and isinstance(b, int):
        if operation is ast.Mult and a.bit_length() + b.bit_length() > MOST_BITS:
            raise Unsupported("a large number")
        if operation is ast.Pow and (abs(b) > MOST_BITS or a.bit_length() * max(b, 1) > MOST_BITS):
            raise Unsupported("a large number")
        if operation is ast.LShift and b > MOST_BITS - a.bit_length():
            raise Unsupported("a large number")
        return
    if operation is ast.Mod and type(a) is str:
        raise Unsupported("a format")
    if operation is ast.Add and type(a) is type(b) and type(a) in (str, list, tuple) and len(a) + len(b) > LONGEST:
        raise Unsupported("a long list")
    if operation is ast.Mult:
        for many, times in ((a, b), (b, a)):
            if isinstance(many, str | list | tuple) and isinstance(times, int) and len(many) * times > LONGEST:
                raise Unsupported("a long list")


def bounded(values: Any) -> Any:
    """Something to go through that is not too long."""
    known_order(values)
    if type(values) is range and len(values) > LONGEST:
        raise Unsupported("a long range")
    return values


def _from(make: Callable[..., Any]) -> Callable[..., Any]:
    def made(*arguments: Any) -> Any:
        return make(*[bounded(each) for each in arguments])

    return made


def _ordered(pick: Callable[..., Any]) -> Callable[..., Any]:
    """`sorted`, `max` and `min`: a set's order matters only with a key."""

    def picked(*arguments: Any, **named: Any) -> Any:
        if not set(named) <= {"key", "default", "reverse"}:
            raise TypeError("an unknown argument")
        if len(arguments) == 1 and (named.get("key") is not None or type(arguments[0]) is not set):
            bounded(arguments[0])
        return pick(*arguments, **named)

    return picked


def _summed(values: Any, start: Any = 0) -> Any:
    if type(start) not in (int, float, bool):
        raise Unsupported("a sum of lists")
    return sum(bounded(values), start)


def _text(value: Any = "") -> str:
    if type(value) not in (int, float, str, bool, type(None)):
        raise Unsupported("the text of a list")
    return str(value)


def _number(value: Any = 0, *base: Any) -> int:
    return int(value, *base)


def _length(values: Any) -> int:
    return len(values)


def _whole_power(a: Any, b: Any, *m: Any) -> Any:
    if m:
        raise Unsupported("a power with a modulus")
    check_sizes(ast.Pow, a, b)
    return pow(a, b)


def _next(values: Any, *default: Any) -> Any:
    if type(values) is not Once:
        raise Unsupported("next")
    return next(values.values, *default)


def _reversed(values: Any) -> Any:
    if type(values) not in (list, tuple, str, range):
        raise Unsupported("reversed")
    return reversed(bounded(values))


def _mapped(act: Any, *lists: Any) -> Any:
    return map(act, *[bounded(each) for each in lists])


def _filtered(keep: Any, values: Any) -> Any:
    return filter(keep, bounded(values))


BUILTINS: dict[str, Callable[..., Any]] = {
    "len": _length,
    "sum": _summed,
    "max": _ordered(max),
    "min": _ordered(min),
    "sorted": _ordered(sorted),
    "abs": abs,
    "range": range,
    "list": _from(list),
    "tuple": _from(tuple),
    "set": lambda *values: set(*values) if values and type(values[0]) is set else set(*map(bounded, values)),
    "dict": _from(dict),
    "any": _from(any),
    "all": _from(all),
    "int": _number,
    "float": float,
    "bool": bool,
    "str": _text,
    "ord": ord,
    "chr": chr,
    "divmod": divmod,
    "pow": _whole_power,
    "round": round,
    "next": _next,
}
ONE_BY_ONE: dict[str, Callable[..., Any]] = {  # what these give is gone through once, and counted
    "zip": lambda *lists: zip(*[bounded(each) for each in lists], strict=False),
    "enumerate": lambda values, start=0: enumerate(bounded(values), start),
    "reversed": _reversed,
    "map": _mapped,
    "filter": _filtered,
    "iter": lambda values: iter(bounded(values)),
}


def _product(values: Any) -> Any:
    factors = list(bounded(values))
    if not all(isinstance(each, int) for each in factors) or sum(each.bit_length() for each in factors) > MOST_BITS:
        raise Unsupported("a large number")
    return math.prod(factors)


OF_MATH: dict[str, Callable[..., Any]] = {"prod": _product, "gcd": math.gcd, "floor": math.floor, "ceil": math.ceil}
METHODS: dict[type, frozenset[str]] = {
    list: frozenset(
        ["append", "extend", "insert", "pop", "remove", "reverse", "sort", "count", "index", "copy", "clear"]
    ),
    str: frozenset(
        [
            "lower",
            "upper",
            "split",
            "join",
            "strip",
            "lstrip",
            "rstrip",
            "replace",
            "startswith",
            "endswith",
            "count",
            "find",
            "rfind",
            "index",
            "isdigit",
            "isalpha",
            "isupper",
            "islower",
            "isspace",
            "isalnum",
            "title",
            "capitalize",
            "swapcase",
        ]
    ),
    dict: frozenset(["get", "keys", "values", "items", "pop", "setdefault", "copy"]),
    set: frozenset(
        ["add", "discard", "remove", "union", "intersection", "difference", "issubset", "issuperset", "copy"]
    ),
    tuple: frozenset(("count", "index")),
}


def counted(values: Iterable[Any], tick: Callable[[], None]) -> Once:
    """A count for each element that is taken."""

    def one_by_one() -> Iterator[Any]:
        for value in values:
            tick()
            yield value

    return Once(one_by_one())


def method_of(value: Any, name: str, arguments: list[Any], named: dict[str, Any]) -> Any:
    """Call a method of a plain value."""
    kind = type(value)
    if kind not in METHODS or name not in METHODS[kind]:
        if kind in (int, float, bool, type(None), *METHODS) and not hasattr(kind, name):
            raise AttributeError(name)
        raise Unsupported(f"the method {name}")
    if named and (kind is not list or name != "sort" or not set(named) <= {"key", "reverse"}):
        raise Unsupported("arguments by name")
    if name in ("extend", "join", "union", "intersection", "difference"):
        for each in arguments:
            bounded(each)
    if kind is str and name == "replace":
        if not all(type(each) is str for each in arguments) or len(arguments) != 2:
            raise Unsupported("replace")
        if (len(value) + 1) * (len(arguments[1]) + 1) > LONGEST:
            raise Unsupported("a long text")
    if kind is str and name == "join" and len(value) > 100:
        raise Unsupported("a long text")
    if kind is list and len(value) > LONGEST:
        raise Unsupported("a long list")
    got = getattr(value, name)(*arguments, **named)
    if type(got) is str and len(got) > LONGEST:
        raise Unsupported("a long text")
    if kind is dict and name in ("keys", "values", "items"):
        return list(got)
    return got
