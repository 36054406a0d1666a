"""A recipe for a notebook: what it is composed of, with the names that `--set` and `but` have for its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from guerdon.core.html import page, pairs, table
from guerdon.core.part import handles, is_part, label, spell

if TYPE_CHECKING:
    from guerdon.core.recipe import Recipe


def as_html(recipe: Recipe) -> str:
    names = {id(part): name for name, part in handles(recipe).items()}
    whole = {
        **{f"model {name}": repr(model) for name, model in recipe.models.items()},
        "curriculum": repr(recipe.curriculum),
        "env": repr(recipe.env),
        "seats": ", ".join(f"{role}: {model}" for role, model in recipe.seats.items()),
        "sampling": repr(recipe.sampling),
        "exams": ", ".join(map(repr, recipe.exams)),
        "prompts": recipe.prompts,
        "steps": recipe.steps,
        "budget": "" if recipe.budget is None else repr(recipe.budget),
        "ahead": "yes" if recipe.ahead else "",
    }
    stages = [
        (i, names.get(id(stage), type(stage).__name__), _knobs(stage), *map(_columns, (stage.needs, stage.gives)))
        for i, stage in enumerate(recipe.stages, start=1)
    ]
    return page(
        f"Recipe: {', '.join(names.get(id(stage), type(stage).__name__) for stage in recipe.stages)}",
        pairs({name: value for name, value in whole.items() if value != ""}),
        table(("", "stage", "knobs", "needs", "gives"), stages),
    )


def _knobs(stage: Any) -> str:
    """The knobs that differ from their defaults; a part that is one, as it is written."""
    if not is_part(stage):
        return repr(stage)
    return spell(stage).removeprefix(f"{label(stage)}(").removesuffix(")")


def _columns(names: Any) -> str:
    return ", ".join(map(str, names))
