"""Baselines other than the plain mean of a group: a running mean for each role, a weighted mean, batch whitening.

Batch whitening has one mean and one standard deviation for the whole batch.
"""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch, Group
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.credit.track_steps import at_steps, in_all, per_track, to_steps, with_step_column


@part
class role_baseline(FieldColumns):
    r"""$A = r - b_{role}$, then $b_{role} \leftarrow \alpha\,b_{role} + (1 - \alpha)\,\bar r_{role}$ with the mean over
    this step's tracks of the role: a running baseline for each role of a game.

    For self-play, where groups of tries are not comparable: the seats of a game pay differently (the first to move may win more
    often) and every opponent is another start. SPIRAL (Liu et al. 2025, arXiv:2506.24119) has $\alpha = 0.95$. With
    `by_family` each family of tasks has baselines of its own.

    *Assumes* that a role's mean reward moves slowly. Unbiased: a baseline from earlier steps knows nothing of this one.
    To update before subtracting would put $1 - \alpha$ of the own mean into the baseline, a bias of that size.

    The first step has the baseline `start`, and what is learned first replaces it as any later mean does. A role without
    a valued track keeps its baseline; a track without a value has no advantage. The baselines are in the checkpoint.

    Args:
        reward: column with one number for each track.
        decay: weight of the earlier baseline in each update.
        start: first baseline.
        by_family: a baseline for each family of tasks.
        gives_to: column of the advantage.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> stage = gd.credit.role_baseline(decay=0.5)
    >>> [stage(example_tries([[4.0]]), ExamplePlay())["advantage"].item() for step in range(3)]
    [4.0, 2.0, 1.0]
    """

    reward: Needs = "reward"
    decay: float = knob(default=0.95, ge=0.0, le=1.0)
    start: float = 0.0
    by_family: bool = False
    gives_to: Gives = "advantage"

    mean: dict[str, float] = state(factory=dict)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, start, decay = batch.cols[self.reward], play.at(self.start), play.at(self.decay)
        reward_K = in_all(batch, column)
        names, group_K = self._groups(batch)
        base = torch.tensor([self.mean.get(name, start) for name in names], dtype=torch.float64)
        now = gather_up(reward_K, group_K, len(names), "mean")
        for name, old, new in zip(names, base.tolist(), now.tolist(), strict=True):
            if new == new:
                self.mean[name] = decay * old + (1 - decay) * new
                play.log(**{f"{self.gives_to}/baseline_{name}": old})
        advantage_K = (reward_K - base.to(reward_K.device)[group_K]).to(column.value.dtype)
        return with_step_column(batch, self.gives_to, to_steps(batch, advantage_K), column)

    def _groups(self, batch: Batch) -> tuple[list[str], Tensor]:
        """The name of each baseline that this batch uses, and [K] which of them is a track's."""
        roles = [batch.roles[r] for r in batch.role_K.tolist()]
        if self.by_family:
            of = batch.episode[batch.leaf].tolist()
            roles = [f"{batch.episodes[e].task.family}/{r}" for e, r in zip(of, roles, strict=True)]
        names = sorted(set(roles))
        place = {name: i for i, name in enumerate(names)}
        return names, torch.tensor([place[r] for r in roles], dtype=torch.long, device=batch.seg.device)


@part
class weighted_baseline(FieldColumns):
    r"""$A = r - \frac{\sum_j w_j r_j}{\sum_j w_j}$ over the group: the baseline with the least variance, if $w_j$ is the
    squared norm of $\nabla\log\pi$ of track $j$.

    That norm is rarely known. Without `weights` it is taken as the number of steps that are learned from, which is right
    where steps have gradients of one size that are orthogonal: OPO (Hao et al. 2025, arXiv:2505.23585). `weights` names a
    track column of better guesses. With `others` the own track is left out of both sums.

    *Assumes* that the weights are these norms; wrong ones cost variance alone. *Biased* without `others`, as the own reward
    and the own length are in the baseline; the paper has it so. With `others` unbiased for weights of any kind.

    A track without a reward or a weight is in neither sum; without a reward it has no advantage. Alone with its value, or
    where the weights add up to 0, it gets 0; the share of such groups is `NAME/single_groups`.

    Args:
        reward: column with one number for each track.
        weights: column of the weights; the number of learned steps without one.
        by: what a group is.
        others: leave the own track out of the baseline.
        gives_to: column of the advantage.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 4.0]], size=[1.0, 3.0])
    >>> gd.credit.weighted_baseline(weights="size")(batch, ExamplePlay())["advantage"].tolist()
    [-3.0, 1.0]
    """

    reward: Needs = "reward"
    weights: Needs = ""
    by: Group = "task"
    others: bool = False
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.reward]
        group, n = batch.group(self.by)
        reward_K = in_all(batch, column)
        weight_K = self._weights(batch)
        valued = ~torch.isnan(reward_K)
        weight_K = torch.where(valued, weight_K.nan_to_num(), 0.0)
        paid_K = weight_K * reward_K.nan_to_num()
        total, paid = gather_up(weight_K, group, n)[group], gather_up(paid_K, group, n)[group]
        if self.others:
            total, paid = total - weight_K, paid - paid_K
        count = gather_up(valued.double(), group, n)
        alone = (total <= 0) | (count[group] == 1)
        single = float((count == 1).sum()) / max(int((count > 0).sum()), 1)
        play.log(**{f"{self.gives_to}/single_groups": single})
        advantage_K = torch.where(alone, torch.where(valued, 0.0, float("nan")), reward_K - paid / total)
        return with_step_column(batch, self.gives_to, to_steps(batch, advantage_K.to(column.value.dtype)), column)

    def _weights(self, batch: Batch) -> Tensor:
        if self.weights:
            return in_all(batch, batch.cols[self.weights])
        return batch.up((batch.weight > 0).double(), "track")


@part
class cross_baseline(FieldColumns):
    r"""$A_i = r_i - \frac{1}{n-1}\sum_{j \ne i} v_j$ with $v_j$ a number for try $j$ of the group, such as what a model
    reads of its reward in it: the baseline of a try is made of the others (cross-fitted).

    A prediction from the whole try knows the reward better than one from the problem, and depends on what was sampled. Taken
    from another try of the same problem it does not depend on the own one. POISE (Choi et al. 2026, arXiv:2605.07579).

    *Assumes* that a group's tries are independent, and that $v$ was not fitted to the rewards it is taken from. Unbiased for
    any $v$. *Biased* with `own`, $A_i = r_i - v_i$, which is for comparison alone: of a perfect prediction nothing is left.

    A try without a reward has no advantage, and is still a baseline if it has a number. A try whose group has no other number
    gets 0; the share of tries with a reward that are so is `NAME/no_baseline`.

    Args:
        reward: column with one number for each track.
        value: column of the predictions.
        by: what a group is.
        own: take the try's own prediction.
        gives_to: column of the advantage.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 0.0, 0.0]], predicted=[0.9, 0.2, 0.4])
    >>> [round(a, 2) for a in gd.credit.cross_baseline()(batch, ExamplePlay())["advantage"].tolist()]
    [0.7, -0.65, -0.55]
    """

    reward: Needs = "reward"
    value: Needs = "predicted"
    by: Group = "task"
    own: bool = False
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column, (group, n) = batch.cols[self.reward], batch.group(self.by)
        reward_K, value_K = in_all(batch, column), in_all(batch, batch.cols[self.value])
        known, value_K = (~torch.isnan(value_K)).double(), value_K.nan_to_num()
        total, count = value_K, known
        if not self.own:
            total, count = gather_up(value_K, group, n)[group] - value_K, gather_up(known, group, n)[group] - known
        alone = torch.where(torch.isnan(reward_K), reward_K, 0.0)
        advantage_K = torch.where(count > 0, reward_K - total / count.clamp(min=1), alone)
        valued = ~torch.isnan(reward_K)
        lone = float((valued & (count == 0)).sum()) / max(int(valued.sum()), 1)
        play.log(**{f"{self.gives_to}/no_baseline": lone})
        return with_step_column(batch, self.gives_to, to_steps(batch, advantage_K.to(column.value.dtype)), column)


@part
class whiten(FieldColumns):
    r"""$A = (x - \bar x) / (s + \epsilon)$ with the mean and the sample deviation over the whole batch, separately for each
    role.

    Over `step`s every step that is learned from counts once for each of its tracks, so long tracks count more; over
    `track`s each track counts once, with the mean over its steps. REINFORCE++ (Hu et al. 2025, arXiv:2501.03262) is
    `whiten("reward")`, its baseline variant `centre(std=False)` and then `whiten()`; the mean is then near 0 already.

    *Assumes* that rewards of different tasks are on one scale. *Biased:* every sample is in its own mean and spread, by
    about one part in the size of the batch; over steps also because an action chooses how long its track becomes, and so
    how much it weighs in the mean. OpenRLHF divides by the population's deviation, we by the sample's (n - 1), as TRL
    does: the same from some hundred steps on.

    In a tree, a step's number counts as often as there are tracks through it. Missing and given steps are in neither mean
    nor spread. Without any spread all of a role get 0, and `NAME/flat` is logged as 1.

    Args:
        column: column to normalise.
        over: a step or a track counts once.
        gives_to: column of the result.

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
