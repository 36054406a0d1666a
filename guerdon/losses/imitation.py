"""Learning from what should have been said."""

from __future__ import annotations

from collections.abc import Mapping

from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, reduce


@part
class sft:
    """Cross-entropy on the actions of the batch: $-\\log\\pi(a)$."""

    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    needs = ()
    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return reduce(-live["logp"], batch, self.mean, self.constant), {}
