"""A loss whose rows count by a column: more where it matters, less where it is uncertain, not at all where it is 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, Needs
from guerdon.core.learn import together
from guerdon.core.part import label, part
from guerdon.losses.reduce import COUNTS, has_tracks, numbers
from guerdon.losses.terms import Term


@part
class weighed(Term):
    r"""$\sum_i c_i L_i$ in place of $\sum_i L_i$ over a loss's rows, with $c$ the column `by`, per step, segment or track.

    Denominators stay those of the rows as they are, so $c = 1$ is the loss itself and $c = 2$ twice that; what the loss notes
    is not weighed. A row without a number is muted. A loss over whole tracks (`kto`, `outcome`) takes a column per track.
    Pairs have margins and labels of their own and are refused. Assumes a loss that is reduced by `losses.reduce`, as all on
    this shelf are.

    Unbiased for the weighted objective where the loss is; for the unweighted one biased towards what counts more, on purpose,
    unless $c$ is an importance weight. No paper: a tool for those that weigh tokens (by entropy, by gain) or turns.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 1.0]], care=[3.0, 0.5])
    >>> float(gd.losses.weighed(gd.losses.sft(), by="care")(batch, {"logp": torch.tensor([-1.0, -2.0])})[0])  # (3 + 1) / 2
    2.0
    """

    loss: Annotated[Any, ColumnField("needs")]
    by: Needs

    def __post_init__(self) -> None:
        if "pairs" in self.loss.needs:
            raise UserError(
                f"weighed weighs steps or tracks, and {label(self.loss)} learns from pairs: give those a margin"
            )
        if isinstance(self.loss, weighed):
            raise UserError("weighed inside weighed: multiply the two columns in a stage and name the product")

    @property
    def wants(self) -> tuple[str, ...]:
        return tuple(self.loss.wants)

    @property
    def together(self) -> Group:
        return together(self.loss)

    def silent(self, batch: Batch) -> Tensor:
        """[K] what the loss passes over, and tracks that do not count anywhere."""
        if has_tracks(batch, self.by):
            passed = torch.nan_to_num(batch[self.by]) == 0
        else:
            passed = batch.up((numbers(batch, self.by) * batch.weight != 0).double(), "track") == 0
        return passed | self.loss.silent(batch) if hasattr(self.loss, "silent") else passed

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        weighted: tuple[Tensor, dict[str, Tensor]] = self.loss(batch.with_cols({COUNTS: batch.cols[self.by]}), live)
        return weighted

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        return dict(self.loss.derive(metrics)) if hasattr(self.loss, "derive") else dict(metrics)
