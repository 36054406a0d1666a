"""A KL penalty that weighs less where a problem is harder: to be added to a loss, like those in `penalties.py`."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import Needs
from guerdon.core.part import part
from guerdon.losses.penalties import kl
from guerdon.losses.reduce import Members, reduce


@part
class eased_kl(kl):
    r"""$w\,\mathrm{KL}(\pi\|\pi_{to})$ with, for each track, $w\,p$ in place of $w$: $p$ is its value in `column`, the success
    rate of its problem. On what is never solved the policy is free to leave the other model, on what is always solved it is
    held as `kl` holds it. A track without a value is not held.

    After the difficulty-aware regularisation of CLPO (Zhang et al. 2025, arXiv:2509.25004); that it is in proportion is ours,
    its released code halves it on hard problems. Assumes rates from 0 to 1. Estimates and their gradients are those of `kl`,
    unbiased or not as it says; as the divergence from the other model over all problems it is biased towards the easy ones, on
    purpose.

    >>> import torch
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], steps=2, rate=[0.25, 0.25], reference__logp=[-1.0] * 4)
    >>> round(float(eased_kl(1.0)(batch, {"logp": torch.full((4,), -1.5)})[0]), 4)  # a quarter of 0.1487
    0.0372
    """

    column: Needs = "rate"

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        gap, metrics = self.gaps(batch, live["logp"])
        members = Members.of(batch)  # the tracks of a trunk may differ in how much they are held
        held_M = batch[self.column].nan_to_num(0.0).to(gap)[members.track]
        return self.weight * reduce(gap[members.step] * held_M, batch, self.mean, self.constant, members), metrics
