"""The clipped policy gradient, with surrogate and reduction as two choices."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, reduce


@part
class clipped:
    r"""$-\min(\rho A, \text{clip}(\rho, 1-low, 1+high) A)$ with $\rho = \pi/\pi_{old}$ per step (PPO, arXiv:1707.06347).

    $\pi_{old}$ is the log-prob the step was sampled with. `low = high = 0.2` is PPO's and GRPO's. `entropy` adds a bonus;
    `kl` adds the k3 estimate of KL to the model named `to`, whose log-probs the batch must have.
    """

    low: float = knob(default=0.2, ge=0.0, le=1.0)
    high: float = knob(default=0.2, ge=0.0)
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    entropy: float = knob(default=0.0, ge=0.0)
    kl: float = knob(default=0.0, ge=0.0)
    to: str = "reference"
    advantage: str = "advantage"

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.advantage, f"{self.to}.logp") if self.kl else (self.advantage,)

    @property
    def wants(self) -> tuple[str, ...]:
        return ("logp", "entropy")

    def silent(self, batch: Batch) -> Tensor:
        """[K] tracks without any advantage, where nothing but the advantage speaks."""
        if self.kl or self.entropy:
            return torch.zeros(batch.K, dtype=torch.bool, device=batch.seg.device)
        speaks = torch.nan_to_num(batch[self.advantage]) * batch.weight != 0
        return batch.up(speaks.double(), "track") == 0

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logp = live["logp"]
        advantage = torch.nan_to_num(batch[self.advantage])  # missing steps have weight 0
        old = torch.where(batch.weight > 0, batch.logp, logp.detach())  # given steps have none and weigh nothing
        ratio = torch.exp(logp - old)
        bounded = ratio.clamp(1 - self.low, 1 + self.high)
        surrogate = -torch.minimum(ratio * advantage, bounded * advantage)
        loss = reduce(surrogate - self.entropy * live["entropy"], batch, self.mean, self.constant)
        metrics = {
            "clipped": reduce((bounded * advantage < ratio * advantage).float(), batch),
            "entropy": reduce(live["entropy"].detach(), batch),
            "kl_old": reduce(k3(logp.detach(), old), batch),
        }
        if self.kl:
            gap = k3(logp, torch.where(batch.weight > 0, batch[f"{self.to}.logp"], logp.detach()))
            loss = loss + self.kl * reduce(gap, batch, self.mean, self.constant)
            metrics[f"kl_{self.to}"] = reduce(gap.detach(), batch)
        return loss, metrics


def k3(logp: Tensor, other: Tensor) -> Tensor:
    """The k3 estimate of KL(policy || other) from samples of the policy: never negative, low variance."""
    gap = other - logp
    return torch.exp(gap) - 1 - gap
