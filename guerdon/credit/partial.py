"""Credit for some tracks only: those that a selection keeps."""

from __future__ import annotations

from typing import Annotated, Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.part import part
from guerdon.core.play import Play


@part
class only(FieldColumns):
    """$A_t$ where the selection `on` keeps a track through the step, *not applicable* elsewhere: what comes after it compares
    and learns from those alone, and the others stay on record.

    `Learn(on=...)` leaves tracks out for one learner; this does so for the credit that comes after it, such as `whiten`, whose
    mean and spread are then of what is learned from. PRIME (Cui et al. 2025, arXiv:2502.01456) filters prompts before it
    normalises, OREAL (Lyu et al. 2025, arXiv:2502.06781) keeps one right and one wrong try of each.

    *Assumes* a selection of whole tracks that is the same whenever it is asked in a step. *Biased* as the selection is.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 1.0], [1.0, 1.0]], advantage=[1.0, 2.0, 3.0, 4.0])
    >>> gd.credit.only(gd.select.with_spread())(batch, ExamplePlay())["advantage"].tolist()
    [1.0, 2.0, nan, nan]
    """

    on: Annotated[Any, ColumnField("needs")]
    column: Needs = "advantage"
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        numbered = batch.put("(track)", "track", torch.arange(batch.K, dtype=torch.float64, device=batch.seg.device))
        kept_K = torch.zeros(batch.K, dtype=torch.bool, device=batch.seg.device)
        kept_K[self.on(numbered, play)["(track)"].long()] = True
        left_out = batch.down(kept_K.double(), "track") == 0
        column = batch.cols[self.column]
        reason = column.reason.masked_fill(left_out, int(Reason.NOT_APPLICABLE))
        return batch.with_cols({self.gives_to: Column("step", column.value.masked_fill(left_out, torch.nan), reason)})
