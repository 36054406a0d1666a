"""Checkpoints: a run's tensors, states and batches after some step, in a folder of their own.

A checkpoint is whole or absent, and its hashes are checked before it is loaded.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.manifest import manifest_fault, write_manifest
from guerdon.store.rollout_files import read_batch, write_batch
from guerdon.store.whole_files import atomic, disk_errors, save_tensors

TENSORS, STATE, MANIFEST = "tensors.safetensors", "state.json", "manifest.json"
AHEAD = "ahead.parquet"
LIFTED = "__lifted__"  # in a state's JSON: the name of a tensor or of a batch's file


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to go on: tensors (weights, optimiser, tensors of states), JSON (states, counters), batches of
    states, and the episodes of the next step where they were played already."""

    step: int  # steps done
    tensors: dict[str, Tensor]
    state: dict[str, Any]
    ahead: Batch | None = None


def save_checkpoint(
    folder: Path, checkpoint: Checkpoint, keep: int, warn: Callable[[str], None] = lambda message: None
) -> Path:
    """Write the checkpoint in one atomic step, then drop all before it but the last `keep - 1`: once it has been read back and
    found whole, and not before. What lies beyond it, where a run went on from an earlier one, is no older one to be dropped."""
    path = folder / checkpoint_name(checkpoint.step)
    tensors = {k: v.detach().cpu().clone().contiguous() for k, v in checkpoint.tensors.items()}
    state, lifted = lift(checkpoint.state)
    tensors |= {name: value for name, value in lifted.items() if isinstance(value, Tensor)}
    batches = {name: value for name, value in lifted.items() if isinstance(value, Batch)}
    if checkpoint.ahead is not None:
        batches[AHEAD] = checkpoint.ahead
    with atomic(path) as scratch:
        scratch.mkdir()
        save_tensors(scratch / TENSORS, tensors)
        (scratch / STATE).write_text(json.dumps({"step": checkpoint.step, "state": state}))
        for name, batch in batches.items():
            write_batch(scratch / name, batch)
        write_manifest(scratch, MANIFEST)
    old = [each for each in list_checkpoints(folder) if each.name <= path.name][:-keep]
    fault = _fault(path) if old else None
    if fault is not None:
        warn(f"checkpoint {path.name} is damaged as soon as it is written ({fault}): the ones before it are kept")
        return path
    with disk_errors(folder):
        for each in old:
            shutil.rmtree(each)
    return path


def checkpoint_name(done: int) -> str:
    """Of the folder that holds what a run was after so many steps."""
    return f"step-{done:08d}"


def list_checkpoints(folder: Path) -> list[Path]:
    """Oldest first. What a kill left half-written has another name and is not among them."""
    return sorted(p for p in folder.glob("step-*") if p.is_dir())


def load_checkpoint(folder: Path, warn: Callable[[str], None]) -> Checkpoint | None:
    """The newest checkpoint that is whole; None when there is none yet. Damaged ones are passed over with a warning."""
    checkpoints = list_checkpoints(folder)
    for path in reversed(checkpoints):
        fault = _fault(path)
        if fault is None:
            return _load(path)
        warn(f"checkpoint {path.name} is damaged ({fault}); using the one before it")
    if checkpoints:
        raise UserError(f"every checkpoint in {folder} is damaged; the run cannot be resumed")
    return None


def _load(path: Path) -> Checkpoint:
    from safetensors.torch import load_file

    saved = json.loads((path / STATE).read_text())
    tensors = load_file(path / TENSORS)
    batches = {file.name: read_batch(file) for file in path.glob("*.parquet")}
    state = put_back(saved["state"], {**tensors, **batches})
    own = {k: v for k, v in tensors.items() if not k.startswith("state/")}
    return Checkpoint(saved["step"], own, state, batches.get(AHEAD))


def _fault(path: Path) -> str | None:
    return manifest_fault(path, MANIFEST, (TENSORS, STATE))


def lift(value: Any) -> tuple[Any, dict[str, Tensor | Batch]]:
    """State as JSON, with its tensors and batches lifted out under names; refuses what would not come back the same."""
    lifted: dict[str, Tensor | Batch] = {}

    def visit(v: Any, at: str) -> Any:
        if isinstance(v, Tensor):
            name = f"state/{len(lifted)}"  # a number: keys may hold any character, so paths need not be unique
            lifted[name] = v.detach().cpu().clone().contiguous()
            return {LIFTED: name}
        if isinstance(v, Batch):
            name = f"state-{len(lifted)}.parquet"
            lifted[name] = v
            return {LIFTED: name}
        if isinstance(v, dict):
            if not all(isinstance(k, str) for k in v):
                raise UserError(
                    f"state {at}: keys must be strings to be saved, not {next(k for k in v if not isinstance(k, str))!r}"
                )
            return {k: visit(x, f"{at}/{k}") for k, x in v.items()}
        if isinstance(v, list):
            return [visit(x, f"{at}/{i}") for i, x in enumerate(v)]
        if v is None or isinstance(v, bool | int | float | str):
            return v
        raise UserError(
            f"state {at}: a {type(v).__name__} cannot be saved; use numbers, strings, lists, dicts, tensors or batches"
        )

    return visit(value, ""), lifted


def put_back(value: Any, lifted: Mapping[str, Tensor | Batch]) -> Any:
    """The inverse of `lift`."""
    if isinstance(value, dict):
        if set(value) == {LIFTED}:
            return lifted[value[LIFTED]]
        return {k: put_back(v, lifted) for k, v in value.items()}
    return [put_back(v, lifted) for v in value] if isinstance(value, list) else value


def optimiser_tensors(name: str, optimiser: torch.optim.Optimizer) -> dict[str, Tensor]:
    """An optimiser's state as named tensors."""
    saved = optimiser.state_dict()["state"]
    return {f"{name}/{i}/{k}": torch.as_tensor(v) for i, own in saved.items() for k, v in own.items()}


def restore_optimiser(name: str, optimiser: torch.optim.Optimizer, tensors: dict[str, Tensor]) -> None:
    state: dict[int, dict[str, Tensor]] = {}
    for key, tensor in tensors.items():
        if key.startswith(f"{name}/"):
            i, field = key.removeprefix(f"{name}/").split("/")
            state.setdefault(int(i), {})[field] = tensor
    groups = optimiser.state_dict()["param_groups"]
    optimiser.load_state_dict({"state": state, "param_groups": groups})
