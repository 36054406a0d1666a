"""Learning a policy from lists of tracks that are worth more and less.

Leaves out: where lists come from (`select.step_pairs`: siblings of a tree), and pairs without a list (`pair.py`).
Axes: S steps, G segments, K tracks, P pairs, L segments along a track.
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor
from torch.nn.functional import cosine_similarity, logsigmoid

from guerdon.core.batch import Batch
from guerdon.core.field_columns import LogpOf, Needs
from guerdon.core.levels import gather_up, starts
from guerdon.core.part import knob, part
from guerdon.losses.pair import agreement, over_pairs, pairs_of
from guerdon.losses.terms import Term


@part
class list_ranking(Term):
    r"""$-\lambda_{ij}\log\sigma\big(\beta\sum_k w_k[h_k(y_i) - h_k(y_j)]\big)$, the mean over the pairs of all lists, with
    $h_k(y) = \sum_{t \in k}\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$ over the $k$-th segment and
    $\lambda_{ij} = |2^{v_i} - 2^{v_j}|\cdot\left|\frac{1}{\log_2(1+\tau_i)} - \frac{1}{\log_2(1+\tau_j)}\right|$.

    A list is the tracks of an episode, $v$ the column `worth` and $\tau$ a track's rank in its list by $\beta h(y)$, as the
    policy has it now: $\lambda$ is what the order's DCG would change if the two were swapped (LambdaLoss, Wang et al. 2018; for
    policies LiPO, Liu et al. 2024, arXiv:2402.01878). Where the policy calls two equal, as at the start, they rank by their
    worth: else a policy that is its own reference would learn nothing. `lambdas=False` has every pair count the same: DPO over
    all pairs.

    $w_k = 1 + a\cos_k$ with `adapt` $=a$ and the cosine of the mean hidden states of the two $k$-th segments: the Adaptive Step
    Reward of TPO (Liao et al. 2024, arXiv:2410.12854) as its released code has it (MrBlankness/TPO, loss.py, line 25: cosine
    + 1), so steps in which two answers agree pull more; with $a = -1$ those in which they differ do. What the two share
    cancels. A segment that only one of them has is compared with nothing, $\cos = 0$. $a = 0$ asks for no hidden states.

    Assumes values on a scale of about 1, for gains are powers of two, and pairs that stand within one list. Biased on purpose,
    to the head of lists; and as `dpo` is, towards what the lists cover. Notes `margin`, `accuracy` and `lambda`, the mean
    weight.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]], reference__logp=[-1.0, -1.0]), ExamplePlay())
    >>> loss = gd.losses.list_ranking(lambdas=False, adapt=0.0)
    >>> round(float(loss(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)  # as dpo: -log sigma(0.1 * 1)
    0.6444
    """

    beta: float = knob(default=0.1, gt=0.0)
    worth: Needs = "reward"
    lambdas: bool = True
    adapt: float = knob(default=1.0, ge=-1.0, le=1.0)
    to: LogpOf = "reference"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs", *super().needs)

    @property
    def wants(self) -> tuple[str, ...]:
        return ("logp", "hidden") if self.adapt else ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = pairs_of(batch)
        gain = torch.where(batch.weight > 0, live["logp"] - batch[f"{self.to}.logp"], 0.0)
        gain_G = self.beta * batch.up(gain, "segment")
        along = _along(batch)
        margin = self._margins(gain_G, along[pairs.better], along[pairs.worse], batch, live)
        weight = torch.ones_like(margin)
        if self.lambdas:
            worth = batch.track_column(self.worth, "list_ranking").value.to(margin)
            score = batch.up(gain_G.detach(), "track", of="segment")
            discount = 1 / torch.log2(1 + ranks(score, worth, batch.group("episode")[0]))
            gains = torch.exp2(worth)
            weight = (gains[pairs.better] - gains[pairs.worse]).abs()
            weight = weight * (discount[pairs.better] - discount[pairs.worse]).abs()
        losses = -pairs.label * logsigmoid(margin) - (1 - pairs.label) * logsigmoid(-margin)
        noted = {"margin": margin, "accuracy": agreement(margin, pairs.label), "lambda": weight}
        return over_pairs(weight * losses, batch), {n: over_pairs(x.detach(), batch) for n, x in noted.items()}

    def _margins(
        self, gain_G: Tensor, better: Tensor, worse: Tensor, batch: Batch, live: Mapping[str, Tensor]
    ) -> Tensor:
        """[P] how far the better tracks are ahead, segment by segment; `better` and `worse` are [P, L]."""
        ahead = _at(gain_G, better) - _at(gain_G, worse)  # 0 where it is one and the same segment
        if not self.adapt:
            return ahead.sum(1)
        hidden = live["hidden"].detach()
        steps = batch.length.clamp(min=1).to(hidden)[:, None]
        mean_G = hidden.new_zeros(batch.G, hidden.shape[1]).index_add(0, batch.seg, hidden) / steps
        alike = cosine_similarity(_at(mean_G, better), _at(mean_G, worse), dim=2)
        return (ahead * (1 + self.adapt * alike)).sum(1)


def _along(batch: Batch) -> Tensor:
    """[K, L] the segments of each track, root to leaf; -1 behind its last."""
    depth = torch.bincount(batch.path_track, minlength=batch.K)
    along = torch.full((batch.K, int(depth.max()) if batch.K else 0), -1, dtype=torch.long, device=batch.seg.device)
    place = torch.arange(len(batch.path_seg), device=batch.seg.device) - starts(depth)[batch.path_track]
    along[batch.path_track, place] = batch.path_seg
    return along


def _at(x_G: Tensor, segments: Tensor) -> Tensor:
    """What segments have, 0 where there is none."""
    there = segments >= 0
    return x_G[segments.clamp(min=0)] * there.view(*there.shape, *[1] * (x_G.dim() - 1))


def ranks(score_K: Tensor, worth_K: Tensor, group_K: Tensor) -> Tensor:
    """[K] the place of each in its group, 1 for the highest score, of equal ones for the highest worth; those that are equal in
    both share the mean of their places, so that no order of tracks matters."""
    order = torch.argsort(worth_K, descending=True, stable=True)
    order = order[torch.argsort(score_K[order], descending=True, stable=True)]
    order = order[torch.argsort(group_K[order], stable=True)]
    keys = [x[order] for x in (group_K, score_K, worth_K)]
    is_new = torch.ones(len(order), dtype=torch.bool, device=order.device)
    is_new[1:] = torch.stack([x[1:] != x[:-1] for x in keys]).any(0)
    size = torch.bincount(group_K, minlength=1)
    place = (torch.arange(len(order), device=order.device) - starts(size)[group_K[order]] + 1).to(score_K)
    tied = torch.cumsum(is_new, 0) - 1
    shared = gather_up(place, tied, int(is_new.sum()), "mean")[tied]
    return torch.empty_like(shared).scatter_(0, order, shared)
