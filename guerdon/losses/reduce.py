"""From a number per step to one number: the second choice of every loss, after its surrogate.

Denominators come from `batch.count`, which the whole update shares; sums over micro-batches therefore add up exactly.
Leaves out: what the numbers are.
Axes: S steps, K tracks, M (step, track through it).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up

Mean = Literal["step", "track", "constant"]
COUNTS = "(counts)"  # the column that rows count by inside `weighed`; no name that a recipe would give


@dataclass(frozen=True)
class Members:
    """Every step of every track: a trunk's step once for each track through it, as the chains of the tree have it.

    What differs between the tracks of a trunk's step (the ratio of a whole track) must be computed here: a mean over the
    tracks, taken too early, is not what the chains give.
    """

    step: Tensor  # [M]
    track: Tensor  # [M]

    @classmethod
    def of(cls, batch: Batch) -> Members:
        return cls(*batch.track_steps)

    def up(self, x: Tensor, batch: Batch) -> Tensor:
        """[K] the sum over each track."""
        return gather_up(x, self.track, batch.K)


def own(batch: Batch) -> Tensor:
    """[S] what a step weighs in each one of its tracks: 1 where it is learned, else 0."""
    return batch.weight / batch.shared[batch.seg].clamp(min=1)


def weights(batch: Batch, members: Members | None) -> Tensor:
    """[S] or [M] how often each step, or each step of each track, counts in a mean over steps."""
    return batch.weight if members is None else own(batch)[members.step]


def has_tracks(batch: Batch, *names: str) -> bool:
    """Whether one of the columns has its numbers for tracks: those of a trunk's step differ, and `Members` are needed."""
    return any(batch.cols[name].level == "track" for name in names)


def numbers(batch: Batch, name: str, members: Members | None = None) -> Tensor:
    """[S] or [M] a column's number at each row: the step's own, its segment's, or, of `members`, its track's. 0 where it has
    none, for what has none weighs nothing."""
    column = batch.cols[name]
    value = torch.nan_to_num(column.value)
    if column.level == "track":
        if members is None:
            raise UserError(f"{name!r} has a number for each track, where a loss takes one for each step or segment")
        return value[members.track]
    value = value if column.level == "step" else value[batch.seg]
    return value if members is None else value[members.step]


def per_track(x: Tensor, batch: Batch, mean: bool = False) -> Tensor:
    """[K] the sum, or the mean, over the learned steps of each track; a track without any has 0."""
    total = batch.up(x * own(batch), "track")
    return total / batch.up(own(batch), "track").clamp(min=1e-9) if mean else total


def reduce(
    x: Tensor, batch: Batch, mean: Mean = "step", constant: float = 1.0, members: Members | None = None
) -> Tensor:
    """`step`: every step counts the same (DAPO). `track`: every track counts the same, whatever its length (GRPO).
    `constant`: a sum over steps, over tracks times `constant` (Dr. GRPO). With `members`, `x` is a number for each of
    them. Inside `weighed` each counts by its column, over the same denominators. For what a loss learns from;
    what it notes is an `average`."""
    if COUNTS in batch.cols:
        if members is None and has_tracks(batch, COUNTS):
            members = Members.of(batch)
            x = x[members.step]
        x = x * numbers(batch, COUNTS, members)
    if mean == "track":
        own_S = own(batch)  # a trunk's step counts once in each of its tracks
        length = batch.up(own_S, "track").clamp(min=1e-9)
        total = batch.up(x * own_S, "track") if members is None else members.up(x * own_S[members.step], batch)
        return (total / length).sum() / max(batch.count.tracks, 1)
    weight = weights(batch, members)
    below = max(batch.count.steps, 1e-9) if mean == "step" else max(batch.count.tracks, 1) * constant
    return (x * weight).sum() / below


def reduce_tracks(x_K: Tensor, batch: Batch) -> Tensor:
    """The mean over tracks of what a loss learns from, inside `weighed` each by its column."""
    if COUNTS in batch.cols:
        if batch.cols[COUNTS].level != "track":  # `weighed` put it there: what a user named is another
            raise UserError("a loss over whole tracks can be weighed by a column per track alone")
        x_K = x_K * torch.nan_to_num(batch[COUNTS])
    return x_K.sum() / max(batch.count.tracks, 1)


def average(x: Tensor, batch: Batch, members: Members | None = None) -> Tensor:
    """The mean over steps: what a loss notes beside itself, whatever its rows count."""
    return (x * weights(batch, members)).sum() / max(batch.count.steps, 1e-9)


def means(named: Mapping[str, Tensor], batch: Batch, members: Members | None = None) -> dict[str, Tensor]:
    """The `average` of several numbers at once, in a few operations."""
    weight = weights(batch, members)
    total = (torch.stack(list(named.values())) * weight).sum(1) / max(batch.count.steps, 1e-9)
    return dict(zip(named, total, strict=True))
