"""The model of a run that names none: the one that comes with the package, for problems that it was made for."""

from __future__ import annotations

import inspect
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.recipe import Recipe, RecipeEntry, Study
from guerdon.models.shipped_models import NEWEST
from guerdon.tasks.files import rows
from guerdon.training.catalog import find_recipe

DEFAULT = NEWEST


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
            "problems of your own need a model of your choice: --model sprig (small, comes with the package), or"
            " --model HuggingFaceTB/SmolLM2-135M-Instruct (from the hub; a folder will do)"
        )
    return None if task is None else DEFAULT


def about_default(model: str) -> str:
    return f"model {model}, which comes with the package"
