"""What a try was worth to the learner, one number a track: what a bandit chooses kinds of problems by."""

from __future__ import annotations

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import unknown
from guerdon.core.part import part


@part
class magnitude:
    r"""$|\bar A|$: how large a track's number in `column` is, whichever its sign; of a step column the track's mean.

    Of group-relative advantages: how hard a try pulls on the policy. Where all tries at a problem come out alike, too easy or
    too hard, it is 0; with rewards of 0 and 1 divided by their spread, a kind that is solved with probability $p$ has a mean
    of about $2\sqrt{p(1-p)}$.

    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> gd.curricula.magnitude()(example_tries([[0.0, 1.0, None]], advantage=[-1.5, 0.5, 1.0])).tolist()
    [1.5, 0.5, 1.0]
    """

    column: str = "advantage"

    def __call__(self, batch: Batch) -> Tensor:
        if self.column not in batch.cols:
            raise unknown("column for a bandit to choose by", self.column, batch.cols)
        column = batch.cols[self.column]
        return torch.abs(batch.up(column.value, "track", of=column.level, by="mean"))
