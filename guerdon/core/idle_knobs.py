"""Knobs that a recipe has from the one it is made on, and that change nothing in it.

A method that replaces the loss of GRPO still takes GRPO's `clip`, and ignores it. Whether a knob has an effect is found
by building the recipe a second time without it. Leaves out: knobs of the recipe's own function, which it may use in some
settings only.
"""

from __future__ import annotations

import dataclasses
import inspect
import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

from guerdon.core.errors import UserError
from guerdon.core.part import describe, is_part, knobs

if TYPE_CHECKING:
    from guerdon.core.recipe import Recipe, RecipeEntry


def refuse_idle(entry: RecipeEntry, built: Recipe, used: Mapping[str, Any], names: Iterable[str]) -> None:
    """Refuse a recipe if one of these knobs comes from the recipe it is made on, is not at its default, and leaves all that
    was built as it is without it."""
    if entry.on is None:
        return
    defaults, theirs, empty = entry.knobs(), entry.on.knobs(), inspect.Parameter.empty
    given = [n for n in names if n in theirs and defaults[n] is not empty and used[n] != defaults[n]]
    idle = [name for name in given if _is_same_without(name, built, entry.make, used)]
    if idle:
        raise UserError(
            f"{entry.name} does not use {' and '.join(idle)} of {entry.on.name}, the recipe it is made on: leave out"
            f" {' '.join(f'{name}={used[name]!r}' for name in idle)}"
        )


def _is_same_without(
    name: str, built: Recipe, make: Callable[[Mapping[str, Any]], Any], used: Mapping[str, Any]
) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they were given when it was built
            return _do_the_same(built, make({n: v for n, v in used.items() if n != name}))
    except UserError:  # without the knob it cannot be made
        return False


def _do_the_same(one: Recipe, other: Recipe) -> bool:
    """Whether two recipes are alike, but for models that nothing reads: GRPO's `kl` brings a reference along, which lies idle
    in a method that replaces the loss. If all else is alike, and complete without a model, nothing reads it."""
    if alike(one, other):
        return True
    apart = one.models.keys() ^ other.models.keys()
    lists = [
        {**knobs(each), "models": {n: m for n, m in each.models.items() if n not in apart}} for each in (one, other)
    ]
    if not apart or not alike(*lists):
        return False
    for each in (one, other):
        each.check()  # which refuses a recipe without a model
    return True


def alike(one: Any, other: Any) -> bool:
    """Whether two trees of parts have the same knobs everywhere, those among them that are in no hash. What both share is not
    inspected: the weights of models are not read here."""
    if one is other:
        return True
    if type(one) is not type(other):
        return False
    if is_part(one):
        return alike(knobs(one), knobs(other))
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and _all_alike(one.values(), (other[key] for key in one))
    if isinstance(one, list | tuple):
        return len(one) == len(other) and _all_alike(one, other)
    if dataclasses.is_dataclass(one) and not isinstance(one, type):
        names = [f.name for f in dataclasses.fields(one)]
        return _all_alike((getattr(one, n) for n in names), (getattr(other, n) for n in names))
    return bool(describe(one) == describe(other))


def _all_alike(some: Iterable[Any], others: Iterable[Any]) -> bool:
    return all(alike(a, b) for a, b in zip(some, others, strict=True))
