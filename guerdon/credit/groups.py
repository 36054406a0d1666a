"""Who is compared with whom: the rows that are compared, the group of each, and the way from a row's number to its steps.

Roles never share a group.
Leaves out: what is made of the comparison (`group_relative.py`, `baselines.py`, `pass_at_k.py`).

Axes: S steps, G segments, K tracks, M steps of tracks (`track_steps.py`), U rows that are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import COARSE, Batch
from guerdon.core.column import Column
from guerdon.core.levels import gather_up, starts
from guerdon.credit.track_steps import at_steps, steps_of, track_steps, with_step_column

Compare = Literal["task", "ask", "episode", "parent", "turn", "position"]


@dataclass(frozen=True)
class Compared:
    value: Tensor  # [U] NaN takes part in nothing
    group: Tensor  # [U]
    size: int  # how many groups
    level: Literal["step", "track"]  # what a number for each row can be made one for each of ...
    back: Callable[[Tensor], Tensor]  # ... so
    track: Tensor | None = None  # [U] whose row it is, where a track has several in its group

    def column(self, x_U: Tensor, batch: Batch, because: Column) -> Column:
        """A number for each row as a column, missing where and why `because` is."""
        value = self.back(x_U)
        if self.level == "track":
            return Column("track", value, because.reason)
        return with_step_column(batch, "it", value, because).cols["it"]


def compare(batch: Batch, column: Column, by: Compare) -> Compared:
    """The rows of a column in their groups.

    `task`, `ask`, `episode`: the tracks (or, of a column per step or segment, those) of one task, ask or episode. `parent`: the
    segments that continue one segment, those without a parent being the children of their task. `turn`: the tries' first
    segments at a task, their second ones, and so on. `position`: their first steps, second steps, and so on.
    """
    if by in ("parent", "turn"):
        group_G, size = _segment_groups(batch, by)
        value_G = _of_segments(batch, column)
        return Compared(value_G, group_G, size, "step", lambda x_G: x_G.index_select(0, batch.seg))
    group_K, size = batch.group(by if by in COARSE else "task")
    if column.level == "track" and by != "position":
        return Compared(column.value, group_K, size, "track", lambda x_K: x_K)
    if column.level == "segment" and by != "position":
        track, seg = batch.path_track, batch.path_seg
        return Compared(column.value[seg], group_K[track], size, "step", lambda x: _of_steps(batch, x), track)
    unrolled = track_steps(batch)
    value_M = unrolled.of(column.value) if column.level == "track" else unrolled.at(at_steps(batch, column))
    if by == "position":
        group_M, size = places_along(group_K, unrolled.track, steps_of(batch), size)
        return Compared(value_M, group_M, size, "step", unrolled.back)
    return Compared(value_M, unrolled.of(group_K), size, "step", unrolled.back, unrolled.track)


def _of_steps(batch: Batch, x: Tensor) -> Tensor:
    """[S] from a number for each segment of each track: the mean over the tracks through a step's segment."""
    return gather_up(x, batch.path_seg, batch.G, "mean").index_select(0, batch.seg)


def _of_segments(batch: Batch, column: Column) -> Tensor:
    """[G] a segment's own number, or the mean over its steps, or over the tracks through it."""
    if column.level == "segment":
        return column.value
    if column.level == "step":
        return batch.up(column.value, "segment", by="mean")
    return gather_up(column.value[batch.path_track], batch.path_seg, batch.G, "mean")


def _segment_groups(batch: Batch, by: Compare) -> tuple[Tensor, int]:
    roles = len(batch.roles)
    if by == "parent":
        above = torch.where(batch.parent >= 0, batch.parent, batch.G + batch.task)
        key = above * roles + batch.role
    else:
        along_path = torch.arange(len(batch.path_seg), device=batch.seg.device)
        along_path -= starts(torch.bincount(batch.path_track, minlength=batch.K))[batch.path_track]
        turn_G = torch.zeros(batch.G, dtype=torch.long, device=batch.seg.device)
        turn_G[batch.path_seg] = along_path
        key = (batch.task * (batch.G + 1) + turn_G) * roles + batch.role
    unique, group = torch.unique(key, return_inverse=True)
    return group, len(unique)


def places_along(group_K: Tensor, track_M: Tensor, count_K: Tensor, groups: int) -> tuple[Tensor, int]:
    """[M] each track's group split by the place of the row in its track, and how many groups there are then; the rows lie
    track by track, `count_K` for each."""
    rows = len(track_M)
    if not rows:
        return track_M, 0
    longest = int(count_K.max())
    before_K = group_K * longest - starts(count_K)  # to which the number of the row is added
    key = before_K.index_select(0, track_M).add_(torch.arange(rows, device=track_M.device))
    size = groups * longest
    if size <= 4 * rows:
        return key, size
    unique, index = torch.unique(key, return_inverse=True)  # one track far longer than the others: most keys are unused
    return index, len(unique)
