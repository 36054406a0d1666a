"""Learning from preferences between tracks."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.core.batch import Batch
from guerdon.core.part import knob, part


@part
class dpo:
    r"""$-\ell\log\sigma(m) - (1-\ell)\log\sigma(-m)$ with
    $m = \beta[(\log\pi - \log\pi_{ref})(y^+) - (\log\pi - \log\pi_{ref})(y^-)]$ and $\ell$ the pair's label (arXiv:2305.18290;
    soft labels as in cDPO). `beta=0.1` is the paper's. `to` names the reference model.
    """

    beta: float = knob(default=0.1, gt=0.0)
    to: str = "reference"

    @property
    def needs(self) -> tuple[str, ...]:
        return ("pairs", f"{self.to}.logp")

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs = batch.pairs
        assert pairs is not None
        learned = (batch.weight > 0).float()  # what was put in the actor's mouth is no merit of its own
        gain = batch.up(learned * (live["logp"] - batch[f"{self.to}.logp"]), "track")
        margin = self.beta * (gain[pairs.better] - gain[pairs.worse])
        losses = -pairs.label * logsigmoid(margin) - (1 - pairs.label) * logsigmoid(-margin)
        share = max(batch.count.pairs, 1)
        return losses.sum() / share, {"margin": margin.detach().sum() / share}
