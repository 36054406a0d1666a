"""Advantages for the best of k tries instead of the average one."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up, starts
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.returns import later_sum
from guerdon.credit.track_steps import in_all, to_steps, with_step_column


@part
class best_of_k(FieldColumns):
    r"""$A_i = k\,(\text{mean}_{I \ni i} \max_{I} r - \text{mean}_{J \not\ni i} \max_{J} r)$ over the subsets $I$, $J$ of $k$
    tries in the group: the gradient of the expected best of `k`, which for rewards of 0 and 1 is pass@k.

    $n > k$ tries give all subsets at once, by sorting (Walder & Karkhanis 2025, arXiv:2505.15201). Their own baselines
    differ by factors near 1; this one keeps $k$ tries in both terms, so that `best_of_k(k=1)` is exactly RLOO.

    *Assumes* independent tries. Unbiased for $\nabla E[\max_{1..k} r]$ with a loss that is a mean over tracks: the second
    term knows nothing of try $i$. It pays for variety, and gives up the average for it.

    A try without a value is in no subset. In a group with $k$ values or fewer all get 0; the share of such groups is
    `NAME/short_groups`. `NAME/best` is the estimate of the best of k itself.

    Args:
        reward: column with the reward.
        k: number of tries of which the best counts.
        by: what a group is.
        gives_to: column of the advantage.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> gd.credit.best_of_k(k=2)(example_tries([[1.0, 0.0, 0.0]]), ExamplePlay())["advantage"].tolist()
    [2.0, -1.0, -1.0]
    """

    reward: Needs = "reward"
    k: int = knob(default=4, ge=1)
    by: Group = "task"
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        reward_K = in_all(batch, column)
        group, n = batch.group(self.by)
        count = gather_up(reward_K, group, n, "count")
        enough = count > self.k
        advantage_K = torch.where(torch.isnan(reward_K), reward_K, 0.0)
        used = torch.nonzero(~torch.isnan(reward_K) & enough[group]).flatten()
        best = 0.0
        if len(used):
            with_own, without = best_with_and_without(reward_K[used], group[used], self.k)
            advantage_K[used] = self.k * (with_own - without)
            share = self.k / count[group[used]]  # of the subsets, those that hold a given try
            of_all = share * with_own + (1 - share) * without
            best = float(gather_up(of_all, group[used], n, "mean")[enough].mean())
        short = float(((count > 0) & ~enough).sum()) / max(int((count > 0).sum()), 1)
        play.log(**{f"{self.gives_to}/short_groups": short, f"{self.gives_to}/best": best})
        return with_step_column(batch, self.gives_to, to_steps(batch, advantage_K.to(column.value.dtype)), column)


def best_with_and_without(x: Tensor, group: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """[N] twice, in float64: the mean over all subsets of `k` of the group's numbers of their largest, of those subsets
    that hold this number and of those that do not. Every group has more than `k` numbers."""
    order = torch.argsort(x, stable=True)
    order = order[torch.argsort(group[order], stable=True)]  # group by group, smallest first
    g, x_up = group[order], x[order].double()
    size_of = torch.bincount(g)
    n = size_of[g].double()
    rank = (torch.arange(len(g), device=x.device) - starts(size_of)[g] + 1).double()  # from 1
    # number j is the largest of a subset that holds i: for j = i the others are below it; for j > i they are i and k - 2 more
    own = _chance(rank - 1, k - 1, n - 1, k - 1) * x_up
    above = _chance(rank - 2, k - 2, n - 1, k - 1) * x_up
    # of a subset without i: j < i has j - 1 below it, j > i one less, for i is not there
    low = _chance(rank - 1, k - 1, n - 1, k) * x_up
    high = _chance(rank - 2, k - 1, n - 1, k) * x_up
    with_own = own + later_sum(above, g) - above
    before = gather_up(low, g, len(size_of))[g] - later_sum(low, g)
    without = before + later_sum(high, g) - high
    both = torch.empty(2, len(x), dtype=torch.float64, device=x.device)
    both[:, order] = torch.stack([with_own, without])
    return both[0], both[1]


def _chance(n: Tensor, k: int, of_n: Tensor, of_k: int) -> Tensor:
    r"""$\binom{n}{k} / \binom{of\_n}{of\_k}$ by logarithms, 0 where there is no such subset."""
    there = (n >= k) & (k >= 0)
    return torch.where(there, torch.exp(_log_choose(n.clamp(min=k), k) - _log_choose(of_n, of_k)), 0.0)


def _log_choose(n: Tensor, k: int) -> Tensor:
    return torch.lgamma(n + 1) - math.lgamma(max(k, 0) + 1) - torch.lgamma(n - k + 1)
