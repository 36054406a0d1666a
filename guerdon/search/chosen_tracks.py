"""Which track of a tree a search chose, for whoever learns from it."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import part
from guerdon.core.play import Play


@part(was="chosen_way")
class chosen_path(FieldColumns):
    """A track column: 1 for the way that a search chose, 0 for every other of its tree. Not applicable where nothing searched.

    With `select.at_least("chosen")` and a loss that imitates, a policy is taught what search made of it (expert iteration,
    Anthony et al. 2017, arXiv:1705.08439). No formula. A way that was chosen need not be right: filter by `correct` too.

    >>> import guerdon as gd
    >>> gd.search.chosen_path().gives
    ('chosen',)
    """

    gives_to: Gives = "chosen"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        at = list(zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True))
        chosen = [batch.episodes[e].info.get("chosen") for e, _ in at]
        value = torch.tensor(
            [float("nan") if c is None else float(c == place) for c, (_, place) in zip(chosen, at, strict=True)]
        )
        reason = torch.where(torch.isnan(value), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("track", value, reason)})
