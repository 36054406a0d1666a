"""The clipped policy gradient, with surrogate and reduction as two choices."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.part import knob, part
from guerdon.losses.penalties import k3
from guerdon.losses.reduce import Mean, reduce
from guerdon.losses.terms import Term


@part
class clipped(Term):
    r"""$-\min(\rho A, \text{clip}(\rho, 1-low, 1+high) A)$ with $\rho = \pi/\pi_{old}$ per step (PPO, arXiv:1707.06347).

    $\pi_{old}$ is the log-prob the step was sampled with; `low = high = 0.2` is PPO's and GRPO's. A sampler that rounds
    otherwise than the learner, or holds older weights, is off-policy: with `old` a column such as `policy.logp`, read
    before the update, $\rho$ is to that, and every step is weighed by $\min(\pi_{old}/\pi_{sampled}, truncate)$, the
    truncated importance weight (arXiv:1802.01561; the cap of 3 is TRL's). Without `old` the ratio corrects for both.
    """

    low: float = knob(default=0.2, ge=0.0, le=1.0)
    high: float = knob(default=0.2, ge=0.0)
    mean: Mean = "track"
    constant: float = knob(default=1.0, gt=0.0)
    advantage: str = "advantage"
    old: str = ""
    truncate: float = knob(default=3.0, gt=0.0)

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.advantage, self.old) if self.old else (self.advantage,)

    wants = ("logp", "entropy")

    def silent(self, batch: Batch) -> Tensor:
        """[K] tracks without any advantage."""
        speaks = torch.nan_to_num(batch[self.advantage]) * batch.weight != 0
        return batch.up(speaks.double(), "track") == 0

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        logp = live["logp"]
        advantage = torch.nan_to_num(batch[self.advantage])  # missing steps have weight 0
        sampled = torch.where(batch.weight > 0, batch.logp, logp.detach())  # given steps have none and weigh nothing
        old = torch.where(batch.weight > 0, batch[self.old], logp.detach()) if self.old else sampled
        ratio = torch.exp(logp - old)
        bounded = ratio.clamp(1 - self.low, 1 + self.high)
        surrogate = -torch.minimum(ratio * advantage, bounded * advantage)
        metrics = {
            "clipped": reduce((bounded * advantage < ratio * advantage).float(), batch),
            "entropy": reduce(live["entropy"].detach(), batch),
            "kl_old": reduce(k3(logp.detach(), old), batch),
        }
        if self.old:
            drift = torch.exp(old - sampled)
            surrogate = surrogate * drift.clamp(max=self.truncate)
            metrics["kl_sampler"] = reduce(k3(sampled, old), batch)
            metrics["truncated"] = reduce((drift > self.truncate).float(), batch)
        return reduce(surrogate, batch, self.mean, self.constant), metrics
