"""Quantiles of the ratios of a whole update, from micro-batches that are seen one at a time.

1. Quantiles of micro-batches are not those of the update, and its rows are never there all at once.
2. Counts in fixed bins add up; quantiles are read off them at the end of an update.
3. Bins are even in asinh(log ratio / FINE): narrow around a ratio of 1, where most ratios are, and wide far out.
4. Weights are whole numbers, so counts are exact in any order: the size of a micro-batch changes no quantile.
5. The number of bins is odd: the middle one holds ratios that did not move, and reads as exactly 1.

Leaves out: everything else that a loss notes (`policy.py`).
Axes: N rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import torch
from torch import Tensor

BINS = 63  # odd: the middle one holds what did not move
FINE = 1e-3  # bins are even in the logarithm of the ratio up to here and grow with it from here on, a third each
MOST = 3.0  # the largest logarithm of a ratio that is told from larger ones
REACH = math.asinh(MOST / FINE)
WIDTH = 2 * REACH / BINS
QUANTILES = {"p01": 0.01, "p50": 0.5, "p99": 0.99}


def counted(log_ratio: Tensor, weight: Tensor, name: str = "ratio") -> dict[str, Tensor]:
    """[N] logarithms made the weight in each bin. Weights are whole numbers, so their sums are exact however they are split,
    and in whatever order a GPU adds them up."""
    place = torch.asinh(log_ratio / FINE).clamp_(-REACH, REACH).add_(REACH).div_(WIDTH).long()
    place.clamp_(0, BINS - 1)  # the upper edge; and NaN, which the learner is to find in the loss
    bins = torch.zeros(BINS, dtype=torch.float64, device=place.device).scatter_add_(0, place, weight.double())
    return {_bin(name, i): count for i, count in enumerate(bins.unbind())}


def quantiles(metrics: Mapping[str, float], name: str = "ratio") -> dict[str, float]:
    """The bins of an update made `NAME_p01`, `NAME_p50` and `NAME_p99`, each off by a third of its logarithm at
    most, by less than a tenth of it where ratios are many.

    >>> noted = counted(torch.tensor([0.0, 0.0, 0.7]), torch.ones(3))
    >>> quantiles({name: float(count) for name, count in noted.items()})["ratio_p50"]
    1.0
    """
    derived = dict(metrics)
    counts = [derived.pop(_bin(name, i), 0.0) for i in range(BINS)]
    whole = sum(counts)
    if whole > 0:
        derived |= {f"{name}_{word}": math.exp(_read(counts, share * whole)) for word, share in QUANTILES.items()}
    return derived


def _bin(name: str, i: int) -> str:
    return f"{name}_bin_{i}"


def _read(counts: list[float], target: float) -> float:
    """The logarithm below which `target` of the counts lie, as if a bin's were spread evenly over it."""
    before = 0.0
    for i, count in enumerate(counts):
        if count and before + count >= target * (
            1 - 1e-9
        ):  # a target on the edge of a bin belongs to it, rounded or not
            inside = min(max((target - before) / count, 0.0), 1.0)
            return 0.0 if i == BINS // 2 else FINE * math.sinh(WIDTH * (i + inside) - REACH)
        before += count
    raise AssertionError("more was asked for than was counted")
