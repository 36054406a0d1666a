"""Good and bad tries taught with different strength, and tries that were cut short not taught at all."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, FieldColumns
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.losses.terms import Around


@part
class by_sign(Around):
    r"""A policy loss with advantages $w_+ A$ where $A > 0$ and $w_- A$ where $A < 0$.

    Punishing and rewarding do different things to a policy: with `positive=0` it only learns what not to do and keeps its
    variety, with `negative=0` it is weighted imitation of its own best tries (Zhu et al. 2025, arXiv:2506.01347, who
    find `positive=0.1` best on their tasks). Assumes what the loss does. Biased: any weights but equal ones bias the
    gradient, on purpose.

    Args:
        loss: a policy loss.
        positive: factor of positive advantages.
        negative: factor of negative advantages.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], advantage=[1.0, -1.0])
    >>> loss = gd.losses.by_sign(gd.losses.clipped(), positive=0.1)
    >>> round(float(loss(batch, {"logp": torch.zeros(2), "entropy": torch.zeros(2)})[0]), 4)  # (-0.1 + 1) / 2
    0.45
    """

    loss: Annotated[Any, ColumnField("needs")]
    positive: float = knob(default=1.0, ge=0.0)
    negative: float = knob(default=1.0, ge=0.0)

    def __post_init__(self) -> None:
        if not hasattr(self.loss, "advantage"):
            raise UserError(f"by_sign weighs the advantages of one policy loss, such as clipped(), not {self.loss!r}")

    def silent(self, batch: Batch) -> Tensor:
        silent: Tensor = self.loss.silent(self._weighed(batch))
        return silent

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        weighted: tuple[Tensor, dict[str, Tensor]] = self.loss(self._weighed(batch), live)
        return weighted

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        return dict(self.loss.derive(metrics))

    def _weighed(self, batch: Batch) -> Batch:
        column = batch.cols[self.loss.advantage]
        weight = torch.where(column.value < 0, float(self.negative), float(self.positive))
        changed = dataclasses.replace(column, value=column.value * weight.to(column.value.dtype))
        return batch.with_cols({self.loss.advantage: changed})


@part
class finished(FieldColumns):
    """A selection (`Learn(on=finished())`): only the tracks whose last segment was not CUT. No formula.

    What would have come after a cut is unknown, and a score of the stump punishes thinking that may have been sound:
    DAPO's overlong filtering (Yu et al. 2025, arXiv:2503.14476). Tracks that are left out are in no denominator
    either; their scores were in their group's mean all the same, as in the paper. Assumes that a cut is independent
    of the try's quality. Biased where it does: a policy is never penalised for not stopping. Watch `cut_share`, or punish
    length softly in the reward.

    >>> import guerdon as gd
    >>> gd.Learn("policy", gd.losses.clipped(high=0.28, mean="step"), on=gd.losses.finished()).on
    finished()
    """

    def __call__(self, batch: Batch, play: Play) -> Batch:
        cut = was_cut(batch)
        play.log(cut_share=float(cut.double().mean()) if batch.K else 0.0)
        return batch.take(~cut)


def was_cut(batch: Batch) -> Tensor:
    """[K] the tracks whose last segment was CUT."""
    return (batch.end == ENDS.index(End.CUT))[batch.leaf]
