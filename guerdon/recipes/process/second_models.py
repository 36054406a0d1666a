"""A second model that is trained beside the policy, and where it began: copies that share what is frozen. No recipe.

Weights are copied as often as they are trained: with an adapter (`--set lm.lora=16`) the models of a run share the weights
below their adapters, and where a model began is that model with its fresh adapter switched off.
Leaves out: models of other libraries, which are copied whole.
"""

from __future__ import annotations

import copy
from typing import Any, cast

from guerdon.core.model import Model
from guerdon.models.frozen_copy import snapshot
from guerdon.models.language_model import lm
from guerdon.models.lora import LowRank
from guerdon.models.without_adapter import base
from guerdon.recipes.house.heads import with_head


def beside(model: Model) -> Model:
    """The model once more, to be trained by itself; weights that an adapter leaves frozen are the same tensors in both."""
    second: Model = copy.deepcopy(model, {id(tensor): tensor for tensor in model.frozen_weights().values()})
    return second


def scorer_beside(model: Model) -> Model:
    """The model once more with a value head, as a scorer; what an adapter leaves frozen is shared here too."""
    second: Any = with_head(model)
    for name, tensor in model.frozen_weights().items():
        path, _, last = name.rpartition(".")
        setattr(second.net.get_submodule(path), last, tensor)
    return cast(Model, second)


def begun(name: str, model: Model) -> Model:
    """Where the run's model of this name, a copy of `model`, began: itself without an adapter that began at nothing, or a
    snapshot."""
    is_fresh = isinstance(model, lm) and model.lora and not model.adapter
    return base(name) if is_fresh and not _changes(model) else snapshot(name)


def _changes(model: Any) -> list[LowRank]:
    return [] if model.net is None else [each for each in model.net.modules() if isinstance(each, LowRank)]
