"""A finished run with its models at hand."""

from __future__ import annotations

import copy
from pathlib import Path

from guerdon.core.errors import UserError, unknown
from guerdon.core.model import Model, shared
from guerdon.core.recipe import Recipe, Study
from guerdon.core.seeds import derive
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.training.resume import restore_weights


class Trained(Run):
    """What `train` returns: the run as it is on disk, and the models it trained, loaded into the recipe's own classes."""

    def __init__(self, path: str | Path | RunFolder, recipe: Recipe | Study) -> None:
        super().__init__(path)
        self.recipe = recipe

    @property
    def complete(self) -> bool:
        return self.status == "complete"

    def model(self, name: str = "policy") -> Model:
        """A trained model, ready to act, to be evaluated, or to start another recipe from."""
        if not self.complete:
            raise UserError(f"{self.folder.named} has no finished model {name!r}: the run is {self.status}")
        assert isinstance(self.recipe, Recipe)
        if name not in self.recipe.models:
            raise unknown("model of the run", name, self.recipe.models)
        model = copy.deepcopy(self.recipe.models[name], shared(self.recipe.models.values()))
        model.net = model.rebuilt(derive(self.config["seed"], "weights", name))
        restore_weights(self.folder, name, model)
        return model
