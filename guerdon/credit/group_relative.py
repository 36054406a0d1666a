"""Group-relative credit: a reward minus the mean of its group; and which rows are compared with which.

The rows that are compared, the group of each, and the way from a row's number to its steps. Roles never share a group.
Leaves out: other uses of the comparison (`baselines.py`, `pass_at_k.py`).

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
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up, moments, starts
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import at_steps, steps_of, to_steps, track_steps, with_step_column


@part
class centre(FieldColumns):
    r"""$A = (r - \bar r_{group}) / (s_{group} + \epsilon)$ with $s$ the sample deviation; `std=False` leaves the division
    out, and `others=True` takes the mean over the other tries of the group, $\frac{1}{n-1}\sum_{j \ne i} r_j$.

    `by` is what is compared, always within a role: all tries at a task, the tries of one ask, the tracks of an episode;
    the segments that continue one `parent` (a segment's number is the mean over its tracks, each child counts once, first
    segments are children of their task); the tries' segments at the same `turn`; their steps at the same `position`. Of a
    column per step or segment, the first three compare steps or segments (and `others` are those of other tries: a try of
    several rows is left out as a whole), `parent` and `turn` the segments' own numbers, or the means of their steps.

    GRPO (Shao et al. 2024, arXiv:2402.03300) is `centre()`, Dr. GRPO (Liu et al. 2025, arXiv:2503.20783) `std=False`, RLOO
    (Ahmadian et al. 2024, arXiv:2402.14740) `std=False, others=True`. `eps` is TRL's.

    *Assumes* that the rows of a group are independent draws of one policy from one start. *Biased:* the own reward in the
    mean shrinks the gradient by $1 - 1/n$, which only `others` undoes; dividing by the spread weighs tasks by how hard
    they are, and is biased with either mean. `turn` and `position` shrink what few tries reach (`turn_baseline` does not).
    Comparing the steps of a group with one mean for all is worse: an action chooses how often it counts.

    A row without a value is in no mean and gets no advantage. The only value of a group gets 0; `NAME/single_groups` and
    `NAME/flat_groups` (no spread) are the numbers of groups that teach nothing.

    Args:
        reward: column with the reward.
        by: what is compared: "task", "ask", "episode", "parent", "turn" or "position".
        std: divide by the group's deviation (GRPO) or not (Dr. GRPO).
        eps: added to the deviation.
        gives_to: column of the advantage.
        others: take the mean over the other tries of the group (RLOO).

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.credit.centre(std=False)(example_tries([[0.0, 2.0, 4.0], [5.0]]), ExamplePlay())["advantage"].tolist()
    [-2.0, 0.0, 2.0, 0.0]
    >>> gd.credit.centre(std=False, others=True)(example_tries([[0.0, 2.0, 4.0]]), ExamplePlay())["advantage"].tolist()
    [-3.0, 0.0, 3.0]
    """

    reward: Needs = "reward"
    by: Compare = "task"
    std: bool = True
    eps: float = knob(default=1e-4, ge=0.0)
    gives_to: Gives = "advantage"
    others: bool = False

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        rows = compare(batch, column, self.by)
        advantage = standing(rows, play, self.gives_to, self.std, self.others, play.at(self.eps))
        value = rows.back(advantage)
        return with_step_column(
            batch, self.gives_to, to_steps(batch, value) if rows.level == "track" else value, column
        )


def standing(
    rows: Compared, play: Play, name: str, std: bool = True, others: bool = False, eps: float = 0.0
) -> torch.Tensor:
    """[U] where each row stands in its group; what groups were worth is logged under `name`."""
    count, mean, spread = moments(rows.value, rows.group, rows.size)
    kind = rows.value.dtype
    gap = rows.value - mean.to(kind).index_select(0, rows.group)
    single = count == 1
    if others:
        gap, single = _to_others(gap, rows, count)
    there, flat, lone = (int(torch.count_nonzero(x)) for x in (count > 0, spread == 0, single))
    play.log(**{f"{name}/flat_groups": flat / max(there, 1), f"{name}/single_groups": lone / max(there, 1)})
    if not std:
        return gap
    scale = spread.to(kind)
    scale = scale + eps if eps else scale.masked_fill(scale == 0, 1.0)  # 0 over 0 is 0, not a NaN
    return gap.div_(scale.index_select(0, rows.group))


def _to_others(gap: torch.Tensor, rows: Compared, count: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """[U] the gaps to the mean of the group's other tries, from those to its own mean; and which groups have one try alone.

    The gaps of a group add up to 0, so those of the others to minus the try's own: the mean over the `n - m` others is the
    group's less the try's sum over `n - m`. Where there are none it is the row's own number.
    """
    if rows.track is None:  # each row is a try: (r - mean) n / (n - 1)
        factor = count / (count - 1).clamp(min=1)
        return gap * factor.to(gap.dtype).index_select(0, rows.group), count == 1
    tracks = int(rows.track.max()) + 1 if len(rows.track) else 0
    valued = ~torch.isnan(gap)
    own = gather_up(gap.double().nan_to_num(), rows.track, tracks).index_select(0, rows.track)
    mine = gather_up(valued.double(), rows.track, tracks).index_select(0, rows.track)
    left = count.index_select(0, rows.group) - mine
    gap_to_others = torch.where(left > 0, gap + own / left.clamp(min=1), gap * 0)
    alone = gather_up((valued & (left == 0)).double(), rows.group, rows.size) > 0
    return gap_to_others.to(gap.dtype), alone


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
