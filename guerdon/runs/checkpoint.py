"""Checkpoints: a run's tensors, states and batches after some step, in a folder of their own.

A checkpoint is whole or absent, and its hashes are checked before it is loaded. It is saved in two moves: `take` copies what
the run keeps changing, `put` writes the copy, possibly while the run continues.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import struct
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.manifest import Damaged, manifest_fault, manifest_owner, write_manifest
from guerdon.core.tensor_hashes import bytes_of
from guerdon.runs.rollout_files import batch_bytes, read_batch
from guerdon.runs.whole_files import atomic, disk_errors

TENSORS, STATE, MANIFEST = "tensors.safetensors", "state.json", "manifest.json"
AHEAD = "ahead.parquet"
LIFTED = "__lifted__"  # in a state's JSON: the name of a tensor or of a batch's file
PIECE = 1 << 24  # bytes that are written, and hashed, at a time
TYPES = {  # what safetensors calls those of torch
    "torch.float64": "F64", "torch.float32": "F32", "torch.float16": "F16", "torch.bfloat16": "BF16", "torch.int64": "I64",
    "torch.int32": "I32", "torch.int16": "I16", "torch.int8": "I8", "torch.uint8": "U8", "torch.bool": "BOOL",
}  # fmt: skip


@dataclass(frozen=True)
class Checkpoint:
    """Everything a run needs to resume: tensors (weights, optimiser, tensors of states), JSON (states, counters), batches of
    states, and the episodes of the next step where they were played already."""

    step: int  # steps done
    tensors: dict[str, Tensor]
    state: dict[str, Any]
    ahead: Batch | None = None


@dataclass(frozen=True)
class Taken:
    """A checkpoint in host memory of its own."""

    step: int
    tensors: dict[str, Tensor]
    files: dict[str, bytes]  # all but the tensors


def save_checkpoint(
    folder: Path, checkpoint: Checkpoint, keep: int, warn: Callable[[str], None] = lambda message: None, owner: str = ""
) -> Path:
    """Take the checkpoint and put it into the folder of all."""
    return put(folder, take(checkpoint), keep, warn, owner)


def take(checkpoint: Checkpoint, room: dict[str, Tensor] | None = None) -> Taken:
    """Copy it. `room` is memory of an earlier one that has been put, by name, and becomes that of this one: taking new memory
    is slower than copying, and a GPU copies fast into pages that stay where they are."""
    state, lifted = lift(checkpoint.state)
    tensors = checkpoint.tensors | {name: value for name, value in lifted.items() if isinstance(value, Tensor)}
    batches = {name: value for name, value in lifted.items() if isinstance(value, Batch)}
    if checkpoint.ahead is not None:
        batches[AHEAD] = checkpoint.ahead
    room = {} if room is None else room
    for name in set(room) - set(tensors):
        del room[name]
    with torch.no_grad():
        for name, tensor in tensors.items():
            if str(tensor.dtype) not in TYPES:
                raise UserError(f"{name}: numbers of {tensor.dtype} cannot be saved; use one of {', '.join(TYPES)}")
            own = room.get(name)
            if own is None or (own.shape, own.dtype) != (tensor.shape, tensor.dtype):
                own = room[name] = _host_memory(tensor)
            own.copy_(tensor, non_blocking=True)
    if any(tensor.is_cuda for tensor in tensors.values()):
        torch.cuda.synchronize()
    said = json.dumps({"step": checkpoint.step, "state": state}).encode()
    return Taken(checkpoint.step, dict(room), {STATE: said} | {n: batch_bytes(batch) for n, batch in batches.items()})


def _host_memory(tensor: Tensor) -> Tensor:
    """Room for a copy of it; that of a GPU's in pages that stay where they are, as long as the machine has some to give."""
    try:
        return torch.empty(tensor.shape, dtype=tensor.dtype, pin_memory=tensor.is_cuda)
    except RuntimeError:
        return torch.empty(tensor.shape, dtype=tensor.dtype)


def put(
    folder: Path, taken: Taken, keep: int, warn: Callable[[str], None] = lambda message: None, owner: str = ""
) -> Path:
    """Write the checkpoint of the run `owner` in one atomic step, then drop all before it but the last `keep - 1`: once it has
    been read back and found whole, and not before. Later ones, where a run resumed from an earlier one, are not dropped as
    old."""
    path = folder / checkpoint_name(taken.step)
    with atomic(path) as scratch:
        scratch.mkdir()
        hashes = {TENSORS: save_tensors(scratch / TENSORS, taken.tensors)}
        for name, data in taken.files.items():
            (scratch / name).write_bytes(data)
        write_manifest(scratch, MANIFEST, hashes, owner)
    old = [each for each in list_checkpoints(folder) if each.name <= path.name][:-keep]
    fault = _fault(path) if old else None
    if fault is not None:
        warn(f"checkpoint {path.name} is damaged as soon as it is written ({fault}): the ones before it are kept")
        return path
    with disk_errors(folder):
        for each in old:
            shutil.rmtree(each)
    return path


def save_tensors(path: Path, tensors: Mapping[str, Tensor]) -> str:
    """A safetensors file of tensors in host memory; returns its SHA-256, which is computed from what goes to it."""
    names = sorted(
        tensors, key=lambda name: (-tensors[name].element_size(), name)
    )  # the larger types first: all are aligned
    header: dict[str, Any] = {}
    end = 0
    for name in names:
        begin, end = end, end + tensors[name].nbytes
        shape = list(tensors[name].shape)
        header[name] = {"dtype": TYPES[str(tensors[name].dtype)], "shape": shape, "data_offsets": [begin, end]}
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    digest = hashlib.sha256()
    with open(path, "wb") as file:
        for piece in (memoryview(struct.pack("<Q", len(text)) + text), *(bytes_of(tensors[name]) for name in names)):
            for at in range(0, len(piece), PIECE):
                file.write(piece[at : at + PIECE])
                digest.update(piece[at : at + PIECE])
    return digest.hexdigest()


def checkpoint_name(done: int) -> str:
    """Of the folder that holds what a run was after so many steps."""
    return f"step-{done:08d}"


def list_checkpoints(folder: Path) -> list[Path]:
    """Oldest first. What a kill left half-written has another name and is not among them."""
    return sorted(p for p in folder.glob("step-*") if p.is_dir())


def load_checkpoint(folder: Path, warn: Callable[[str], None], owners: Collection[str] = ()) -> Checkpoint | None:
    """The newest checkpoint that is whole; None when there is none yet. Damaged ones are passed over with a warning. One of
    a run that is not among the `owners` is refused; an empty one among them is a run that began before checkpoints had any."""
    checkpoints = list_checkpoints(folder)
    for path in reversed(checkpoints):
        fault = _fault(path)
        if fault is None:
            if owners and manifest_owner(path, MANIFEST) not in owners:
                raise Damaged(f"{folder.name}/{path.name} in {folder.parent} is of another run: take it out to resume")
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
