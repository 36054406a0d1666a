"""A formula as people see it: a tree of named parts with their weights; the same formula with other weights; as Python.

A weight is named by the way down to what it weighs, `right` or `shaped/brief`. Leaves stay the same objects in a formula of
other weights, so that their scores need not be computed again.
"""

from __future__ import annotations

import copy
import dataclasses
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import guerdon
from guerdon.core.errors import UserError, unknown
from guerdon.core.part import is_part
from guerdon.core.shown_text import cut
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.function import reward as function_reward
from guerdon.rewards.formula.algebra import extreme
from guerdon.rewards.formula.reward import Reward, blended, weighted
from guerdon.rewards.stage.scorer import Path

Weights = Mapping[str, float]
INNER = "*"  # a weight on what is weighed already, or on the whole
DOC = 200  # characters of a docstring


def key_of(path: Path) -> str:
    return "/".join(path)


def tree_of(formula: Reward, path: Path = (), weight: Any = None) -> dict[str, Any]:
    """The formula as plain data: each part with its name, its formula, its weight and its own parts."""
    own = formula.by if isinstance(formula, weighted) else None
    key = weight_key(path) if weight is None else key_of(path)
    by = own if weight is None else weight
    terms = formula.terms if isinstance(formula, blended) else {}
    return {
        "path": key_of(path),
        "name": path[-1] if path else formula.name,
        "kind": "function" if isinstance(formula, function_reward) else type(formula).__name__,
        "formula": cut(str(formula), DOC),
        "weight": by if _is_number(by) else None,
        "weight_key": key if by is not None else None,
        "schedule": None if by is None or _is_number(by) else str(by),
        "wants": wants_of(formula) if isinstance(formula, Leaf) else [],
        "doc": _doc(formula) if isinstance(formula, Leaf) else "",
        "parts": [tree_of(part, (*path, name), _weight_of(terms.get(name))) for name, part in formula.of.items()],
    }


def weight_key(path: Path) -> str:
    """Of a weight that is not that of a term in a sum."""
    return f"{key_of(path)}{'/' if path else ''}{INNER}"


def weights_of(formula: Reward) -> dict[str, Any]:
    """Every weight of a formula, a number or a schedule, by its key."""

    def walk(node: Mapping[str, Any]) -> dict[str, Any]:
        own = {node["weight_key"]: node["weight"]} if node["weight_key"] is not None else {}
        return {**own, **{key: by for part in node["parts"] for key, by in walk(part).items()}}

    return walk(tree_of(formula))


def reweighted(formula: Reward, weights: Weights) -> Reward:
    """The same formula with other weights, over the very same leaves."""
    known = weights_of(formula)
    for key, by in weights.items():
        if key not in known:
            raise unknown("weight", key, [*known])
        if not _is_number(by) or not math.isfinite(by):
            raise UserError(f"the weight of {key} is a number, not {by!r}")
    return _changed(formula, (), weights)


def _changed(formula: Reward, path: Path, weights: Weights) -> Reward:
    if not formula.of:
        return formula
    made = copy.copy(formula)
    parts = {name: _changed(part, (*path, name), weights) for name, part in formula.of.items()}
    if isinstance(formula, blended):
        terms = {name: _term(formula.terms[name], part, (*path, name), weights) for name, part in parts.items()}
        made.terms = terms  # type: ignore[attr-defined]
        return made
    now = {id(before): parts[name] for name, before in formula.of.items()}
    for name, value in vars(formula).items():
        setattr(made, name, _replaced(value, now))
    if isinstance(formula, weighted):
        made.by = weights.get(weight_key(path), formula.by)  # type: ignore[attr-defined]
    return made


def _term(before: Reward, part: Reward, path: Path, weights: Weights) -> Reward:
    """A term of a sum: its part with its weight, where it has one or gets one."""
    by = weights.get(key_of(path), _weight_of(before))
    return part if by == 1.0 and not isinstance(before, weighted) else weighted(part, by)


def _weight_of(term: Any) -> Any:
    """What a term of a sum is weighed by; None for what is not a term."""
    return None if term is None else term.by if isinstance(term, weighted) else 1.0


def _replaced(value: Any, now: Mapping[int, Reward]) -> Any:
    """A field with the parts in it changed."""
    if isinstance(value, Reward):
        return now.get(id(value), value)
    if isinstance(value, list):
        return [_replaced(each, now) for each in value]
    if isinstance(value, dict):
        return {name: _replaced(each, now) for name, each in value.items()}
    return value


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def wants_of(leaf: Leaf) -> list[dict[str, Any]]:
    """What a leaf asks for, by name, and whether it can do without."""
    return [{"name": name, "optional": name in leaf.wants.optional} for name in leaf.wants.names]


def _doc(formula: Leaf) -> str:
    function = formula.called if isinstance(formula, function_reward) else type(formula)
    own = inspect.getdoc(function) or ""
    return cut(own.partition("\n")[0], DOC)


# --- as Python ------------------------------------------------------------------------------------------------------


def as_python(formula: Reward, names: Mapping[int, str]) -> str:
    """An expression that makes the formula; `names` are what the user's file calls its leaves, by their `id`."""
    if id(formula) in names:
        return names[id(formula)]

    def say(value: Any) -> str:
        return _said(value, names)

    if isinstance(formula, function_reward):
        return formula.name if formula.name.isidentifier() else "MY_REWARD"
    if isinstance(formula, weighted):
        return f"{say(formula.reward)}.weight({say(formula.by)})"
    if isinstance(formula, blended):
        terms = {name: say(term) for name, term in formula.terms.items()}
        named = [f"{name}={term}" for name, term in terms.items()]
        quoted = ", ".join(f"{name!r}: {term}" for name, term in terms.items())
        said = named if all(map(str.isidentifier, terms)) else [f"**{{{quoted}}}"]
        return f"gd.blend({', '.join([*said, *(['renormalise=True'] if formula.renormalise else [])])})"
    if isinstance(formula, extreme):
        return f"gd.{'least' if formula.which == 'min' else 'most'}({', '.join(map(say, formula.parts))})"
    front = "gd." if hasattr(guerdon, type(formula).__name__) else ""
    return f"{front}{type(formula).__name__}({', '.join(_knobs(formula, say))})"


def _knobs(formula: Reward, say: Callable[[Any], str]) -> list[str]:
    """Arguments that make a part, but for those that are as they are without being said."""
    said: list[str] = []
    for field in dataclasses.fields(formula) if is_part(formula) else ():  # type: ignore[arg-type]
        value = getattr(formula, field.name)
        if not field.init or (field.default is not dataclasses.MISSING and field.default == value):
            continue
        is_first = field.default is dataclasses.MISSING and len(said) < 2 and isinstance(value, Reward)
        said.append(say(value) if is_first else f"{field.name}={say(value)}")
    return said


def _said(value: Any, names: Mapping[int, str]) -> str:
    if isinstance(value, Reward):
        return as_python(value, names)
    if isinstance(value, list):
        return f"[{', '.join(_said(each, names) for each in value)}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{name!r}: {_said(each, names)}' for name, each in value.items())}}}"
    front = "gd." if is_part(value) and hasattr(guerdon, type(value).__name__) else ""
    return f"{front}{value!r}"
