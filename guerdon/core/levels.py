"""Sums and means over ragged groups, with missing values defined. The arithmetic under `Batch.up` and `Batch.down`.

Everything accumulates in float64 and comes back in the input's type, so a total over a million steps keeps its digits.
A sum with a missing part is missing: NaN in, NaN out. A statistic (mean, std, max, min, count) is over the members that
have a value, and NaN when none has one.
"""

from __future__ import annotations

import math
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
        group = torch.where(torch.isnan(x), n, group)  # one group more, which nobody reads

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


def later_sum(x: Tensor, group: Tensor) -> Tensor:
    """For each entry the sum of itself and the entries after it in its group, NaN if one of those is missing.

    `group` [N] must be sorted.
    """
    last = torch.cumsum(torch.bincount(group), 0)[group] - 1

    def later(y: Tensor) -> Tensor:
        total = torch.cumsum(y, 0)
        return total[last] - total + y

    missing = torch.isnan(x)
    found = later(torch.where(missing, 0.0, x.double()))  # a hole must not swallow the groups after its own
    return torch.where(later(missing.double()) > 0, float("nan"), found).to(x.dtype)


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
    found = _scan_back(wide, factor.masked_fill(last, 0.0)).to(x.dtype)
    if not holes:
        return found
    at = torch.nonzero(missing).flatten()
    hole = torch.full((int(group[-1]) + 1,), -1, dtype=torch.long, device=x.device)  # each group's last hole
    hole.scatter_reduce_(0, group[at], at, "amax")
    return found.masked_fill(torch.arange(n, device=x.device) <= hole.index_select(0, group), float("nan"))


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


def starts(length: Tensor) -> Tensor:
    """Where each of consecutive runs of the given lengths begins."""
    return torch.cumsum(length, 0) - length


def expand(index: Tensor, start: Tensor, length: Tensor) -> Tensor:
    """The concatenated ranges start[i] .. start[i] + length[i] for i in `index`."""
    n = length[index]
    offset = torch.arange(int(n.sum()), device=index.device) - torch.repeat_interleave(starts(n), n)
    return torch.repeat_interleave(start[index], n) + offset
