"""A finished run with its models at hand."""

from __future__ import annotations

import copy
from pathlib import Path

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.recipe import Recipe, Study
from guerdon.store.run import Run


class Trained(Run):
    """What `train` returns: the run as it is on disk, and the models it trained, loaded into the recipe's own classes."""

    def __init__(self, path: str | Path, recipe: Recipe | Study) -> None:
        super().__init__(path)
        self.recipe = recipe

    @property
    def complete(self) -> bool:
        return self.status == "complete"

    def model(self, name: str = "policy") -> Model:
        """A trained model, ready to act, to be evaluated, or to start another recipe from."""
        from safetensors.torch import load_file

        weights = self.folder.models / name / "weights.safetensors"
        if not weights.is_file():
            raise UserError(f"{self.path} has no finished model {name!r}: the run is {self.status}")
        assert isinstance(self.recipe, Recipe)
        model = copy.deepcopy(self.recipe.models[name])
        model.net = model.build(0)
        model.net.load_state_dict(load_file(weights))
        return model
