"""What the environment paid, as columns. Left out: rewards that are computed from what was said (`score.py`)."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.rewards.samples import paths


@part
class paid:
    """What the environment paid: the sum of a track's segment rewards."""

    gives_to: str = "reward"

    needs = ()

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to,)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        value, reason = [], []
        for (_, path), failed in zip(paths(batch), batch.failed_K.tolist(), strict=True):
            got = [s.reward for s in path if s.reward is not None]
            why = Reason.FAILED if failed else Reason.VALUE if got else Reason.NOT_APPLICABLE
            value.append(sum(got) if why is Reason.VALUE else float("nan"))
            reason.append(int(why))
        column = Column("track", torch.tensor(value, dtype=torch.float32), torch.tensor(reason, dtype=torch.int8))
        return batch.with_cols({self.gives_to: column})
