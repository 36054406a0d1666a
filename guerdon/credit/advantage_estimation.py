"""Advantages by a learned value: generalised advantage estimation."""

from __future__ import annotations

from typing import Annotated

import torch
from torch import Tensor

from guerdon.core.batch import ENDS, Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.returns import decayed_sum
from guerdon.credit.track_steps import TrackSteps, last_steps, paid, track_steps, with_step_column


@part
class gae(FieldColumns):
    r"""$A_t = \delta_t + \gamma\lambda A_{t+1}$ with $\delta_t = r_t + \gamma V_{t+1} - V_t$, and the critic's target
    $A_t + V_t$ as column `return` (Schulman et al. 2015, arXiv:1506.02438).

    Over the steps of a track, all its segments in order. $V_t$ is `critic.value`, before the action. After the last step
    $V$ is 0 where the track is DONE and `critic.final` where it was CUT: what would have come is unknown, not nothing.
    `reward` is a column per step, or per segment or track and then paid at its last step. The defaults are those usual for
    language models, which end within reach: no discount, $\lambda = 0.95$.

    *Assumes* that the critic was read before the update. *Biased* as far as the critic is wrong if $\lambda < 1$;
    unbiased for any critic with $\lambda = \gamma = 1$ and tracks that are DONE. Many public trainers take 0 after the
    last step in either case, which teaches that running into a limit is the end of the world.

    Without a reward a track has no advantage, nor do steps before a missing value. FAILED tracks have none. A step that
    several tracks share has the mean of their advantages. `critic/explained_variance` is logged: 1 for a perfect critic,
    0 for one that is no better than a constant.

    Args:
        reward: column with the reward.
        critic: name of the critic, whose readings are columns.
        gamma: discount.
        lam: weight of longer returns: 0 is one step, 1 the whole return.
        gives_to: column of the advantage.
        returns_to: column of the critic's target.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0]], steps=2, critic__value=[0.5, 0.25], critic__final=[9.0])
    >>> gd.credit.gae(gamma=1.0, lam=0.5)(batch, ExamplePlay())["advantage"].tolist()
    [0.125, 0.75]
    """

    reward: Needs = "reward"
    critic: Annotated[str, ColumnField("needs", ("value", "final"))] = "critic"
    gamma: float = knob(default=1.0, ge=0.0, le=1.0)
    lam: float = knob(default=0.95, ge=0.0, le=1.0)
    gives_to: Gives = "advantage"
    returns_to: Gives = "return"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        reward, value, final = (batch.cols[name] for name in self.needs)
        unrolled, gamma = track_steps(batch), play.at(self.gamma)
        failed_K = batch.failed_K
        value_M = unrolled.at(value.value).double()
        earned_M = paid(batch, reward, unrolled)  # may be the column itself: not to be written into
        delta_M = (earned_M - value_M).add_(_next_value(batch, value_M, final, unrolled), alpha=gamma)
        if bool(failed_K.any()):
            delta_M.masked_fill_(unrolled.of(failed_K), float("nan"))
        advantage_M = decayed_sum(delta_M, gamma * play.at(self.lam), unrolled.track)
        because = (reward, value, _where_cut(batch, final), _failures(failed_K))
        advantage_S, return_S = unrolled.back(advantage_M).float(), unrolled.back(advantage_M + value_M).float()
        play.log(**{f"{self.critic}/explained_variance": _explained(return_S, value.value, batch.weight)})
        batch = with_step_column(batch, self.gives_to, advantage_S, *because)
        return with_step_column(batch, self.returns_to, return_S, *because)


def _next_value(batch: Batch, value_M: Tensor, final: Column, unrolled: TrackSteps) -> Tensor:
    """[M] the value after each step: of the next step, or after the track's last."""
    next_M = torch.zeros_like(value_M)
    next_M[:-1] = value_M[1:]
    last, acted_K = last_steps(batch, unrolled)
    next_M[last] = torch.where(_cut(batch), final.value.double(), 0.0)[acted_K]
    return next_M


def _cut(batch: Batch) -> Tensor:
    """[K] tracks that a limit stopped."""
    return batch.end[batch.leaf] == ENDS.index(End.CUT)


def _where_cut(batch: Batch, final: Column) -> Column:
    """`final` as far as it is used."""
    used = _cut(batch)
    return Column("track", torch.where(used, final.value, 0.0), torch.where(used, final.reason, 0).to(torch.int8))


def _failures(failed_K: Tensor) -> Column:
    value = torch.where(failed_K, float("nan"), 0.0)
    return Column("track", value, torch.where(failed_K, int(Reason.FAILED), 0).to(torch.int8))


def _explained(return_S: Tensor, value_S: Tensor, weight_S: Tensor) -> float:
    """1 - Var(return - value) / Var(return) over the steps that are learned from; 0 where returns do not differ."""
    used = ~torch.isnan(return_S) & (weight_S > 0)
    count = int(used.sum())
    if count < 2:
        return 0.0
    gap_S = (return_S - value_S).double().masked_fill_(~used, 0.0)
    target_S = return_S.double().masked_fill_(~used, 0.0)

    def variance(x: Tensor) -> float:
        mean = float(x.sum()) / count
        return max(float(x.square().sum()) / count - mean * mean, 0.0)

    spread = variance(target_S)
    return 1.0 - variance(gap_S) / spread if spread > 0 else 0.0
