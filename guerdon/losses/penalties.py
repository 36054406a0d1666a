"""Terms that hold a policy back, to be added to a loss: the distance to another model, and too little randomness."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, reduce
from guerdon.losses.terms import Term


@part
class kl(Term):
    r"""$w\,\mathrm{KL}(\pi\|\pi_{to})$, estimated from the steps that were sampled (http://joschu.net/blog/kl-approx.html).

    With $\delta=\log\pi_{to}-\log\pi$: `k1` is $-\delta$, unbiased and of high variance; `k2` is $\delta^2/2$, biased, its
    gradient that of the reverse KL; `k3` is $e^\delta-1-\delta$, unbiased and never negative (GRPO's, arXiv:2402.03300).
    """

    weight: float = knob(default=0.04, ge=0.0)  # GRPO's beta
    to: str = "reference"
    kind: Literal["k1", "k2", "k3"] = "k3"
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return (f"{self.to}.logp",)

    wants = ("logp",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return torch.full((batch.K,), not self.weight, dtype=torch.bool, device=batch.seg.device)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logp = live["logp"]
        other = torch.where(batch.weight > 0, batch[f"{self.to}.logp"], logp.detach())  # given steps have none
        gap = estimate(logp, other, self.kind)
        metrics = {f"kl_{self.to}": reduce(k3(logp.detach(), other), batch)}
        return self.weight * reduce(gap, batch, self.mean, self.constant), metrics


@part
class entropy(Term):
    """$-w\\,H(\\pi)$: a bonus for keeping several choices open."""

    weight: float = knob(default=0.01, ge=0.0)  # A3C's (arXiv:1602.01783)
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)

    needs = ()
    wants = ("entropy",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return torch.full((batch.K,), not self.weight, dtype=torch.bool, device=batch.seg.device)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return -self.weight * reduce(live["entropy"], batch, self.mean, self.constant), {}


def estimate(logp: Tensor, other: Tensor, kind: Literal["k1", "k2", "k3"]) -> Tensor:
    gap = other - logp
    return {"k1": lambda: -gap, "k2": lambda: gap.square() / 2, "k3": lambda: torch.exp(gap) - 1 - gap}[kind]()


def k3(logp: Tensor, other: Tensor) -> Tensor:
    """The k3 estimate of KL(policy || other) from samples of the policy: never negative, low variance."""
    return estimate(logp, other, "k3")
