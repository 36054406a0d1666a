"""What travels between a run and its workers: jobs and their answers as bytes, and the weights of a version.

An answer names the asks and tasks of its job by number, so that the run gets back its own objects. Weights are one object for
all workers, made when a weight has changed: what an adapter lies on, and whatever else nothing trains, is not in it.
Bytes are read by `pickle`: a run and its workers are one user's processes, and trust each other.
"""

from __future__ import annotations

import io
import json
import pickle
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import cloudpickle
import numpy as np
import torch
from safetensors.torch import load, save
from torch import Tensor

from guerdon.core.episode import Episode
from guerdon.core.model import Model
from guerdon.core.one_turn import OneTurn
from guerdon.core.task import Ask, Sampling

META = "guerdon"  # in the header of weights: the version of each model


class Lost(Exception):
    """A worker is gone, or does not answer."""


@dataclass(frozen=True)
class Job:
    """Asks to be played by one worker, the first of which is number `first` of the step."""

    number: int
    step: int
    steps: int  # of the run, for schedules
    first: int
    asks: bytes
    sampling: Sampling
    weights: str  # the name of the weights to play with
    env: bytes | None = None  # None: the run's
    state: Mapping[str, Any] = field(default_factory=dict)  # of the parts of the run's environment


@dataclass(frozen=True)
class Answer:
    """What a worker made of a job: episodes, or why there are none."""

    number: int
    played: bytes = b""
    counts: Mapping[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    used: float = 0.0  # seconds of a processor
    fault: tuple[str, str] | None = None  # the kind of an error, and its message
    drew: bool = False  # from global generators of random numbers


def dumps(value: Any) -> bytes:
    """Plain pickle where it does: it is faster, and code travels by name."""
    try:
        return pickle.dumps(value, 5)
    except Exception:  # noqa: BLE001 - objects say in many ways that they cannot; functions of a script or notebook travel whole
        return bytes(cloudpickle.dumps(value, 5))


def pack_played(played: Sequence[Episode], asks: Sequence[Ask]) -> bytes:
    """Episodes as bytes; the asks that they were played for, and their tasks, by number."""
    known = {id(ask.task): ("task", n) for n, ask in enumerate(asks)} | {id(a): ("ask", n) for n, a in enumerate(asks)}
    for kind in (pickle.Pickler, cloudpickle.Pickler):
        out = io.BytesIO()
        pickler: Any = kind(out, 5)
        pickler.persistent_id = lambda value: known.get(id(value))
        try:
            pickler.dump(played if isinstance(played, OneTurn) else list(played))
        except Exception:
            if kind is cloudpickle.Pickler:
                raise
            continue
        return out.getvalue()
    raise AssertionError("unreachable")


def unpack_played(data: bytes, asks: Sequence[Ask]) -> Sequence[Episode]:
    unpickler: Any = pickle.Unpickler(io.BytesIO(data))

    def own(name: tuple[str, int]) -> Any:
        kind, number = name
        return asks[number] if kind == "ask" else asks[number].task

    unpickler.persistent_load = own
    played: Sequence[Episode] = unpickler.load()
    return played


def joined(parts: Sequence[Sequence[Episode]]) -> Sequence[Episode]:
    """The episodes of jobs, in the order of the asks; as columns where all are such."""
    if len(parts) == 1:
        return parts[0]
    columns = [part for part in parts if isinstance(part, OneTurn)]
    if len(columns) < len(parts):
        return [episode for part in parts for episode in part]
    rows: dict[str, Any] = {
        name: np.concatenate([getattr(part, name) for part in columns]) for name in ("action", "logp", "length")
    }
    rows |= {name: [x for part in columns for x in getattr(part, name)] for name in ("asked", "text", "end")}
    whole = OneTurn(columns[0].role, columns[0].step, columns[0].version, **rows)
    if all("episodes" in vars(part) for part in columns):  # they were made already, for who listens
        vars(whole).update(episodes=tuple(episode for part in columns for episode in part.episodes))
    return whole


# --- weights ---------------------------------------------------------------------------------------------------------


def moving(models: Mapping[str, Model]) -> dict[str, Tensor]:
    """All weights that a worker cannot have from the start."""
    tensors: dict[str, Tensor] = {}
    for name, model in models.items():
        frozen = model.frozen_weights()
        tensors |= {f"{name}/{at}": w for at, w in model.weights.state_dict().items() if at not in frozen}
    return tensors


class Versions:
    """Which weights were sent last, to know whether any has changed since."""

    def __init__(self, player: str) -> None:
        self.player = player
        self.kept: dict[str, Tensor] = {}
        self.versions: dict[str, int] = {}
        self.name = ""
        self.count = 0

    def changed(self, models: Mapping[str, Model]) -> bytes | None:
        """The weights as bytes if they are others than before, by a new `name`; otherwise None."""
        now = moving(models)
        versions = {name: model.version for name, model in models.items()}
        if versions == self.versions and all(at in self.kept and _same(w, self.kept[at]) for at, w in now.items()):
            return None
        self.kept = {at: tensor.detach().to("cpu", copy=True).contiguous() for at, tensor in now.items()}
        self.versions, self.count = versions, self.count + 1
        self.name = f"{self.player}-{self.count}"
        return bytes(save(self.kept, {META: json.dumps(versions)}))


def _same(a: Tensor, b: Tensor) -> bool:
    """To the bit."""
    a = a.detach().to("cpu").contiguous()
    return a.shape == b.shape and torch.equal(a.reshape(-1).view(torch.uint8), b.reshape(-1).view(torch.uint8))


def take_weights(models: Mapping[str, Model], data: bytes) -> None:
    size = int.from_bytes(data[:8], "little")
    versions = json.loads(json.loads(data[8 : 8 + size])["__metadata__"][META])
    sent, own = load(data), moving(models)
    if sent.keys() != own.keys():
        odd = sorted(sent.keys() ^ own.keys())
        raise ValueError(f"the run and its worker have other models: {', '.join(odd[:3])}")
    with torch.no_grad():
        for at, tensor in sent.items():
            own[at].copy_(tensor)
    for name, version in versions.items():
        models[name].version = version


# --- global generators -----------------------------------------------------------------------------------------------


def global_dice() -> tuple[Any, ...]:
    """Where the global generators of random numbers stand: what draws from them depends on who else did."""
    numpys: Any = np.random.get_state()
    return random.getstate(), bytes(numpys[1]), numpys[2], bytes(torch.get_rng_state().numpy())
