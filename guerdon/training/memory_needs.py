"""How much memory a run takes, from what it is made of: counted where it can be, and the most it can be where not.

Leaves out: what libraries and the operating system take beside it, and what torch holds back for later.
"""

from __future__ import annotations

import os
import re
import resource
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.part import walk
from guerdon.core.recipe import Recipe

MEMINFO = Path("/proc/meminfo")  # what Linux says about memory
FLOAT = 4  # bytes of a number that an optimiser keeps
MOMENTS = {"adam": 2, "sgd": 1}  # numbers that it keeps of each weight, at most


def memory_of(recipe: Recipe, play: Any, tokens_held: int, tokens_read: int) -> dict[str, int]:
    """Bytes by what takes them. `tokens_held` are the most that are sampled at once, prompts included, `tokens_read` those of
    a step that are learned from."""
    weights = _size(p for model in _started(recipe) for p in _tensors(model))
    needs = {"weights": weights, "gradients": 0, "optimiser": 0, "activations": 0, "sampling": 0}
    learners = [part for _, part in walk(recipe) if isinstance(part, Learn)]
    for learn in learners:
        model = play.models[learn.model]
        trained = [p for p in model.weights.parameters() if p.requires_grad]
        number = sum(p.numel() for p in trained)
        masters = sum(p.numel() for p in trained if p.dtype in (torch.bfloat16, torch.float16))
        needs["gradients"] += max(FLOAT * number, _size(trained)) if masters else _size(trained)
        needs["optimiser"] += FLOAT * (number * MOMENTS.get(type(learn.opt).__name__, 2) + masters)
        at_once = min(learn.at_once(play), tokens_read)
        needs["activations"] = max(needs["activations"], at_once * _kept(model))
    needs["sampling"] = max((tokens_held * _cached(play.models[name]) for name in recipe.seats.values()), default=0)
    if recipe.ahead:
        frozen = _size(p for model in _started(recipe) for p in model.frozen_weights().values())
        needs["copy to play ahead"] = weights - frozen
    return {name: size for name, size in needs.items() if size}


def _started(recipe: Recipe) -> list[Model]:
    return [model for model in recipe.models.values() if model.net is not None]


def _tensors(model: Model) -> list[Tensor]:
    return [*model.weights.parameters(), *model.weights.buffers()]


def _size(tensors: Iterable[Tensor]) -> int:
    """Bytes, what two models share once."""
    unique = {(t.data_ptr(), t.numel()): t.numel() * t.element_size() for t in tensors}
    return sum(unique.values())


def _shape(model: Model) -> Any:
    return getattr(model, "config", None)


def _kept(model: Model) -> int:
    """Bytes that a pass keeps of each token for its gradient; 0 for a model that does not know."""
    return 0 if getattr(model, "recompute", False) else model.kept_bytes


def _cached(model: Model) -> int:
    """Bytes of keys and values of each token while it is sampled."""
    shape = _shape(model)
    if not hasattr(shape, "kept_numbers"):
        return 0
    return 2 * int(shape.layers) * int(shape.kv_heads) * int(shape.head_dim) * _bytes(model)


def _bytes(model: Model) -> int:
    return next((p.element_size() for p in model.weights.parameters()), FLOAT)


def memory_here(models: Mapping[str, Model]) -> dict[str, Any]:
    """What this machine has, and the most that this process has taken of it so far, in bytes."""
    devices = [model.device for model in models.values() if model.net is not None and model.device.type == "cuda"]
    if devices:
        free, total = torch.cuda.mem_get_info(devices[0])
        peak = torch.cuda.max_memory_allocated(devices[0])
        return {"device": torch.cuda.get_device_name(devices[0]), "total": total, "free": free, "peak": peak}
    total = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    free = _available(total)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    return {"device": "processor", "total": total, "free": free, "peak": peak}


def _available(total: int) -> int:
    """Bytes that a new program could be given: free pages, and those of caches that the system would give up for it."""
    try:
        said = re.search(r"^MemAvailable:\s*(\d+) kB$", MEMINFO.read_text(), re.MULTILINE)
    except OSError:  # not Linux
        said = None
    if said is not None:
        return int(said[1]) * 1024
    return (
        os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if "SC_AVPHYS_PAGES" in os.sysconf_names else total
    )
