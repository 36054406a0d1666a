"""Arguments of the Python front door, checked against its signature: a wrong one is refused in one line with the fix.

Leaves out: knobs of recipes and parts, which are checked where they are set (`knob_values.py`).
"""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.knob_values import type_hints
from guerdon.core.shown_text import cut

WORDS = {int: "a whole number", float: "a number", str: "text", bool: "True or False", Path: "a path"}
SHOWN = 60  # characters of what was given


def check_arguments(call: str, function: Callable[..., Any], given: Mapping[str, Any], /, **examples: str) -> None:
    """Refuse arguments of another type than the function's annotations say. `given` are its locals, where it begins;
    `examples` show how an argument is written.

    >>> def train(*, steps: int | None = None): ...
    >>> check_arguments("train", train, {"steps": "many"})
    Traceback (most recent call last):
    guerdon.core.errors.UserError: train: steps must be a whole number, not 'many'
    """
    for name, hint in type_hints(function).items():
        if name in given and not admits(hint, given[name]):
            mend = _mend(name, hint, given[name], examples)
            raise UserError(f"{call}: {name} must be {_said(hint)}, not {cut(repr(given[name]), SHOWN)}{mend}")


def admits(hint: Any, value: Any) -> bool:
    """Whether an annotation admits a value: only its classes are checked."""
    origin = typing.get_origin(hint)
    if origin in (typing.Union, types.UnionType):
        return any(admits(each, value) for each in typing.get_args(hint))
    kind = origin or hint
    if kind is Any:
        return True
    if kind is None or kind is type(None):
        return value is None
    if kind is int:
        return isinstance(value, int) and not isinstance(value, bool)
    if kind is Sequence:
        return isinstance(value, Sequence) and not isinstance(value, str | bytes)
    if kind is Callable:
        return callable(value)
    return not isinstance(kind, type) or isinstance(value, kind)


def _said(hint: Any) -> str:
    """An annotation in words, without None: that means omitting the argument."""
    options = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    words = [_word(typing.get_origin(each) or each) for each in options if each is not type(None)]
    return " or ".join(dict.fromkeys("a path" if word == "text" and "a path" in words else word for word in words))


def _word(kind: Any) -> str:
    if kind in (Mapping, dict):
        return "a dictionary"
    if kind is Sequence:
        return "a list"
    return WORDS.get(kind) or f"{getattr(kind, '__name__', kind)}(...)"


def _mend(name: str, hint: Any, value: Any, examples: Mapping[str, str]) -> str:
    made = [kind for kind in (hint, *typing.get_args(hint)) if hasattr(kind, "__part__")]
    if made and isinstance(value, Mapping):  # the knobs of what is meant
        return f": {name}=gd.{made[0].__name__}({', '.join(f'{k}={v!r}' for k, v in value.items())})"
    if admits(hint, 0) and hasattr(value, "__index__") and not isinstance(value, bool):
        return f": {name}=int({name})"
    return f": {name}={examples[name]}" if name in examples else ""
