"""The model of a run that names none: the one that comes with the package, for problems that it was made for. And what to do
where a model solves none of the user's own problems.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from guerdon.core.errors import UserError, spelled
from guerdon.core.recipe import Recipe, RecipeEntry, Study
from guerdon.models.shipped_models import NEWEST, SHIPPED
from guerdon.tasks.files import rows
from guerdon.training.catalog import find_recipe

DEFAULT = NEWEST
ALMOST_NONE = 0.02  # the share of problems that are solved by luck


def default_model(recipe: Any, task: Any, data: Any) -> str | None:
    """The name of the model that a recipe is trained with where none is named; None where it needs none, or no task is given.

    Problems of the user's own are refused: what suits them is for the user to say.
    """
    if isinstance(recipe, Recipe | Study):
        return None
    entry = recipe if isinstance(recipe, RecipeEntry) else find_recipe(recipe)
    slot = entry.parameters().get("model")
    if slot is None or slot.default is not inspect.Parameter.empty:
        return None
    if data is not None or isinstance(task, rows):
        raise UserError(
            "problems of your own need a model of your choice: --model sprig (small, comes with the package, knows its own"
            " tasks alone), --model smollm2 (guerdon models get smollm2), or --model HuggingFaceTB/SmolLM2-135M-Instruct (from"
            " the hub; a folder will do)"
        )
    return None if task is None else DEFAULT


def about_default(model: str) -> str:
    return f"model {model}, which comes with the package"


def about_unsolved(config: Mapping[str, Any], result: Mapping[str, Any], scores: bool) -> str:
    """What to do where the first exam of a run on problems of the user's own finds almost none of them solved; empty where
    more are, or where a model that reads English learns from worked answers: the run `scores` no tries."""
    solved = result.get("pass@1", 1.0)
    if not config["data"] or solved > ALMOST_NONE:
        return ""
    none = f"{'almost ' if solved else ''}none of {result['tasks']} held-out problems is solved"
    teach = "teach on worked answers first, guerdon train sft, then go on from that run (docs/first_day.md)"
    if spelled(str(config["wish"]["model"]), SHIPPED) in SHIPPED:
        return (
            f"{none}, and sprig knows the tasks of the package alone: guerdon models get smollm2, then --model smollm2;"
            f" {teach}"
        )
    return f"{none}, and wrong tries alone teach nothing: {teach}" if scores else ""
