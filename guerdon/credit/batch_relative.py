"""Batch whitening: one mean and one spread for the whole batch, in place of one for each group."""

from __future__ import annotations

from typing import Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import at_steps, per_track, with_step_column


@part
class whiten(FieldColumns):
    r"""$A = (x - \bar x) / (s + \epsilon)$ with the mean and the sample deviation over the whole batch, each role apart.

    Over `step`s every step that is learned from counts once for each of its tracks, so long tracks count more; over
    `track`s each track counts once, with the mean over its steps. REINFORCE++ (Hu et al. 2025, arXiv:2501.03262) is
    `whiten("reward")`, its baseline variant `centre(std=False)` and then `whiten()`; the mean is then near 0 already.

    *Assumes* that rewards of different tasks are on one scale. *Biased:* every sample is in its own mean and spread, by
    about one part in the size of the batch; over steps also because an action chooses how long its track becomes, and so
    how much it weighs in the mean. OpenRLHF divides by the population's deviation, we by the sample's (n - 1), as TRL
    does: the same from some hundred steps on.

    In a tree, a step's number counts as often as there are tracks through it. Missing and given steps are in neither mean
    nor spread. Without any spread all of a role get 0, and `NAME/flat` is logged as 1.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.credit.whiten("reward", eps=0.0)(example_tries([[0.0, 2.0], [4.0, None]]), ExamplePlay())
    >>> [round(a, 3) for a in batch["advantage"].tolist()]
    [-1.0, 0.0, 1.0, nan]
    """

    column: Needs = "advantage"
    over: Literal["step", "track"] = "step"
    eps: float = knob(default=1e-8, ge=0.0)  # OpenRLHF's and stable-baselines3's
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.column]
        x_S = at_steps(batch, column)
        if self.over == "step" and column.level != "track":
            x, role, weight = x_S.double(), batch.role.index_select(0, batch.seg), batch.weight.double()
        else:
            x_K = column.value if column.level == "track" else per_track(batch, x_S)
            x, role, weight = x_K.double(), batch.role_K, torch.ones(batch.K, dtype=torch.float64, device=x_K.device)
            if self.over == "step":
                weight = batch.up((batch.weight > 0).double(), "track")  # numbers of tracks, as often as they are laid
        missing, roles = torch.isnan(x), len(batch.roles)
        weight, known = weight.masked_fill(missing, 0.0), x.masked_fill(missing, 0.0)
        total = gather_up(weight, role, roles)
        mean = gather_up(known * weight, role, roles) / total.clamp(min=1)
        gap = (known - mean.index_select(0, role)).square_().mul_(weight)
        spread = (gather_up(gap, role, roles) / (total - 1).clamp(min=1)).sqrt()
        flat = spread <= 1e-12 * mean.abs()  # equal numbers differ from their mean by rounding alone
        play.log(**{f"{self.gives_to}/flat": float((flat & (total > 0)).any())})
        scale = torch.where(flat, float("inf"), spread + play.at(self.eps))
        role_S = batch.role.index_select(0, batch.seg)
        white = (x_S.double() - mean.index_select(0, role_S)).div_(scale.index_select(0, role_S))
        return with_step_column(batch, self.gives_to, white.to(x_S.dtype), column)
