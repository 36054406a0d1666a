"""What recipes with a critic or a scorer have in common: a copy of a language model whose head says a number. No recipe."""

from __future__ import annotations

import copy
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import knobs, label


def with_head(model: Model) -> Model:
    """The model, once more, with a value head: the one it has, or a fresh one that says 0. It must say one number."""
    if "value" not in knobs(model):
        raise UserError(
            f"a {label(model)} has no value head, so it can be neither critic nor scorer: use an lm (--model sprig)"
        )
    headed: Any = copy.deepcopy(model)
    headed.value = headed.value or True
    if getattr(headed.value, "outputs", 1) != 1:
        raise UserError(
            f"a critic or scorer says one number, and this head says {headed.value.outputs}: give it outputs=1"
        )
    scorer: Model = headed
    return scorer
