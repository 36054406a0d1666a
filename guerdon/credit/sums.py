"""Sums along tracks: from each step on, with and without a discount.

Missing values are defined: what counts one is missing.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor


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
