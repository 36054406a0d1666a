"""The steps of tracks: every step of every track in order, the way back to steps, and why a number is missing.

A step of a shared trunk stands in M once for each track through it.
Leaves out: who is compared with whom (`group_relative.py`).

Axes: S steps, G segments, K tracks; M every step of every track, track by track and root to leaf.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.levels import gather_up, has_holes, starts


@dataclass(frozen=True)
class TrackSteps:
    """All steps of all tracks in the order they were taken, and the way back."""

    track: Tensor  # [M] sorted
    steps: int
    taken: Tensor | None  # [M] the step; None where tracks lie one after the other and share nothing, so that M is S

    @property
    def step(self) -> Tensor:
        """[M]"""
        return torch.arange(self.steps, device=self.track.device) if self.taken is None else self.taken

    def at(self, x_S: Tensor) -> Tensor:
        return x_S if self.taken is None else x_S.index_select(0, self.taken)

    def of(self, x_K: Tensor) -> Tensor:
        return x_K.index_select(0, self.track)

    def back(self, x_M: Tensor) -> Tensor:
        """[S] a step that several tracks share gets the mean of those that have a value."""
        return x_M if self.taken is None else gather_up(x_M, self.taken, self.steps, "mean")


def track_steps(batch: Batch) -> TrackSteps:
    if len(batch.path_seg) == batch.G and bool((batch.path_seg[1:] > batch.path_seg[:-1]).all()):
        return TrackSteps(batch.path_track.index_select(0, batch.seg), batch.S, None)
    step, track = batch.track_steps
    return TrackSteps(track, batch.S, step)


def to_steps(batch: Batch, x_K: Tensor) -> Tensor:
    """[S] each step its track's number, or the mean of its tracks'. `Batch.down`, faster where no track shares a step."""
    if len(batch.path_seg) != batch.G:
        return batch.down(x_K, "track")
    x_G = torch.empty(batch.G, dtype=x_K.dtype, device=x_K.device)
    return x_G.scatter_(0, batch.path_seg, x_K[batch.path_track]).index_select(0, batch.seg)


def at_steps(batch: Batch, column: Column) -> Tensor:
    """[S] a column's number at each step: its own, its segment's or its track's."""
    if column.level == "step":
        return column.value
    return column.value.index_select(0, batch.seg) if column.level == "segment" else to_steps(batch, column.value)


def in_all(batch: Batch, column: Column) -> Tensor:
    """[K] in float64, a column's total for each track: its number, or the sum of its steps' or segments'.

    What does not apply to a step or segment adds nothing, in a track to which it applies somewhere; a part that is broken
    leaves the sum without a value.
    """
    if column.level == "track":
        return column.value.double()
    quiet = column.reason == Reason.NOT_APPLICABLE
    total_K = batch.up(column.value.double().masked_fill(quiet, 0.0), "track", of=column.level)
    return total_K.masked_fill(batch.up((~quiet).double(), "track", of=column.level) == 0, float("nan"))


def per_track(batch: Batch, x_S: Tensor) -> Tensor:
    """[K] the mean over a track's steps that have a value and are learned from."""
    return batch.up(torch.where(batch.weight > 0, x_S, float("nan")), "track", by="mean")


def paid(batch: Batch, column: Column, unrolled: TrackSteps) -> Tensor:
    """[M] in float64, what each step of each track was paid.

    A number per track is paid at the track's last step, one per segment at the segment's last; of a segment without steps at
    the step before it, or else at the track's first. Of a column per step or segment, one to which it does not apply was
    paid nothing, in a track to which it applies somewhere; a step whose score is broken has NaN.
    """
    if column.level == "step":
        x_M = unrolled.at(column.value).double()
        quiet_S = column.reason == Reason.NOT_APPLICABLE
        if not bool(quiet_S.any()):
            return x_M
        spoken_K = gather_up(unrolled.at(~quiet_S).double(), unrolled.track, batch.K) > 0
        return x_M.masked_fill(unrolled.at(quiet_S) & unrolled.of(spoken_K), 0.0)
    x_M = torch.zeros(len(unrolled.track), dtype=torch.float64, device=unrolled.track.device)
    if column.level == "segment":
        place, acted = segment_ends(batch)
        return x_M.index_add_(0, place[acted], paid_turns(batch, column)[acted])
    last, acted_K = last_steps(batch, unrolled)
    x_M[last] = column.value.double()[acted_K]
    return x_M


def paid_turns(batch: Batch, column: Column) -> Tensor:
    """In float64, what each segment of each track was paid, by a column per segment: nothing where it does not apply, in a
    track to which it applies somewhere."""
    quiet = column.reason == Reason.NOT_APPLICABLE
    spoken_K = batch.up((~quiet).double(), "track", of="segment") > 0
    return column.value.double()[batch.path_seg].masked_fill(quiet[batch.path_seg] & spoken_K[batch.path_track], 0.0)


def segment_ends(batch: Batch) -> tuple[Tensor, Tensor]:
    """Where in M what a segment was paid lies, for each segment of each track, and whether the track acted at all."""
    length = batch.length[batch.path_seg]
    count_K = steps_of(batch)
    first = starts(count_K)[batch.path_track]
    return torch.maximum(torch.cumsum(length, 0) - 1, first), (count_K > 0)[batch.path_track]


def steps_of(batch: Batch) -> Tensor:
    """[K] how many steps each track has."""
    return torch.bincount(batch.path_track, batch.length[batch.path_seg].double(), minlength=batch.K).long()


def last_steps(batch: Batch, unrolled: TrackSteps) -> tuple[Tensor, Tensor]:
    """Where in M each track ends, of those that acted, and [K] which did."""
    count_K = steps_of(batch)
    acted_K = count_K > 0
    return (torch.cumsum(count_K, 0) - 1)[acted_K], acted_K


def with_step_column(batch: Batch, name: str, value_S: Tensor, *because: Column) -> Batch:
    """Add a step column made from others; where it has no value, the worst reason that those have along the step's tracks."""
    if has_holes(value_S):
        reason_S = worst(batch, because).mul_(torch.isnan(value_S))  # VALUE is 0
    else:
        reason_S = torch.zeros(batch.S, dtype=torch.int8, device=value_S.device)
    return batch.with_cols({name: Column("step", value_S, reason_S)})


def worst(batch: Batch, because: Sequence[Column]) -> Tensor:
    """[S] the worst reason that columns have along a step's tracks, at least that they do not apply."""
    worst_K = torch.full((batch.K,), float(Reason.NOT_APPLICABLE), dtype=torch.float64, device=batch.seg.device)
    for column in because:
        if not bool((column.reason > int(Reason.NOT_APPLICABLE)).any()):
            continue  # nothing worse than where it starts
        reason_K = batch.up(column.reason.double(), "track", of=column.level, by="max")
        worst_K = torch.maximum(worst_K, reason_K.nan_to_num(float(Reason.NOT_APPLICABLE)))
    of_G = gather_up(worst_K[batch.path_track], batch.path_seg, batch.G, "max").to(torch.int8)
    return of_G.index_select(0, batch.seg)
