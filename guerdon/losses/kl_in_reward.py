"""The distance to another model as a cost in the reward, before credit is assigned: RLHF's way, PPO's and RLOO's."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives, LogpOf, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.losses.penalties import Estimate, estimate
from guerdon.losses.reduce import Members, own, per_track


@part
class kl_cost(FieldColumns):
    r"""A stage: $r_t - w\,k(\log\pi_{sampled}(a_t), \log\pi_{to}(a_t))$, with $k$ an estimate as in `kl` (k1: the
    log-ratio).

    As a reward the log-ratio has the whole gradient of the KL, its effect on later steps included, once credit has
    been assigned: with `k1` unbiased for the KL-regularised objective (Ziegler et al. 2019, arXiv:1909.08593); `k2`
    and `k3` in a reward are biased, for their expectation is differentiated as if it did not depend on the policy. Assumes
    the log-probs that the steps were sampled with.

    `per="track"` gives a track column: the reward less the sum over the track's learned steps (RLOO, TRL's too).
    `per="step"` gives a step column: every step its own cost, the last step of a track its reward as well (PPO for
    language models); a trunk's step has the mean over its tracks. A reward that is already per step keeps its steps,
    and `per` must be "step". What was given costs nothing. A track without a reward has none after; a step that was
    learned but never sampled has no cost to take, and is not applicable.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0]], steps=2, reference__logp=[-1.0, -3.0])  # sampled with log-prob 0
    >>> [round(x, 3) for x in gd.losses.kl_cost(0.05, per="step")(batch, ExamplePlay())["reward"].tolist()]
    [-0.05, 0.85]
    """

    weight: float = knob(default=0.05, ge=0.0)  # TRL's PPO and RLOO
    to: LogpOf = "reference"
    kind: Estimate = "k1"
    per: Literal["track", "step"] = "track"
    reward: Needs = "reward"
    gives_to: Gives = "reward"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        learned = batch.weight > 0
        gap = torch.where(learned, estimate(batch.logp, batch[f"{self.to}.logp"], self.kind), 0.0)
        paid = batch.cols[self.reward]
        known = ~torch.isnan(gap) & learned
        play.log(**{f"{self.gives_to}/kl_{self.to}": float(gap[known].double().mean()) if bool(known.any()) else 0.0})
        cost = play.at(self.weight) * gap
        if paid.level == "segment":
            raise UserError(f"{self.reward!r} is a reward per segment: name the column of its steps, as 'reward_steps'")
        if self.per == "track":
            if paid.level == "step":
                raise UserError(f"{self.reward!r} is a reward per step: use kl_cost(per='step')")
            value = paid.value - per_track(cost, batch)
        else:
            value = (paid.value if paid.level == "step" else _at_the_end(paid.value, batch)) - cost
        level: Literal["step", "track"] = "track" if self.per == "track" else "step"
        reason = torch.where(torch.isnan(value), _reason(paid, level, batch), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: Column(level, value, reason)})


def _at_the_end(reward_K: Tensor, batch: Batch) -> Tensor:
    """[S] each track's reward at its last learned step, 0 before it; missing all along a track without one."""
    members = Members.of(batch)
    order = torch.arange(len(members.step), device=batch.seg.device, dtype=torch.float64)
    order = torch.where(own(batch)[members.step] > 0, order, float("nan"))
    last = gather_up(order, members.track, batch.K, "max")[members.track]
    paid = reward_K[members.track]
    placed = torch.where((order == last) | torch.isnan(paid), paid, 0.0)
    return gather_up(placed, members.step, batch.S, "mean")


def _reason(paid: Column, level: Literal["step", "track"], batch: Batch) -> Tensor:
    """Why a value is missing: for the reason its reward is, else because there was no cost to take."""
    if paid.level != level:
        paid = batch.put("", level, batch.down(paid.value, "track"), because=paid).cols[""]
    return torch.where(paid.reason == Reason.VALUE, int(Reason.NOT_APPLICABLE), paid.reason)
