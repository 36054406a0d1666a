"""Rewards along a track: from what each step was paid to what is still to come, and a return spread over its steps.

Sums go from each step on, with and without a discount. A sum that counts a missing value is missing.
"""

from __future__ import annotations

import math
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import at_steps, in_all, paid, paid_turns, track_steps, with_step_column


@part
class reward_to_go(FieldColumns):
    r"""$G_t = \sum_{u \ge t} \gamma^{u-t} r_u$ over the steps of a track, all its segments in order.

    `reward` is a column per step (at line ends or any step: process rewards), per segment (paid at a turn's last step) or per
    track (at its last). With `per="turn"` time is counted in turns: every step of a turn gets the return from its turn's
    beginning on, and $\gamma$ discounts from turn to turn; that is what `centre(by="turn")` compares. REINFORCE's return
    (Williams 1992; no paper on arXiv).

    *Assumes* that an action earns only what comes after it. *Biased* for the undiscounted return if $\gamma < 1$; a track
    that was cut short is returned as far as it goes, without a guess of the rest (`gae` has one).

    A step to which the column does not apply was paid nothing. A broken reward leaves it and the steps before it without
    a return. A step that several tracks share has their mean.

    Args:
        reward: column with the reward.
        gamma: discount.
        per: discount from step to step, or from turn to turn.
        gives_to: column of the return.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0]], steps=3, process=[1.0, 0.0, 4.0])
    >>> gd.credit.reward_to_go("process", gamma=0.5)(batch, ExamplePlay())["return"].tolist()
    [2.0, 2.0, 4.0]
    """

    reward: Needs = "reward_steps"
    gamma: float = knob(default=1.0, ge=0.0, le=1.0)
    per: Literal["step", "turn"] = "step"
    gives_to: Gives = "return"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        unrolled = track_steps(batch)
        x_M, gamma = paid(batch, column, unrolled), play.at(self.gamma)
        if self.per == "step":
            found_M = decayed_sum(x_M, gamma, unrolled.track)
        else:
            # turns in the order of the path: a turn of each track, numbered along it
            turn = torch.arange(len(batch.path_seg), device=batch.seg.device)
            turn_M = torch.repeat_interleave(turn, batch.length[batch.path_seg])
            of_turn = gather_up(x_M, turn_M, len(turn)) if column.level != "segment" else paid_turns(batch, column)
            found_M = decayed_sum(of_turn, gamma, batch.path_track).index_select(0, turn_M)
        return with_step_column(batch, self.gives_to, unrolled.back(found_M).to(column.value.dtype), column)


@part
class redistribute(FieldColumns):
    r"""$r_t = R\,w_t / \sum_u w_u$: a track's return, spread over its steps; the parts add up to the return.

    `weights` names a step column of numbers that are not negative: attention, surprise, a model's score of each step.
    Without one, or where a track's weights add up to 0, every step gets the same share. A reward model's attention as
    weights is Attention Based Credit (Chan et al. 2024, arXiv:2402.00782).

    *Assumes* that the weights reflect which steps earned the return. *Biased:* the sum along a track is kept, so a track is
    worth what it was worth; but `reward_to_go` no longer counts for a step what was moved to the steps before it.

    Given steps get a share like any other. A track without a return has none to spread; a step without a weight gets 0.

    Args:
        reward: column with one number for each track.
        weights: step column of the shares; equal shares without one.
        gives_to: column of the result.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[8.0]], steps=3, care=[1.0, 0.0, 3.0])
    >>> gd.credit.redistribute(weights="care")(batch, ExamplePlay())["reward_steps"].tolist()
    [2.0, 0.0, 6.0]
    """

    reward: Needs = "reward"
    weights: Needs = ""
    gives_to: Gives = "reward_steps"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        unrolled = track_steps(batch)
        return_K = in_all(batch, column)
        care_M = torch.ones(len(unrolled.track), dtype=torch.float64, device=unrolled.track.device)
        if self.weights:
            care_M = unrolled.at(at_steps(batch, batch.cols[self.weights])).double().nan_to_num(0.0).clamp(min=0.0)
        total_K = gather_up(care_M, unrolled.track, batch.K)
        none_K = total_K == 0
        play.log(**{f"{self.gives_to}/even": float(none_K.double().mean()) if batch.K else 0.0})
        if bool(none_K.any()):
            care_M = care_M.masked_fill(unrolled.of(none_K), 1.0)
            total_K = gather_up(care_M, unrolled.track, batch.K)
        found_S = unrolled.back(care_M * unrolled.of(return_K / total_K))
        return with_step_column(batch, self.gives_to, found_S.to(column.value.dtype), column)


def later_sum(x: Tensor, group: Tensor) -> Tensor:
    """For each entry the sum of itself and the entries after it in its group, NaN if one of those is missing.

    `group` [N] must be sorted.
    """
    last = torch.cumsum(torch.bincount(group), 0)[group] - 1

    def later(y: Tensor) -> Tensor:
        total = torch.cumsum(y, 0)
        return total[last] - total + y

    missing = torch.isnan(x)
    sums = later(torch.where(missing, 0.0, x.double()))  # a hole must not swallow the groups after its own
    return torch.where(later(missing.double()) > 0, float("nan"), sums).to(x.dtype)


def decayed_sum(x: Tensor, keep: Tensor | float, group: Tensor) -> Tensor:
    r"""For each entry $y_i = x_i + k_i\,y_{i+1}$ within its group, the last of a group being $y_i = x_i$.

    `group` [N] must be sorted; `keep` is one number or [N]. NaN if an entry or one after it in its group is missing. With
    `keep=1` it is `later_sum`. In float64, a few hundred vector operations for a million entries however long the groups are:
    short rows of all entries are scanned side by side, then what each row carries into the one before. Not differentiable.
    """
    n = len(x)
    if n == 0:
        return x.clone()
    last = torch.ones(n, dtype=torch.bool, device=x.device)
    last[:-1] = group[1:] != group[:-1]
    missing = torch.isnan(x)
    holes = bool(missing.any())
    wide = torch.where(missing, 0.0, x.double()) if holes else x.double()
    factor = keep.double() if isinstance(keep, Tensor) else torch.full_like(wide, float(keep))
    sums = _scan_back(wide, factor.masked_fill(last, 0.0)).to(x.dtype)
    if not holes:
        return sums
    at = torch.nonzero(missing).flatten()
    hole = torch.full((int(group[-1]) + 1,), -1, dtype=torch.long, device=x.device)  # each group's last hole
    hole.scatter_reduce_(0, group[at], at, "amax")
    return sums.masked_fill(torch.arange(n, device=x.device) <= hole.index_select(0, group), float("nan"))


def _scan_back(x: Tensor, factor: Tensor) -> Tensor:
    """y[i] = x[i] + factor[i] * y[i + 1] from the end, in rows side by side; `factor` is 0 where nothing is carried over."""
    n = len(x)
    width = math.isqrt(n) // 8 + 1  # short: rows are joined in plain Python, a tenth of a vector operation each
    rows = -(-n // width)
    # position by position over all rows at once: [width, rows]
    y = torch.nn.functional.pad(x, (0, rows * width - n)).view(rows, width).t().contiguous()
    carry = torch.nn.functional.pad(factor, (0, rows * width - n)).view(rows, width).t().contiguous()
    for t in range(width - 2, -1, -1):
        y[t].addcmul_(carry[t], y[t + 1])
        carry[t].mul_(carry[t + 1])
    into = [0.0] * rows  # what comes in from the row after
    first, through = y[0].tolist(), carry[0].tolist()
    for r in range(rows - 2, -1, -1):
        into[r] = first[r + 1] + through[r + 1] * into[r + 1]
    y.addcmul_(carry, torch.tensor(into, dtype=x.dtype, device=x.device))
    return y.t().reshape(-1)[:n]
