"""Numbers of a step for rules alone, from its batch: how alike tries are, how much they repeat
themselves, what the reward's spread is made of, and how well it agrees with the truth.

They go into the step's metrics as `watch/NAME`, so that the events contain them.
Only what was played in the step counts, not what a memory joined to it.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.levels import gather_up
from guerdon.runs.headline import WORTH
from guerdon.watch.past_steps import TRUTH

N = 4  # of an n-gram: seq-rep-4 of Welleck et al. 2019 (arXiv:1908.04319)
LONG = 11  # actions of a try that can repeat itself: eight n-grams; shorter answers are alike by nature
ALIKE = 1e-9  # numbers closer than that, as a share of their size, are the same
Hashes = npt.NDArray[np.uint64]
MIX, STEP = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xD1342543DE82EF95)  # odd: what multiplies by them is not lost


def batch_signs(batch: Batch) -> dict[str, float]:
    """`watch/flat`, `watch/agreement`, `watch/share.PART`, `watch/repeated`, `watch/identical`: each where it can be
    computed; the last two of text alone, for the actions of physics repeat by nature."""
    batch = batch.to("cpu")
    if batch.K == 0:
        return {}
    signs: dict[str, float] = {}
    proxy = proxy_column(batch)
    if proxy:
        worth = within(batch, proxy)
        flat, groups = flat_groups_of(batch, proxy)
        if groups:
            signs["watch/flat"] = float(flat.double().sum()) / groups
        if TRUTH in batch.cols and (r := correlation(worth, within(batch, TRUTH))) is not None:
            signs["watch/agreement"] = r
        for name in part_columns(batch, proxy):
            if (r := correlation(worth, within(batch, name))) is not None:
                signs[f"watch/share.{name.removeprefix(proxy)[1:]}"] = r * r
    if batch.context.is_floating_point():  # rows of numbers: no text was shown, and none is written
        return signs
    repeated = repeated_share(batch)
    there = ~torch.isnan(repeated)
    if bool(there.any()):
        signs["watch/repeated"] = float(repeated[there].mean())
        signs["watch/identical"] = float((twins(batch)[there] > 1).double().mean())
    return signs


def proxy_column(batch: Batch) -> str:
    """The column with the score of a try; empty where none has a value."""
    there = [n for n in WORTH if n in batch.cols and batch.cols[n].level == "track" and batch.cols[n].value.dim() == 1]
    return next((n for n in there if not bool(batch.cols[n].missing.all())), "")


def part_columns(batch: Batch, proxy: str) -> list[str]:
    """Those of the parts of a reward."""
    named = [
        n for n, c in batch.cols.items() if n.startswith(f"{proxy}.") and c.level == "track" and c.value.dim() == 1
    ]
    return named if len(named) > 1 else []


def within(batch: Batch, name: str) -> Tensor:
    """[K] a column less the mean of its group: the tries of one role at one task. NaN where it has no value."""
    value = batch.cols[name].value.double()
    group, groups = batch.group("task")
    there = ~torch.isnan(value)
    mean = gather_up(value[there], group[there], groups, "mean")
    return value - mean[group]


def correlation(x: Tensor, y: Tensor) -> float | None:
    """Of two centred columns, over what both have; None where one of them does not vary."""
    there = ~torch.isnan(x) & ~torch.isnan(y)
    x, y = x[there], y[there]
    size = float((x * x).sum() * (y * y).sum())
    if size <= 1e-18:
        return None
    r: float = float((x * y).sum()) / math.sqrt(size)
    return max(-1.0, min(1.0, r))


def flat_groups_of(batch: Batch, name: str) -> tuple[Tensor, int]:
    """[G] which groups of at least two tries with a value are worth the same throughout, and how many such groups there are."""
    value = batch.cols[name].value.double()
    group, groups = batch.group("task")
    there = ~torch.isnan(value)
    many = torch.bincount(group[there], minlength=groups) > 1
    low, high = (gather_up(sign * value[there], group[there], groups, "max") for sign in (-1.0, 1.0))
    flat = many & (high + low <= ALIKE * torch.maximum(high.abs(), low.abs()))
    return flat, int(many.sum())


def repeated_share(batch: Batch) -> Tensor:
    r"""[K] of each try $1 - \frac{|\text{different 4-grams}|}{|\text{4-grams}|}$; NaN for short ones, and where actions are
    neither tokens nor choices."""
    share = torch.full((batch.K,), float("nan"), dtype=torch.double)
    mixed, track = _mixed_actions(batch)
    if len(mixed) < N:
        return share
    grams = mixed[: len(mixed) - N + 1].copy()
    for i in range(1, N):
        grams = grams * STEP + mixed[i : len(mixed) - N + 1 + i]
    inside = track[: len(grams)] == track[N - 1 :]
    grams, of = grams[inside], track[: len(grams)][inside]
    _, first = np.unique((grams ^ (of.astype(np.uint64) + np.uint64(1)) * MIX) * STEP, return_index=True)
    total, different = (np.bincount(each, minlength=batch.K) for each in (of, of[first]))
    long = torch.from_numpy(np.bincount(track, minlength=batch.K) >= LONG)
    share[long] = 1.0 - torch.from_numpy(different / np.maximum(total, 1))[long]
    return share


def twins(batch: Batch) -> Tensor:
    """[K] how many tries of its group did exactly what it did, itself among them."""
    mixed, track = _mixed_actions(batch)
    whole = np.zeros(batch.K, np.uint64)
    length = np.bincount(track, minlength=batch.K)
    if len(mixed):
        begin = np.cumsum(length) - length
        place = np.arange(len(track)) - begin[track]
        powers = np.multiply.accumulate(np.full(int(length.max()), STEP, np.uint64))
        there = length > 0
        whole[there] = np.add.reduceat(mixed * powers[place], begin[there])
    group = batch.group("task")[0].numpy().astype(np.uint64)
    _, which, count = np.unique(np.stack([group, whole]), axis=1, return_inverse=True, return_counts=True)
    return torch.from_numpy(count[which.reshape(-1)])


def _mixed_actions(batch: Batch) -> tuple[Hashes, npt.NDArray[np.int64]]:
    """The actions of all tracks, one track after the other, each as a number that looks random; and the track of each."""
    if batch.action.dim() != 1 or batch.action.is_floating_point():
        return np.zeros(0, np.uint64), np.zeros(0, np.int64)
    step, track = batch.track_steps
    actions = batch.action[step].numpy().astype(np.uint64) + np.uint64(1)
    return (actions * MIX) ^ ((actions * STEP) >> np.uint64(29)), track.numpy()
