"""Which tracks a learner learns from: selections for `Learn(on=...)`, which hide nothing from other stages.

Each keeps whole tracks; denominators are then those of what is kept. Left out: tracks that were cut short
(`losses.signs.finished`).
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play


@part
class in_turn:
    """Several selections one after the other: each sees what the one before it kept."""

    filters: list[Any]

    def __post_init__(self) -> None:
        if not self.filters:
            raise UserError("in_turn needs at least one selection: in_turn([at_least('correct'), distinct()])")

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(need for each in self.filters for need in each.needs))

    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        for each in self.filters:
            batch = each(batch, play)
        return batch


@part
class at_least:
    """Tracks whose `column` is `least` or more. One without a value is not kept.

    With `correct` and a loss that imitates it is rejection sampling: `kept_share` logs how many were good enough. Biased
    towards what is easy: a task that is never solved teaches nothing, one that is always solved teaches most.

    >>> from guerdon.credit.example import Aside, tries
    >>> at_least("reward")(tries([[0.0, 1.0, None]]), Aside())["reward"].tolist()
    [1.0]
    """

    column: str = "correct"
    least: float = 1.0

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column,)

    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.column]
        if column.level == "step":
            raise UserError(f"at_least keeps whole tracks, and {self.column!r} is a column per step")
        kept = torch.where(column.missing, False, column.value >= play.at(self.least))
        play.log(kept_share=float(kept.double().mean()) if batch.K else 0.0)
        return batch.take(kept)


@part
class distinct:
    """Of tracks of a group that did exactly the same, one: a right answer that is said often is learned once.

    Groups are those of `Batch.group`. What is equal is equal, so which one is kept changes nothing but the record.

    >>> from guerdon.credit.example import Aside, tries
    >>> distinct()(tries([[1.0, 1.0], [1.0]]), Aside()).K
    2
    """

    by: Group = "task"

    needs = ()
    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        group, _ = batch.group(self.by)
        paths: list[list[Any]] = [[] for _ in range(batch.K)]
        for track, place in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
            said = batch.episodes[int(batch.episode[place])].segments[int(batch.place[place])]
            paths[track].append((said.context.tobytes(), said.actions.tobytes()))
        first: dict[Any, int] = {}
        for track, key in enumerate(zip(group.tolist(), map(tuple, paths), strict=True)):
            first.setdefault(key, track)
        fresh = torch.zeros(batch.K, dtype=torch.bool, device=batch.seg.device)
        fresh[list(first.values())] = True
        play.log(repeated_share=1.0 - float(fresh.double().mean()) if batch.K else 0.0)
        return batch.take(fresh)


@part
class with_spread:
    """Groups whose values of `column` differ; of those the first `most` (0: all of them).

    Where all tries of a group have one value, its advantages are 0: it pulls at nothing and still counts in every
    denominator. Leaving it out is the second half of DAPO's dynamic sampling (Yu et al. 2025, arXiv:2503.14476); the
    first, asking until there are enough, is `until_spread`. A group of one value has no spread. The order is that in which
    the groups were asked.

    >>> from guerdon.credit.example import Aside, tries
    >>> with_spread("reward")(tries([[0.0, 1.0], [1.0, 1.0], [1.0, None]]), Aside())["reward"].tolist()
    [0.0, 1.0]
    """

    column: str = "reward"
    by: Group = "task"
    most: int = knob(default=0, ge=0)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.column,)

    gives = ()

    def __call__(self, batch: Batch, play: Play) -> Batch:
        group, size = batch.group(self.by)
        differs = spread_groups(batch.cols[self.column], group, size)
        if self.most:
            differs &= torch.cumsum(differs.long(), 0) <= self.most
        return batch.take(differs[group])


def spread_groups(column: Column, group_K: Tensor, size: int) -> Tensor:
    """[size] whether the values of a group differ. A comparison, not a deviation: equal numbers may differ from their mean
    by rounding."""
    if column.level == "step":
        raise UserError("groups are compared by a number per track, and the column is per step")
    return gather_up(column.value, group_K, size, "max") > gather_up(column.value, group_K, size, "min")
