"""Sums and means over ragged groups, with missing values defined: the arithmetic under `Batch.up` and `Batch.down`.

1. Every member has the number of its group, so groups of any size are reduced in one pass and nothing is padded.
2. Sums are taken in float64 and come back in the input's type: a total over a million steps keeps its digits.
3. A sum with a missing part is missing: NaN in, NaN out.
4. A statistic (mean, std, max, min, count) is over the members that have a value, and NaN where none has one.
5. `moments` puts missing members into an extra group that is never read: no masks, and no synchronisation on a GPU.

Leaves out: which group a step, segment or track is in (`core/batch.py`).
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

By = Literal["sum", "mean", "std", "max", "min", "count"]


def gather_up(x: Tensor, group: Tensor, n: int, by: By = "sum") -> Tensor:
    """Reduce `x` [N] into `n` groups, `group` [N] saying which. Differentiable for sum and mean."""
    if by == "std":
        return moments(x, group, n)[2].to(x.dtype)
    wide = x.double()
    if by == "sum":
        return torch.zeros(n, dtype=torch.float64, device=x.device).index_add(0, group, wide).to(x.dtype)
    valued = ~torch.isnan(wide)
    count = torch.zeros(n, dtype=torch.float64, device=x.device).index_add(0, group, valued.double())
    if by == "count":
        return count.to(x.dtype)
    if by in ("max", "min"):
        fill = float("-inf") if by == "max" else float("inf")
        out = torch.full((n,), fill, dtype=torch.float64, device=x.device)
        out = out.scatter_reduce(0, group, torch.where(valued, wide, fill), "amax" if by == "max" else "amin")
        return torch.where(count > 0, out, float("nan")).to(x.dtype)
    known = torch.where(valued, wide, 0.0)
    total = torch.zeros(n, dtype=torch.float64, device=x.device).index_add(0, group, known)
    return torch.where(count > 0, total / count.clamp(min=1), float("nan")).to(x.dtype)


def moments(x: Tensor, group: Tensor, n: int) -> tuple[Tensor, Tensor, Tensor]:
    """[n] three times, in float64: how many values each group has, their mean and their standard deviation.

    It is the sample's (n - 1), 0 for a single value; TRL and the GRPO reference code divide so too.
    """
    if has_holes(x):
        group = torch.where(torch.isnan(x), n, group)  # an extra group, never read

    def total(y: Tensor) -> Tensor:
        return torch.zeros(n + 1, dtype=torch.float64, device=x.device).scatter_add_(0, group, y)

    wide = x.double()
    count = total(torch.ones(1, dtype=torch.float64, device=x.device).expand(len(x)))
    mean = total(wide) / count  # 0 / 0 is NaN
    gap = mean.index_select(0, group).sub_(wide).square_()
    spread = total(gap).div_((count - 1).clamp_(min=1)).sqrt_().div_(count > 0)
    return count[:n], mean[:n], spread[:n]


def has_holes(x: Tensor) -> bool:
    """Whether an entry may be missing: a sum with a NaN in it is NaN. Several times as fast as to look at each; also true
    where infinities cancel."""
    return bool(torch.isnan(x.sum()))


def starts(length: Tensor) -> Tensor:
    """Where each of consecutive runs of the given lengths begins."""
    return torch.cumsum(length, 0) - length


def expand(index: Tensor, start: Tensor, length: Tensor) -> Tensor:
    """The concatenated ranges start[i] .. start[i] + length[i] for i in `index`."""
    n = length[index]
    offset = torch.arange(int(n.sum()), device=index.device) - torch.repeat_interleave(starts(n), n)
    return torch.repeat_interleave(start[index], n) + offset
