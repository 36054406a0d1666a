"""Baselines that something other than the group's mean sets: what a group was promised, and the worst of its right tries."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch, Group
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up, moments
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.track_steps import in_all, to_steps, with_step_column


@part(name="shortfall", aliases=("below_promise",))
class below_promise(FieldColumns):
    r"""$A = \bar r_{group} - \bar m_{group}$: how far a group as a whole is from what it was promised, the same for all of
    its tracks. $m$ is the column `mark`.

    The intra-subgroup term of HBPO (Lyu et al. 2025, arXiv:2507.15844): a group is the tries under one budget, the mark what
    a right answer within that budget is worth, so the term is at most 0, and 0 where all of them are. It is added to
    `centre()` among all tries at the problem.

    *Assumes* a mark that does not depend on the tries. *Biased*, though alike for a whole group: a track's own reward is in
    the mean, so with $n$ tracks it adds $1/n$ of the policy gradient; the rest moves nothing on average. It costs variance:
    where nothing is solved every try is pushed down by the whole mark.

    A track without a reward is in no mean and has no advantage; nor has a group without a mark. Logs `NAME/shortfall`.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 1.0], [2.0]], promised=[2.0, 2.0, 2.0])
    >>> below_promise(mark="promised")(batch, ExamplePlay())["shortfall"].tolist()
    [-1.5, -1.5, 0.0]
    """

    reward: Needs = "reward"
    mark: Needs = "promised"
    by: Group = "ask"
    gives_to: Gives = "shortfall"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, mark = batch.cols[self.reward], batch.cols[self.mark]
        group, size = batch.group(self.by)
        reward_K, mark_K = in_all(batch, column), in_all(batch, mark)
        gap = gather_up(reward_K, group, size, "mean") - gather_up(mark_K, group, size, "mean")
        if bool((~gap.isnan()).any()):
            play.log(**{f"{self.gives_to}/shortfall": float(gap.nanmean())})
        advantage_K = gap[group].masked_fill(reward_K.isnan(), float("nan"))
        return with_step_column(batch, self.gives_to, to_steps(batch, advantage_K.to(column.value.dtype)), column, mark)


@part(name="sparing", aliases=("spare_correct",))
class spare_correct(FieldColumns):
    r"""$A = (r - b) / (s + \epsilon)$ with $b = \min(\bar r,\ \min_{right} r_j)$ over the group: where the mean lies above
    the worst of the right tries, that one is the baseline, so no right try is pushed down. $s$ is the group's sample
    deviation; `std=False` leaves the division out.

    The boundary preservation of DR. SAF (Chen et al. 2025, arXiv:2508.11582) as its released code has it. A reward for short
    answers would otherwise take from those that are right and long. A track is right where column `right` is `least` or
    more; the code asks whether the reward is above 0.5, which with its weights is the same.

    *Assumes* that being right is worth more than all else in the reward together; otherwise a baseline this low lifts wrong
    tries too. *Biased* as `centre` is, and where the worst right try is the baseline, by choosing it among the rewards: what
    is left there is how much better than the worst a try is, never worse.

    A group without a right try is centred. A row without a value is in no statistic and gets no advantage; the only value
    of a group gets 0. Logs `NAME/spared`, the share of groups whose baseline was lowered.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> stage = spare_correct(right="reward", std=False)
    >>> stage(example_tries([[1.0, 1.0, 1.5], [0.0, 1.0]]), ExamplePlay())["advantage"].tolist()
    [0.0, 0.0, 0.5, -0.5, 0.5]
    """

    reward: Needs = "reward"
    right: Needs = "correct"
    least: float = 0.5
    by: Group = "task"
    std: bool = True
    eps: float = knob(default=1e-4, ge=0.0)  # TRL's, as centre's
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        group, size = batch.group(self.by)
        reward_K = in_all(batch, column)
        right_K = in_all(batch, batch.cols[self.right]) >= play.at(self.least)  # no value is not right
        count, mean, spread = moments(reward_K, group, size)
        worst = gather_up(torch.where(right_K, reward_K, float("nan")), group, size, "min")
        lower = (worst < mean) & (spread > 0)
        play.log(**{f"{self.gives_to}/spared": float(lower.sum()) / max(int((count > 0).sum()), 1)})
        gap_K = reward_K - torch.where(lower, worst, mean)[group]
        if self.std:
            scale, eps = spread[group], play.at(self.eps)
            gap_K = gap_K / (scale + eps if eps else scale.masked_fill(scale == 0, 1.0))
        return with_step_column(batch, self.gives_to, to_steps(batch, gap_K.to(column.value.dtype)), column)
