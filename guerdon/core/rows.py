"""Rows of a batch: taken, split into micro-batches, shared out.

What must stay together stays together.
The functions behind `Batch.take`, `Batch.split`, `Batch.shares` and `Batch.share_steps`.
Leaves out: putting batches together (`core/pack.py`).
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from guerdon.core.levels import gather_up

if TYPE_CHECKING:
    from guerdon.core.batch import Batch, Group, Pairs

STEP_ROWS = ("action", "logp", "muted")  # beside `seg` and `weight`
SEGMENT_ROWS = ("role", "episode", "place", "version", "temperature", "end")  # beside `parent`


def take(batch: Batch, tracks: Tensor) -> Batch:
    if bool(tracks.all()):
        return batch.recount()
    old_k = torch.nonzero(tracks).flatten()
    new_k = torch.full((batch.K,), -1, dtype=torch.long, device=tracks.device)
    new_k[old_k] = torch.arange(len(old_k), device=tracks.device)
    member = tracks[batch.path_track]
    shared = torch.bincount(batch.path_seg[member], minlength=batch.G)
    old_g = torch.nonzero(shared).flatten()
    new_g = torch.full((batch.G + 1,), -1, dtype=torch.long, device=tracks.device)  # last: parent -1 stays -1
    new_g[old_g] = torch.arange(len(old_g), device=tracks.device)
    old_s = torch.nonzero(shared[batch.seg]).flatten()
    kept_s, was_s = shared[batch.seg[old_s]], batch.shared[batch.seg[old_s]]
    old_c = torch.nonzero(shared[batch.context_seg]).flatten()
    old = {"step": old_s, "segment": old_g, "track": old_k}
    return dataclasses.replace(
        batch,
        **{name: getattr(batch, name)[old_s] for name in STEP_ROWS},
        seg=new_g[batch.seg[old_s]],
        weight=(batch.weight[old_s].double() * kept_s / was_s).to(batch.weight.dtype),  # whole numbers stay whole
        parent=new_g[batch.parent[old_g]],
        **{name: getattr(batch, name)[old_g] for name in SEGMENT_ROWS},
        context=batch.context[old_c],
        context_seg=new_g[batch.context_seg[old_c]],
        leaf=new_g[batch.leaf[old_k]],
        path_track=new_k[batch.path_track[member]],
        path_seg=new_g[batch.path_seg[member]],
        cols={n: c.take(old[c.level]) for n, c in batch.cols.items()},
        pairs=_take_pairs(batch.pairs, new_k),
    ).recount()


def split(batch: Batch, most: int, together: Group) -> list[Batch]:
    unit = _units(batch, together)
    length = (batch.length + batch.context_length).double()
    size_m = length[batch.path_seg] / batch.shared[batch.path_seg]  # a trunk's, once in all
    size = gather_up(size_m, unit[batch.path_track], int(unit.max()) + 1 if batch.K else 0)
    bins: list[int] = []
    room = 0.0
    for s in size.tolist():
        if not bins or s > room:
            bins.append(0 if not bins else bins[-1] + 1)
            room = most - s
        else:
            bins.append(bins[-1])
            room -= s
    bin_k = torch.tensor(bins, dtype=torch.long, device=batch.seg.device)[unit] if bins else unit
    bin_count = bins[-1] + 1 if bins else 0
    if bin_count <= 1:
        return [batch]
    return [dataclasses.replace(batch.take(bin_k == b), count=batch.count) for b in range(bin_count)]


def shares(batch: Batch, n: int, generator: torch.Generator, together: Group) -> list[Batch]:
    if n == 1 or batch.K == 0:
        return [batch]
    unit = _units(batch, together)
    size = int(unit.max()) + 1
    turn = torch.randperm(size, generator=generator).to(unit.device)[unit] * min(n, size) // size
    return [batch.take(turn == i) for i in range(min(n, size))]


def share_steps(batch: Batch, n: int, generator: torch.Generator, apart: bool) -> list[Batch]:
    learned = torch.nonzero(batch.weight > 0).flatten()
    size = len(learned)
    if n == 1 or size == 0:
        return [batch]
    turn_S = torch.full((batch.S,), -1, dtype=torch.long, device=batch.seg.device)
    turn_S[learned] = torch.randperm(size, generator=generator).to(learned.device) * min(n, size) // size
    return [_only(batch, turn_S == i, apart) for i in range(min(n, size))]


def _only(batch: Batch, steps: Tensor, apart: bool) -> Batch:
    """The tracks through some of the steps ([S] mask), learned from at those alone."""
    kept = dataclasses.replace(batch, weight=torch.where(steps, batch.weight, 0.0))
    kept = kept.take(batch.up(steps.double(), "track") > 0)
    if not apart:
        return kept
    old_s = torch.nonzero(kept.weight > 0).flatten()
    shown = torch.zeros(kept.G, dtype=torch.bool, device=kept.seg.device)
    shown[kept.seg[old_s]] = True
    old_c = torch.nonzero(shown[kept.context_seg]).flatten()
    return dataclasses.replace(
        kept,
        **{name: getattr(kept, name)[old_s] for name in (*STEP_ROWS, "seg", "weight")},
        context=kept.context[old_c],
        context_seg=kept.context_seg[old_c],
        cols={n: c.take(old_s) if c.level == "step" else c for n, c in kept.cols.items()},
    )


def _units(batch: Batch, together: Group) -> Tensor:
    """[K] what must stay together when rows are split: tracks of one episode, ask or task, and tracks joined by a pair."""
    unit = batch.group_of_track(together)
    if batch.pairs is not None and len(batch.pairs):
        unit = _join(unit, batch.pairs.better, batch.pairs.worse)
    index: Tensor = torch.unique(unit, return_inverse=True)[1]
    return index


def _take_pairs(pairs: Pairs | None, new_k: Tensor) -> Pairs | None:
    if pairs is None:
        return None
    better, worse = new_k[pairs.better], new_k[pairs.worse]
    kept = (better >= 0) & (worse >= 0)
    return type(pairs)(better[kept], worse[kept], pairs.margin[kept], pairs.label[kept])


def _join(unit: Tensor, a: Tensor, b: Tensor) -> Tensor:
    """Merge the units that pairs connect: every track ends with the smallest unit it is connected to."""
    while True:
        low = torch.minimum(unit[a], unit[b])
        best = unit.clone().scatter_reduce(0, torch.cat([a, b]), torch.cat([low, low]), "amin")
        # a unit is one whole: if one of its tracks moved, all of them move
        floor = torch.arange(int(unit.max()) + 1, device=unit.device).scatter_reduce(0, unit, best, "amin")
        joined = floor[unit]
        if torch.equal(joined, unit):
            return unit
        unit = joined
