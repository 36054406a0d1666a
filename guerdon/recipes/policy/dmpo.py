"""DMPO: the policy's probabilities within a group of tries are matched to their rewards, by the forward KL.

Paper: Li et al. 2026, Beyond Mode Collapse (arXiv:2605.19461), read in its abstract. In each group of tries at a problem q
is their rewards over the sum of them (`form="share"`), or the softmax of the rewards over `target_temperature`; p is the
softmax of their log-probs, a mean over tokens each; the loss is KL(q || p). A policy gradient raises whichever right try is
likely already; this gives every right try its share, so that several ways to be right stay. A group without any reward teaches
nothing in the first form, and is drawn together in the second. The direction of the divergence is the abstract's; the length
normalisation is our reading. Leaves out: a GRPO term beside it, of which the abstract says nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.errors import UserError
from guerdon.core.field_columns import Needs as Column
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.reduce import per_track, reduce_tracks
from guerdon.losses.terms import Term
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import loss_and_penalties


@recipe("dmpo", family="policy", paper="arXiv:2605.19461", on=grpo)
def dmpo(
    base: Recipe,
    *,
    form: Literal["share", "softmax"] = "share",  # how rewards become a target; the abstract: in proportion
    target_temperature: float = 1.0,  # of the softmax of rewards; ours
) -> Recipe:
    """GRPO's tries, whose probabilities are matched to their rewards."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    _, penalties = loss_and_penalties(learner)
    learner.loss = sum(penalties, start=matched(form, target_temperature, credit.reward))
    return base.but(replace={"centre": []})


@part
class matched(Term):
    r"""$\mathrm{KL}(q\,\|\,p)$ in each group of tries at a task, the mean over tries, with
    $p = \mathrm{softmax}_i\frac{1}{|y_i|}\log\pi(y_i)$ and $q_i = r_i/\sum_j r_j$, or $\mathrm{softmax}_i(r_i/T)$.

    $\partial\mathrm{KL}/\partial s_i = p_i - q_i$: zero exactly where the two agree. Assumes rewards that are not negative for
    `share`. *Biased* on purpose: the tries of a group stand for all answers (arXiv:2605.19461).

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]])
    >>> round(float(matched()(batch, {"logp": torch.tensor([-1.0, -1.0])})[0]), 4)  # -log 1/2
    0.6931
    """

    form: Literal["share", "softmax"] = "share"
    temperature: float = knob(default=1.0, gt=0.0)
    reward: Column = "reward"

    wants = ("logp",)

    @property
    def together(self) -> Group:
        return "task"

    def silent(self, batch: Batch) -> Tensor:
        group, size = batch.group("task")
        return gather_up(self._target(batch), group, size, "sum")[group] == 0

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        (group, size), target = batch.group("task"), self._target(batch)
        logp = torch.where(batch.weight > 0, live["logp"].double(), 0.0)
        log_p = log_softmax_by(per_track(logp, batch, mean=True), group, size)
        each = torch.xlogy(target, target) - target * log_p
        per_try = gather_up(each, group, size, "sum")[group]
        return reduce_tracks(per_try, batch), {}

    def _target(self, batch: Batch) -> Tensor:
        """[K] each try's share of its group's target; 0 for all of a group that has none."""
        reward = batch.track_column(self.reward, "dmpo").value.double()
        group, size = batch.group("task")
        if self.form == "softmax":
            return log_softmax_by(reward / self.temperature, group, size).exp()
        if bool((reward < 0).any()):
            raise UserError("dmpo takes shares of rewards, and one is negative: --set form=softmax")
        total = gather_up(reward, group, size, "sum")[group]
        return reward / torch.where(total > 0, total, 1.0)


def log_softmax_by(x: Tensor, group: Tensor, size: int) -> Tensor:
    """[N] the log-softmax of numbers within their groups."""
    top = gather_up(x.detach(), group, size, "max")
    total = gather_up((x - top[group]).exp(), group, size, "sum")
    return x - top[group] - total.log()[group]
