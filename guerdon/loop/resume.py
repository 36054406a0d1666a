"""What a checkpoint of a recipe holds, and how a recipe takes it up again.

Random numbers need no saving: each derives from the seed and the place it is drawn at, and both are in the checkpoint.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.learn import Learn
from guerdon.core.manifest import write_manifest
from guerdon.core.model import Model, weights_hash
from guerdon.core.pack import pack
from guerdon.core.part import get_state, set_state, walk
from guerdon.core.recipe import Recipe
from guerdon.loop.rollouts import Played
from guerdon.models import model_loading
from guerdon.models.trained_folders import MODEL_SUMS
from guerdon.store.checkpoint import Checkpoint, load_checkpoint, optimiser_tensors, restore_optimiser, save_checkpoint
from guerdon.store.folder import RunFolder
from guerdon.store.whole_files import atomic


def _learners(recipe: Recipe) -> list[tuple[str, Learn]]:
    return [(path, member) for path, member in walk(recipe) if isinstance(member, Learn)]


def save(
    folder: RunFolder,
    recipe: Recipe,
    done: int,
    keep: int,
    waiting: Played | None = None,
    warn: Callable[[str], None] = lambda message: None,
) -> Path:
    """Weights of every model, every optimiser, every part's state, after `done` steps; and what was played ahead."""
    tensors = {f"model/{n}/{k}": v for n, m in recipe.models.items() for k, v in m.weights.state_dict().items()}
    for path, learn in _learners(recipe):
        assert learn.optimiser is not None
        tensors |= optimiser_tensors(f"optimiser/{path}", learn.optimiser)
    state: dict[str, Any] = {"parts": get_state(recipe), "versions": {n: m.version for n, m in recipe.models.items()}}
    ahead = None
    if waiting is not None:
        state["ahead"] = {"step": waiting.step, "counts": waiting.counts, "metrics": waiting.metrics}
        ahead = pack(waiting.episodes)
    return save_checkpoint(folder.checkpoints, Checkpoint(done, tensors, state, ahead), keep, warn)


def restore(folder: RunFolder, recipe: Recipe, warn: Callable[[str], None]) -> tuple[int, Played | None]:
    """Bring a started recipe to the newest whole checkpoint. Returns the steps done, 0 when there is none, and the
    episodes of the next step if they were played ahead."""
    checkpoint = load_checkpoint(folder.checkpoints, warn)
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
    checkpoint = load_checkpoint(folder.checkpoints, faults.append)
    if checkpoint is None or faults:
        why = faults[0].partition(";")[0] if faults else "it has no checkpoint"
        raise UserError(f"{folder.named} has lost its final weights: {why}; delete the folder and run it again")
    _give_weights(checkpoint, name, model)


def _give_weights(checkpoint: Checkpoint, name: str, model: Model) -> None:
    start = f"model/{name}/"
    model.weights.load_state_dict(
        {k.removeprefix(start): v for k, v in checkpoint.tensors.items() if k.startswith(start)}
    )
    model.version = checkpoint.state["versions"][name]


def save_models(folder: RunFolder, recipe: Recipe) -> None:
    """The trained models on their own, to be loaded by name of the folder."""
    for name, model in recipe.models.items():
        if model.trains and model_loading.is_named(model):
            with atomic(folder.models / name) as scratch:
                model_loading.save(model, scratch)
                write_manifest(scratch, MODEL_SUMS)


def weights_of(recipe: Recipe) -> str:
    """One hash over the weights of all the models a recipe trains."""
    digest = hashlib.sha256()
    for name, model in sorted(recipe.models.items()):
        if model.trains:
            digest.update(f"{name}:{weights_hash(model.weights)}".encode())
    return digest.hexdigest()[:16]
