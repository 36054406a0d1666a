"""Penalty terms, to be added to a loss: the divergence from another model, and a bonus for entropy.

Leaves out: the same divergence in the reward, which is the stage `kl_cost` (`kl_in_reward.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import LogpOf
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, average, reduce
from guerdon.losses.terms import Term

Estimate = Literal["k1", "k2", "k3"]


@part
class kl(Term):
    r"""$w\,\mathrm{KL}(\pi\|\pi_{to})$, estimated from the steps that were sampled
    (http://joschu.net/blog/kl-approx.html).

    With $\delta=\log\pi_{to}-\log\pi$: `k1` is $-\delta$, unbiased and of high variance; `k2` is $\delta^2/2$,
    biased, its gradient that of the reverse KL; `k3` is $e^\delta-1-\delta$, unbiased and never negative (GRPO's,
    Shao et al. 2024, arXiv:2402.03300).

    An unbiased value is not an unbiased gradient. Differentiated on samples of $\pi$ itself, `k1` has a gradient of
    mean zero (it holds nothing back: use it in the reward, `kl_cost`), `k2` has the gradient of
    $\mathrm{KL}(\pi\|\pi_{to})$, and `k3` that of $\mathrm{KL}(\pi_{to}\|\pi)$, the same to first order near
    $\pi_{to}$. `corrected=True` multiplies by the step's ratio $\pi/\pi_{sampled}$, through which the gradient goes
    too: then `k1` and `k3` have the gradient of $\mathrm{KL}(\pi\|\pi_{to})$ at every visited step, also after the
    first update (DeepSeek-V3.2's, TRL's `use_bias_correction_kl`). Without it, as in GRPO's paper, all assume that
    the steps were sampled from $\pi$.

    The reference is a model of the recipe; one that follows the policy is `snapshot("policy", every=100)`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch, live = example_tries([[1.0]], reference__logp=[-1.0]), {"logp": torch.tensor([-1.5])}
    >>> [round(float(gd.losses.kl(1.0, kind=k)(batch, live)[0]), 4) for k in ("k1", "k2", "k3")]
    [-0.5, 0.125, 0.1487]
    """

    weight: float = knob(default=0.04, ge=0.0)  # GRPO's beta
    to: LogpOf = "reference"
    kind: Estimate = "k3"
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    corrected: bool = False

    wants = ("logp",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return nobody(batch, self.weight)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        gap, metrics = self.gaps(batch, live["logp"])
        return self.weight * reduce(gap, batch, self.mean, self.constant), metrics

    def gaps(self, batch: Batch, logp: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
        """[S] the estimate at each step, and what is noted."""
        other = torch.where(batch.weight > 0, batch[f"{self.to}.logp"], logp.detach())  # given steps have none
        gap = estimate(logp, other, self.kind)
        if self.corrected:
            gap = gap * torch.exp(logp - torch.where(batch.weight > 0, batch.logp, logp.detach()))
        return gap, {f"kl_{self.to}": average(k3(logp.detach(), other), batch)}


@part
class entropy(Term):
    r"""$-w\,H(\pi)$: a bonus for keeping several choices open (A3C, Mnih et al. 2016, arXiv:1602.01783).

    The entropy is that of each step's whole distribution, not an estimate from the action that was drawn, so its
    gradient at the visited steps is exact; how the policy changes which steps are visited is left out, which biases
    it for the entropy of whole tracks. Assumes that the steps are the policy's own.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> round(float(gd.losses.entropy(0.01)(example_tries([[1.0, 0.0]]), {"entropy": torch.tensor([2.0, 1.0])})[0]), 4)
    -0.015
    """

    weight: float = knob(default=0.01, ge=0.0)  # A3C's
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)

    wants = ("entropy",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return nobody(batch, self.weight)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return -self.weight * reduce(live["entropy"], batch, self.mean, self.constant), {}


def nobody(batch: Batch, weight: float) -> Tensor:
    """[K] the silent tracks of a term that speaks about every step: none, or all if it weighs nothing."""
    return torch.full((batch.K,), not weight, dtype=torch.bool, device=batch.seg.device)


def estimate(logp: Tensor, other: Tensor, kind: Estimate) -> Tensor:
    gap = other - logp
    return {"k1": lambda: -gap, "k2": lambda: gap.square() / 2, "k3": lambda: torch.exp(gap) - 1 - gap}[kind]()


def k3(logp: Tensor, other: Tensor) -> Tensor:
    """The k3 estimate of KL(policy || other) from samples of the policy: never negative, low variance."""
    return estimate(logp, other, "k3")
