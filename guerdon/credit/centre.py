"""Group-relative credit: a reward minus the mean of its group."""

from __future__ import annotations

from typing import Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play


@part
class centre:
    r"""$A = (r - \text{mean}_{group}) / (\text{std}_{group} + \epsilon)$, the same for every step of a track.

    `by` says who is compared: the tries of one ask, all tries at a task, or the tracks of an episode; always within a
    role. `std=True` is GRPO (arXiv:2402.03300), `std=False` Dr. GRPO (arXiv:2503.20783). A track without a value is in no
    mean and gets no advantage; the only valued track of a group gets 0. `eps` is TRL's.
    """

    reward: str = "reward"
    by: Literal["task", "ask", "episode"] = "task"
    std: bool = True
    eps: float = knob(default=1e-4, ge=0.0)
    gives_to: str = "advantage"

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.reward,)

    @property
    def gives(self) -> tuple[str, ...]:
        return (self.gives_to,)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        group, n = batch.group(self.by)
        gap = column.value - gather_up(column.value, group, n, "mean")[group]
        spread = gather_up(column.value, group, n, "std")
        flat = (spread == 0).double().sum() / (~torch.isnan(spread)).sum().clamp(min=1)
        play.log(**{f"{self.gives_to}/flat_groups": float(flat)})
        scale = spread[group] + self.eps
        advantage = torch.where(scale == 0, gap, gap / scale) if self.std else gap  # 0 over 0 is no signal, not a NaN
        return batch.put(self.gives_to, "step", batch.down(advantage, "track"), because=column)
