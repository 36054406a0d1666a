"""From a number per step to one number: the second choice of every loss, after its surrogate.

Denominators come from `batch.count`, which the whole update shares; sums over micro-batches therefore add up exactly.
"""

from __future__ import annotations

from typing import Literal

from torch import Tensor

from guerdon.core.batch import Batch

Mean = Literal["step", "track", "constant"]


def reduce(x: Tensor, batch: Batch, mean: Mean = "step", constant: float = 1.0) -> Tensor:
    """`step`: every step counts the same (DAPO). `track`: every track counts the same, whatever its length (GRPO).
    `constant`: a sum over steps, over tracks times `constant` (Dr. GRPO)."""
    if mean == "step":
        return (x * batch.weight).sum() / max(batch.count.steps, 1e-9)
    if mean == "constant":
        return (x * batch.weight).sum() / (max(batch.count.tracks, 1) * constant)
    own = batch.weight / batch.shared[batch.seg].clamp(min=1)  # a trunk's step counts once in each of its tracks
    length = batch.up(own, "track").clamp(min=1e-9)
    return (batch.up(x * own, "track") / length).sum() / max(batch.count.tracks, 1)
