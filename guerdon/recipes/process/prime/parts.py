"""PRIME's own part: what is still to come of token rewards, against the other tries."""

from __future__ import annotations

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.returns import decayed_sum
from guerdon.credit.track_steps import paid, track_steps, with_step_column


@part
class return_over_others(FieldColumns):
    r"""$G_t = \sum_{u \ge t} \gamma^{u-t}\,(r_u - b)$ with $b = \frac{1}{n-1}\sum_{j \ne i} \frac{1}{|y_j|}\sum_s r_{j,s}$:
    what is still to come of a track's step rewards, each less the mean step of the group's other tries.

    The process half of PRIME's advantage (Cui et al. 2025, arXiv:2502.01456, section 3.2). With `bounded` rewards are first
    divided by the largest $|\sum_{u \ge t} r_u|$ of the batch, as in its released code: rewards that a model implies grow while
    it is trained, and their returns then stay within 1.

    *Assumes* a reward at every step, and tries of one policy. *Biased:* the mean of a step times the steps that are left is no
    baseline of the state, so a longer answer is worth less where steps are worth something on average, and more where they
    cost; with `bounded` the batch's largest return is in every number.

    A try without rewards is in no mean and has no return; one that is alone in its group is compared with 0.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 0.0]], steps=2, process=[1.0, 3.0, 0.0, 2.0])
    >>> return_over_others("process", bounded=False)(batch, ExamplePlay())["process_return"].tolist()
    [2.0, 2.0, -2.0, 0.0]
    """

    reward: Needs = "process_steps"
    gamma: float = knob(default=1.0, ge=0.0, le=1.0)
    bounded: bool = True
    gives_to: Gives = "process_return"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, unrolled = batch.cols[self.reward], track_steps(batch)
        reward_M = paid(batch, column, unrolled)
        if self.bounded and len(reward_M):
            largest = decayed_sum(reward_M, 1.0, unrolled.track).abs().nan_to_num(0.0).max()
            reward_M = reward_M / largest.clamp(min=1e-6)  # the released code adds as much
        mean_K = gather_up(reward_M, unrolled.track, batch.K, "mean")
        mean_K = mean_K.masked_fill(gather_up(reward_M.isnan().double(), unrolled.track, batch.K) > 0, float("nan"))
        group_K, size = batch.group("task")
        known_K = (~mean_K.isnan()).double()
        others_K = gather_up(known_K, group_K, size)[group_K] - known_K
        total_K = gather_up(mean_K.nan_to_num(0.0), group_K, size)[group_K] - mean_K.nan_to_num(0.0)
        gap_M = reward_M - unrolled.of(total_K / others_K.clamp(min=1))
        return_S = unrolled.back(decayed_sum(gap_M, play.at(self.gamma), unrolled.track))
        return with_step_column(batch, self.gives_to, return_S.to(column.value.dtype), column)
