"""What a checkpoint of a recipe holds, and how a recipe takes it up again.

Random numbers need no saving: each derives from the seed and the place it is drawn at, and both are in the checkpoint.
Nor do weights that nothing trains (`Model.frozen_weights`): a recipe that is started has them, and the checkpoint has their
hash. Where something wrote to them after all, it has them too.
`Trained` is a finished run with its models at hand.
Leaves out: when it is written, and by whom (`save_beside.py`).
"""

from __future__ import annotations

import copy
import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from guerdon.core.errors import UserError, unknown
from guerdon.core.learn import Learn
from guerdon.core.manifest import write_manifest
from guerdon.core.model import Model, shared, weights_hash
from guerdon.core.pack import pack
from guerdon.core.part import get_state, set_state, walk
from guerdon.core.recipe import Recipe, Study
from guerdon.core.seeds import derive
from guerdon.core.tensor_hashes import chain_hash, frozen_hash
from guerdon.models import model_loading
from guerdon.models.model_loading import MODEL_SUMS
from guerdon.runs.belonging import owners
from guerdon.runs.checkpoint import Checkpoint, load_checkpoint, optimiser_tensors, restore_optimiser
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.runs.whole_files import atomic
from guerdon.training.build import RunRequest, build
from guerdon.training.rollouts import Played
from guerdon.training.trust import check_trust


def _learners(recipe: Recipe) -> list[tuple[str, Learn]]:
    return [(path, member) for path, member in walk(recipe) if isinstance(member, Learn)]


def bases_of(recipe: Recipe) -> dict[str, str]:
    """The hashes of the weights that nothing trains, by model, where it has any."""
    frozen = {name: model.frozen_weights() for name, model in recipe.models.items()}
    return {name: frozen_hash(weights) for name, weights in frozen.items() if weights}


def checkpoint_of(recipe: Recipe, done: int, as_begun: Mapping[str, str], waiting: Played | None = None) -> Checkpoint:
    """Weights of every model, every optimiser, every part's state, after `done` steps; and what was played ahead. Not in it are
    the weights of `as_begun`, models whose frozen ones have this hash since the run began."""
    tensors: dict[str, Tensor] = {}
    for name, model in recipe.models.items():
        left_out = model.frozen_weights() if name in as_begun else {}
        tensors |= {f"model/{name}/{k}": v for k, v in model.weights.state_dict().items() if k not in left_out}
    for path, learn in _learners(recipe):
        assert learn.optimiser is not None
        tensors |= optimiser_tensors(f"optimiser/{path}", learn.optimiser)
    versions = {name: model.version for name, model in recipe.models.items()}
    state: dict[str, Any] = {"parts": get_state(recipe), "versions": versions, "bases": dict(as_begun)}
    ahead = None
    if waiting is not None:
        state["ahead"] = {"step": waiting.step, "counts": waiting.counts, "metrics": waiting.metrics}
        ahead = pack(waiting.episodes)
    return Checkpoint(done, tensors, state, ahead)


def restore(folder: RunFolder, recipe: Recipe, warn: Callable[[str], None]) -> tuple[int, Played | None]:
    """Bring a started recipe to the newest whole checkpoint. Returns the steps done, 0 when there is none, and the
    episodes of the next step if they were played ahead."""
    checkpoint = load_checkpoint(folder.checkpoints, warn, owners(folder))
    if checkpoint is None:
        return 0, None
    for name, model in recipe.models.items():
        _give_weights(checkpoint, name, model)
    for path, learn in _learners(recipe):
        assert learn.optimiser is not None
        restore_optimiser(f"optimiser/{path}", learn.optimiser, checkpoint.tensors)
    set_state(recipe, checkpoint.state["parts"])
    if checkpoint.ahead is None:
        return checkpoint.step, None
    return checkpoint.step, Played(**checkpoint.state["ahead"], episodes=list(checkpoint.ahead.episodes))


def restore_weights(folder: RunFolder, name: str, model: Model) -> None:
    """Give a model the weights that the last checkpoint of a finished run has for it, and no earlier ones."""
    faults: list[str] = []
    checkpoint = load_checkpoint(folder.checkpoints, faults.append, owners(folder))
    if checkpoint is None or faults:
        why = faults[0].partition(";")[0] if faults else "it has no checkpoint"
        raise UserError(f"{folder.named} has lost its final weights: {why}; delete the folder and run it again")
    _give_weights(checkpoint, name, model)


def policy_so_far(folder: RunFolder, trust: bool) -> tuple[Model, int] | None:
    """The policy of a run that has not finished, as its last whole checkpoint has it, and the steps done by then; None where
    there is no checkpoint, or the run was started from Python objects."""
    config = folder.read_config()
    checkpoint = load_checkpoint(folder.checkpoints, lambda fault: None, owners(folder))
    if checkpoint is None or not config["plain"]:
        return None
    check_trust(folder.named, config, trust)
    recipe = build(RunRequest.of_config(config)).recipe
    if not isinstance(recipe, Recipe) or "policy" not in recipe.models:
        return None
    model = recipe.models["policy"]
    model.start(derive(config["seed"], "weights", "policy"), recipe.models)
    _give_weights(checkpoint, "policy", model)
    return model, checkpoint.step


def _give_weights(checkpoint: Checkpoint, name: str, model: Model) -> None:
    start = f"model/{name}/"
    held = {k.removeprefix(start): v for k, v in checkpoint.tensors.items() if k.startswith(start)}
    frozen = model.frozen_weights()
    base = checkpoint.state.get("bases", {}).get(name)
    if base is None:
        for weight in frozen.values():  # they are in the checkpoint, and may be shared with models outside of the run
            weight.data = torch.empty_like(weight)
    elif base != frozen_hash(frozen):
        raise UserError(
            f"{name!r} is not the model that this run trains an adapter of, for its weights differ: restore the ones that it"
            " began with, or start a new run with --out"
        )
    missing, extra = model.weights.load_state_dict(held, strict=False)
    assert not extra and set(missing) == (set() if base is None else set(frozen)), f"{missing} {extra}"
    model.version = checkpoint.state["versions"][name]


def save_models(folder: RunFolder, recipe: Recipe) -> None:
    """The trained models on their own, to be loaded by name of the folder."""
    for name, model in recipe.models.items():
        if model.trains and model_loading.is_named(model):
            with atomic(folder.models / name) as scratch:
                model_loading.save(model, scratch)
                write_manifest(scratch, MODEL_SUMS, owner=folder.run_id())


def weights_of(recipe: Recipe) -> str:
    """One hash over the weights of all the models a recipe trains."""
    trained = {name: model for name, model in recipe.models.items() if model.trains}
    return _one_hash({name: weights_hash(model.weights, model.frozen_weights()) for name, model in trained.items()})


def weights_in(recipe: Recipe, bases: Mapping[str, str]) -> Callable[[Mapping[str, Tensor]], str]:
    """The same of the tensors of a checkpoint, or of a copy; `bases` are the hashes of the weights that nothing trains."""
    names: dict[str, list[str]] = {}
    for name, model in recipe.models.items():
        if model.trains:
            frozen = model.frozen_weights()
            names[name] = [each for each in model.weights.state_dict() if each not in frozen]

    def hashed(tensors: Mapping[str, Tensor]) -> str:
        own = {name: {each: tensors[f"model/{name}/{each}"] for each in those} for name, those in names.items()}
        return _one_hash({name: chain_hash(weights, bases.get(name, "")) for name, weights in own.items()})

    return hashed


def _one_hash(by_model: Mapping[str, str]) -> str:
    digest = hashlib.sha256()
    for name, hash in sorted(by_model.items()):
        digest.update(f"{name}:{hash}".encode())
    return digest.hexdigest()[:16]


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
