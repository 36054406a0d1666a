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
    if batch.S + len(batch.context) <= most:
        return [batch]
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


def share_steps(batch: Batch, n: int, generator: torch.Generator, apart: bool, row: int = 0) -> list[Batch]:
    learned = torch.nonzero(batch.weight > 0).flatten()
    size = len(learned)
    if n == 1 or size == 0:
        return [batch]
    turn_S = torch.full((batch.S,), -1, dtype=torch.long, device=batch.seg.device)
    turn_S[learned] = torch.randperm(size, generator=generator).to(learned.device) * min(n, size) // size
    shown = batch.context.view(-1, row)[batch.row_of_step(row)] if apart and row else None
    masks = [turn_S == i for i in range(min(n, size))]
    if shown is not None and _is_flat(batch):
        return [_steps_alone(batch, torch.nonzero(steps).flatten(), shown) for steps in masks]
    return [_only(batch, steps, apart, shown) for steps in masks]


def _is_flat(batch: Batch) -> bool:
    """Whether each track is one segment, in the same order."""
    each = torch.arange(batch.G, device=batch.seg.device)
    alone = batch.K == batch.G == len(batch.path_seg) and torch.equal(batch.path_seg, each)
    return alone and torch.equal(batch.path_track, each) and bool((batch.parent < 0).all()) and batch.pairs is None


def _steps_alone(batch: Batch, old_s: Tensor, shown: Tensor) -> Batch:
    """The same as `_only`, in fewer operations: of tracks of one segment each, some steps, with the row that each was
    `shown` [S, D]."""
    old_g, seg = torch.unique_consecutive(batch.seg[old_s], return_inverse=True)
    old, each = {"step": old_s, "segment": old_g, "track": old_g}, torch.arange(len(old_g), device=seg.device)
    return dataclasses.replace(
        batch,
        **{name: getattr(batch, name)[old_s] for name in (*STEP_ROWS, "weight")},
        **{name: getattr(batch, name)[old_g] for name in (*SEGMENT_ROWS, "parent")},
        seg=seg,
        context=shown[old_s].flatten(),
        context_seg=seg.repeat_interleave(shown.shape[1]),
        leaf=each,
        path_track=each,
        path_seg=each,
        cols={n: c.take(old[c.level]) for n, c in batch.cols.items()},
    ).recount()


def _only(batch: Batch, steps: Tensor, apart: bool, shown: Tensor | None) -> Batch:
    """The tracks through some of the steps ([S] mask), learned from at those alone; with what each was `shown` [S, D], where
    steps have rows of context."""
    kept = dataclasses.replace(batch, weight=torch.where(steps, batch.weight, 0.0))
    if shown is not None:
        kept = dataclasses.replace(kept, context=batch.context[:0], context_seg=batch.context_seg[:0])
    kept = kept.take(batch.up(steps.double(), "track") > 0)
    if not apart:
        return kept
    old_s = torch.nonzero(kept.weight > 0).flatten()
    if shown is None:
        mine = torch.zeros(kept.G, dtype=torch.bool, device=kept.seg.device)
        mine[kept.seg[old_s]] = True
        old_c = torch.nonzero(mine[kept.context_seg]).flatten()
        context, context_seg = kept.context[old_c], kept.context_seg[old_c]
    else:
        context = shown[steps].flatten()
        context_seg = kept.seg[old_s].repeat_interleave(shown.shape[1])
    return dataclasses.replace(
        kept,
        **{name: getattr(kept, name)[old_s] for name in (*STEP_ROWS, "seg", "weight")},
        context=context,
        context_seg=context_seg,
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
