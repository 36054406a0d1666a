"""Values of knobs: which a type annotation admits, how they are refused, and how they are read from a command line."""

from __future__ import annotations

import ast
import inspect
import json
import operator
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal
from weakref import WeakKeyDictionary

from guerdon.core.errors import UserError, unknown


def is_schedule(value: object) -> bool:
    return callable(getattr(value, "at", None))


def _accepts(hint: Any, value: Any) -> bool:
    """Whether a plain type annotation admits the value. Annotations that are not plain types admit anything."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(_accepts(h, value) for h in typing.get_args(hint))
    if origin is Literal:
        return value in typing.get_args(hint)
    if origin in (tuple, list) and isinstance(value, str | int | float | tuple | list | None):
        hints = typing.get_args(hint)
        if isinstance(value, tuple | list):
            return _accepts_each(origin, hints, value)
        return isinstance(value, str) and any(typing.get_origin(each) for each in hints)  # a form of its part's own
    if hint is float:
        return (isinstance(value, int | float) and not isinstance(value, bool)) or is_schedule(value)
    if hint is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if hint in (bool, str):
        return isinstance(value, hint)
    if hint is type(None):
        return value is None
    return True


def _accepts_each(origin: Any, hints: tuple[Any, ...], values: Sequence[Any]) -> bool:
    """Whether the values of a list or tuple are as its annotation says."""
    if origin is list or hints[-1:] == (...,):
        return all(_accepts(hints[0], value) for value in values)
    return len(hints) == len(values) and all(map(_accepts, hints, values))


def _say_type(hint: Any) -> str:
    if typing.get_origin(hint) in (tuple, list):
        first, *others = typing.get_args(hint)
        if others and others != [...]:
            return f"{len(others) + 1} values, {','.join(_say_type(each) for each in (first, *others))}"
        return f"a list of {_say_type(first)}"
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(map(repr, typing.get_args(hint)))
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        return " or ".join(_say_type(h) for h in typing.get_args(hint))
    return "None" if hint is type(None) else getattr(hint, "__name__", str(hint))


def type_hints(thing: Any) -> dict[str, Any]:
    """The annotations of a class or function; those that name something unknown at run time are left out."""
    hints = _HINTS.get(thing)
    if hints is None:
        try:
            hints = _HINTS[thing] = typing.get_type_hints(thing)
        except NameError:  # may become known: not remembered
            return {k: v for k, v in inspect.get_annotations(thing).items() if not isinstance(v, str)}
    return hints


_HINTS: WeakKeyDictionary[Any, dict[str, Any]] = WeakKeyDictionary()  # it is asked of a class whenever a part is made


_LIMITS: dict[str, tuple[str, Callable[[float, float], bool]]] = {
    "ge": ("at least", operator.ge),
    "gt": ("greater than", operator.gt),
    "le": ("at most", operator.le),
}


def check_value(where: str, value: Any, hint: Any, limits: Mapping[str, Any]) -> None:
    """Refuse a value its knob does not admit, in one line with what it admits."""
    choices = limits.get("choices")
    if choices is not None and value not in choices:
        if isinstance(value, str):
            raise unknown(f"value of {where}", value, [c for c in choices if isinstance(c, str)])
        raise UserError(f"{where} must be one of {', '.join(map(repr, choices))}, not {value!r}")
    if hint is not None and not _accepts(hint, value):
        raise UserError(f"{where} must be {_say_type(hint)}, not {value!r}")
    if isinstance(value, int | float) and not isinstance(value, bool):
        for sign, (words, fits) in _LIMITS.items():
            limit = limits.get(sign)
            if limit is not None and not fits(value, limit):  # NaN fits nothing
                raise UserError(f"{where} must be {words} {limit}, not {value!r}")


def _list_in(hint: Any) -> Any:
    """The list or tuple that an annotation admits, if it admits one."""
    admitted = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    return next((each for each in admitted if typing.get_origin(each) in (tuple, list)), None)


def _listed(text: str, hint: Any) -> Any:
    """The values of a list or tuple as JSON, as Python writes it, or between commas; None where it is none of these."""
    origin, hints = typing.get_origin(hint), typing.get_args(hint)
    try:
        values = list(ast.literal_eval(text) if text[:1] in ("(", "[") else _between_commas(text, hints[0]))
    except (UserError, ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return origin(tuple(each) if isinstance(each, list) and origin is tuple else each for each in values)


def _between_commas(text: str, hint: Any) -> list[Any]:
    return [parse(each.strip(), hint, "") for each in text.split(",")] if text.strip() else []


SCHEDULES: dict[str, Callable[..., Any]] = {}  # by name: what `core/schedule.py` has


def parse(text: str, hint: Any, where: str) -> Any:
    """A knob's value from the command line: JSON where it reads as JSON, a string otherwise; the hint settles doubts. Where a
    list is meant its values may stand between commas: `0.1,0.9`.

    >>> parse("0.1,0.9", tuple[float, float], "band"), parse("7", str | None, "name"), parse("a", tuple[str, ...], "kinds")
    ((0.1, 0.9), '7', ('a',))
    """
    if hint is str:
        return text
    of = _list_in(hint)
    if of is not None and (text[:1] in ("(", "[") or not _accepts(hint, text)):
        values = _listed(text, of)
        if values is not None and _accepts(of, values):
            return values
    try:
        value = json.loads(text.lower() if text in ("True", "False", "None") else text)
    except (ValueError, RecursionError):  # no JSON, or deeper and longer than any knob
        value = None if text == "None" else text
    if hint is not None and not _accepts(hint, value):
        if not _accepts(hint, text):
            return _schedule(text, hint, where)
        return text  # a number where words are meant: `str | None` takes "7" as it stands
    return value


def _schedule(text: str, hint: Any, where: str) -> Any:
    """A schedule as Python writes it, `warmup(cosine(1e-3), 50)`, where the knob takes one."""
    try:
        value = _made(ast.parse(text.strip(), mode="eval").body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        value = text
    if _accepts(hint, value):
        return value
    schedules = ", or a schedule of it, linear(1e-3, 0)" if _accepts(hint, 0.5) else ""
    raise UserError(f"{where} must be {_say_type(hint)}{schedules}, not {text!r}")


def _made(node: ast.expr) -> Any:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in SCHEDULES:
        named = {word.arg: _made(word.value) for word in node.keywords if word.arg is not None}
        return SCHEDULES[node.func.id](*map(_made, node.args), **named)
    return ast.literal_eval(node)
