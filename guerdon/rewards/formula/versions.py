"""A reward's version: a short hash of what it computes, so that a run can name the reward it was trained on.

It is made of source, knobs and models; of a formula, with the versions of its parts.
Comments, docstrings and layout do not count.
Leaves out: functions that the function calls, and libraries: their change is not seen.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
from collections.abc import Mapping
from types import CodeType
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import describe, hashed_label, is_absent, is_part, label
from guerdon.core.syntax import syntax

LENGTH = 12  # hexadecimal digits


def version_of(reward: Any) -> str:
    """The hash of a reward."""
    identity = getattr(reward, "identity", None)
    facts = {
        "part": hashed_label(reward),
        "source": [source_of(each) for each in reward.sources],
        "knobs": _knobs(reward) if is_part(reward) else {},
        "identity": identity() if callable(identity) else None,
    }
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:LENGTH]


def _knobs(reward: Any) -> dict[str, Any]:
    fields = [f for f in dataclasses.fields(reward) if f.init and not is_absent(reward, f)]
    meant = reward.meant() if hasattr(reward, "meant") else {}  # a folder is replaced by its contents
    return {f.name: _told(meant.get(f.name, getattr(reward, f.name))) for f in fields}


def _told(value: Any) -> Any:
    """A knob's value as JSON."""
    if hasattr(value, "sources") and hasattr(type(value), "version"):  # a reward: a mixture of tasks has sources too
        return value.version
    if isinstance(value, Mapping):
        return {str(name): _told(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_told(each) for each in value]
    if callable(value) and not is_part(value):
        return source_of(value)
    try:
        return describe(value)
    except UserError:  # an object that is not a knob of a recipe, and may still be one of a reward
        return label(value)


def source_of(thing: Any) -> Any:
    """What a function or class does, as text: its syntax, else its code; with the plain values that a function holds."""
    if isinstance(thing, functools.partial):
        return [source_of(thing.func), _told(thing.args), _told(thing.keywords)]
    thing = inspect.unwrap(thing)
    code = getattr(thing, "__code__", None)
    if not isinstance(code, CodeType) and not isinstance(thing, type):
        held = {name: _told(value) for name, value in vars(thing).items()} if hasattr(thing, "__dict__") else {}
        return [source_of(type(thing)), held]  # an object that is called like a function
    closed = inspect.getclosurevars(thing).nonlocals if code else {}
    plain = {n: v for n, v in closed.items() if v is None or isinstance(v, bool | int | float | str)}
    try:
        text = syntax(inspect.getsource(thing))
    except (OSError, TypeError):  # written at a prompt, or built in
        text = _code(code) if code else f"{thing.__module__}.{thing.__qualname__}"
    return [text, plain, _told(list(getattr(thing, "__defaults__", None) or ()))]


def _code(code: CodeType) -> str:
    held = [_code(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return f"{code.co_code.hex()} {code.co_names} {held}"
