"""Sums and means over ragged groups, with missing values defined. The arithmetic under `Batch.up` and `Batch.down`.

Everything accumulates in float64 and comes back in the input's type, so a total over a million steps keeps its digits.
A sum with a missing part is missing: NaN in, NaN out. A statistic (mean, std, max, min, count) is over the members that
have a value, and NaN when none has one.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

By = Literal["sum", "mean", "std", "max", "min", "count"]


def gather_up(x: Tensor, group: Tensor, n: int, by: By = "sum") -> Tensor:
    """Reduce `x` [N] into `n` groups, `group` [N] saying which. Differentiable for sum and mean."""
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
    mean = torch.where(count > 0, total / count.clamp(min=1), float("nan"))
    if by == "mean":
        return mean.to(x.dtype)
    # std: the sample standard deviation (n - 1), 0 for a single value; TRL and the GRPO reference code divide so too
    gap = torch.where(valued, wide - mean[group], 0.0) ** 2
    total = torch.zeros(n, dtype=torch.float64, device=x.device).index_add(0, group, gap)
    return torch.where(count > 0, (total / (count - 1).clamp(min=1)).sqrt(), float("nan")).to(x.dtype)


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


def starts(length: Tensor) -> Tensor:
    """Where each of consecutive runs of the given lengths begins."""
    return torch.cumsum(length, 0) - length


def expand(index: Tensor, start: Tensor, length: Tensor) -> Tensor:
    """The concatenated ranges start[i] .. start[i] + length[i] for i in `index`."""
    n = length[index]
    offset = torch.arange(int(n.sum()), device=index.device) - torch.repeat_interleave(starts(n), n)
    return torch.repeat_interleave(start[index], n) + offset
