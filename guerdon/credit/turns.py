"""A baseline for each turn or step that stays unbiased when the policy chooses when to stop."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.credit.group_relative import places_along
from guerdon.credit.track_steps import at_steps, track_steps, with_step_column


@part
class turn_baseline(FieldColumns):
    r"""$A_{i,t} = G_{i,t} - \frac{1}{n-1}\sum_{j \ne i} G_{j,t}$, with $G_{j,t} = 0$ where try $j$ has ended before $t$.

    `returns` is a column of returns from each step on (`reward_to_go`; with `per="turn"` for turns). $t$ counts turns, or
    steps with `per="step"`. A try that is over has nothing more to come, so its return at time $t$ is 0. No paper:
    RLOO's argument, turn by turn.

    *Assumes* that the $n$ tries at a task are independent, and that a cut track would have earned nothing more. Unbiased,
    whenever tries end: all $n - 1$ others are in every baseline, so neither an action nor chance decides who is. Leaving
    those out that have ended (`centre(by="turn")`) shrinks late turns, which few tries reach; a mean over all turns of a
    group weighs an action by how many turns it leads to.

    A try with a missing return is in no baseline. The only one of a group gets 0; the share of such groups is
    `NAME/single_groups`.

    Args:
        returns: column of returns.
        per: compare at the same turn, or at the same step.
        gives_to: column of the advantage.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 0.0]], steps=2, returns=[3.0, 2.0, 1.0, 1.0])
    >>> gd.credit.turn_baseline("returns", per="step")(batch, ExamplePlay())["advantage"].tolist()
    [2.0, 1.0, -2.0, -1.0]
    """

    returns: Needs = "return"
    per: Literal["turn", "step"] = "turn"
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.returns]
        unrolled = track_steps(batch)
        x_S = at_steps(batch, column).double()
        x_M = unrolled.at(x_S)
        # rows that are compared: a step of a track, or a turn of one
        if self.per == "step":
            base_M = self._others(batch, x_M, unrolled.track, play)
        else:
            of_turn_G = column.value.double() if column.level == "segment" else batch.up(x_S, "segment", by="mean")
            of_turn = of_turn_G[batch.path_seg]
            base = self._others(batch, of_turn, batch.path_track, play)
            base_M = torch.repeat_interleave(base, batch.length[batch.path_seg])
        advantage_S = unrolled.back(x_M - base_M)
        return with_step_column(batch, self.gives_to, advantage_S.to(column.value.dtype), column)

    def _others(self, batch: Batch, value: Tensor, track: Tensor, play: Play) -> Tensor:
        """For each row, the mean over the other tries of what they still had to come then; its own value if it is alone."""
        group_K, groups = batch.group("task")
        hole = torch.isnan(value)
        if self.per == "turn":  # a turn without actions has no return and is not missing
            hole = hole & (batch.length > 0)[batch.path_seg]
        acted_K = gather_up((~torch.isnan(value)).double(), track, batch.K) > 0
        whole_K = acted_K & (gather_up(hole.double(), track, batch.K) == 0)
        known = torch.where(whole_K[track], value.nan_to_num(), 0.0)
        place, size = places_along(group_K, track, torch.bincount(track, minlength=batch.K), groups)
        total = gather_up(known, place, size)[place] - known
        count = gather_up(whole_K.double(), group_K, groups)
        others = count[group_K[track]] - whole_K[track].double()
        single = float((count == 1).sum()) / max(int((count > 0).sum()), 1)
        play.log(**{f"{self.gives_to}/single_groups": single})
        return torch.where(others > 0, total / others.clamp(min=1), value)
