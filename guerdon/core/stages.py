"""The stages of a recipe: a list, in which stages are also found by what they do and put in place by their names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import unknown
from guerdon.core.learn import Learn
from guerdon.core.part import handles

SHELF = {"rewards": "scores", "judges": "scores", "credit": "credit"}  # what the stages of a folder do


class Stages(list[Any]):
    """Stages in the order they run. `scores`, `credit` and `learners` are those of a kind, in that order: the stages of
    `guerdon.rewards` and `guerdon.judges`, those of `guerdon.credit`, and every `Learn`. A class from elsewhere,
    a recipe's own or a user's, declares which it is, `shelf = "credit"`; a stage that is none of them is in none."""

    @property
    def scores(self) -> list[Any]:
        return [stage for stage in self if shelf_of(stage) == "scores"]

    @property
    def credit(self) -> list[Any]:
        return [stage for stage in self if shelf_of(stage) == "credit"]

    @property
    def learners(self) -> list[Any]:
        return [stage for stage in self if shelf_of(stage) == "learners"]


def shelf_of(stage: Any) -> str:
    """What a stage, or a class of stages, does: `scores`, `credit`, `learners`, or what else it declares."""
    cls = stage if isinstance(stage, type) else type(stage)
    declared = getattr(stage, "shelf", "learners" if issubclass(cls, Learn) else "")
    package, _, path = cls.__module__.partition(".")
    return str(declared or (SHELF.get(path.partition(".")[0], "") if package == "guerdon" else ""))


def put_stages(root: Any, before: Mapping[str, Any], after: Mapping[str, Any], instead: Mapping[str, Any]) -> None:
    """Change the stages of a recipe in place, by the short names that `--set` has for them: a stage or a list of them goes
    before, after or instead of the one named."""
    named = {name: part for name, part in handles(root, aliases=True).items() if any(part is s for s in root.stages)}
    for places in (before, after, instead):
        for name in places:
            if name not in named:
                raise unknown("stage", name, named)
    changed = []
    for stage in root.stages:
        own = [name for name, part in named.items() if part is stage]
        here = [_all(instead[name]) for name in own if name in instead] or [[stage]]
        first, last = ([s for name in own for s in _all(where.get(name, []))] for where in (before, after))
        changed += [*first, *(s for each in here for s in each), *last]
    root.stages = changed


def _all(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]
