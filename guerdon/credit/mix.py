"""Advantages combined with weights, restricted to selected tracks, or taken from a teacher's log-ratios.

A teacher's credit of a token is how much likelier the teacher finds it than the policy that sampled it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, ClassVar

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, FieldColumns, Gives, LogpOf, Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.credit.group_relative import Compare, compare, standing
from guerdon.credit.track_steps import at_steps, to_steps, with_step_column, worst


@part
class mixed(FieldColumns):
    r"""$A = \sum_i w_i A_i$ of columns per step, segment or track: episode and step advantages in one number.

    GiGPO (Feng et al. 2025, arXiv:2505.10978) adds an advantage among tries and one among steps so. `weights` are all 1
    unless given.

    *Assumes* that the columns are on scales that may be added. Unbiased where each of them is, for the weighted objective.

    A column that does not apply to a step adds 0 there; a step to which none applies has no advantage. A
    broken one leaves the sum without a value: half of it is not what was asked for.

    Args:
        columns: columns to add.
        weights: their weights; all 1 by default.
        gives_to: column of the sum.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0]], steps=2, episode=[3.0], step=[0.0, 10.0])
    >>> gd.credit.mixed(("episode", "step"), (1.0, 0.5))(batch, ExamplePlay())["advantage"].tolist()
    [3.0, 8.0]
    """

    columns: Annotated[tuple[str, ...], ColumnField("needs")]
    weights: tuple[float, ...] = ()
    gives_to: Gives = "advantage"

    def __post_init__(self) -> None:
        _check("mixed", self.columns, self.weights)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        columns = [batch.cols[name] for name in self.columns]
        return add(batch, self.gives_to, columns, [play.at(w) for w in self.weights])


@part
class separately(FieldColumns):
    r"""$A = \sum_i w_i \frac{r_i - \bar r_i}{s_i + \epsilon}$: each reward normalised in its group before they are added.

    Added first, a reward with a wide spread drowns the others, and different rewards that add up to the same become one.
    GDPO (Liu et al. 2026, arXiv:2601.05242) is this and then `whiten()`. `by`, `std` and `eps` are those of `centre`.

    *Assumes* that the weights are meant as the rewards' shares of the gradient, not as rates of exchange. *Biased* as
    `centre` is; with `std`, also for the weighted sum of the rewards: a reward that nearly all tries earn counts as much
    as one that half of them earn.

    A reward that does not apply to a track adds 0 and is in no group there; a track to which none applies has no
    advantage, nor has one of whose scores any is broken. `NAME.REWARD/flat_groups` is logged for each.

    Args:
        rewards: columns to normalise.
        weights: their weights in the sum; all 1 by default.
        by: what is compared, as in `centre`.
        std: divide by the group's deviation.
        eps: added to the deviation.
        gives_to: column of the advantage.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 1.0]], style=[100.0, 0.0])
    >>> gd.credit.separately(("reward", "style"), (2.0, 1.0), eps=0.0)(batch, ExamplePlay())["advantage"]
    tensor([-0.7071,  0.7071])
    """

    rewards: Annotated[tuple[str, ...], ColumnField("needs")]
    weights: tuple[float, ...] = ()
    by: Compare = "task"
    std: bool = True
    eps: float = knob(default=1e-4, ge=0.0)
    gives_to: Gives = "advantage"

    def __post_init__(self) -> None:
        _check("separately", self.rewards, self.weights)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        parts = []
        for name in self.rewards:
            rows = compare(batch, batch.cols[name], self.by)
            advantage = standing(rows, play, f"{self.gives_to}.{name}", self.std, eps=play.at(self.eps))
            parts.append(rows.column(advantage, batch, batch.cols[name]))
        return add(batch, self.gives_to, parts, [play.at(w) for w in self.weights])


def add(batch: Batch, name: str, columns: Sequence[Column], weights: Sequence[float]) -> Batch:
    """A step column: the weighted sum of columns, made for tracks as long as all of them are for tracks."""
    whole = all(c.level == "track" for c in columns)
    size, device = (batch.K if whole else batch.S), batch.seg.device
    total = torch.zeros(size, dtype=torch.float64, device=device)
    spoken = torch.zeros(size, dtype=torch.bool, device=device)
    for column, weight in zip(columns, weights or [1.0] * len(columns), strict=True):
        value, reason = column.value, column.reason
        if column.level == "segment":
            reason = reason.index_select(0, batch.seg)
        if not whole:
            value = at_steps(batch, column)
        if column.level == "track" and not whole:
            reason = worst(batch, [column]) if bool(torch.isnan(value).any()) else reason.new_zeros(size)
        missing = torch.isnan(value)
        spoken |= ~missing
        quiet = missing & (reason == Reason.NOT_APPLICABLE)
        total = total + weight * value.double().masked_fill(quiet, 0.0)
    mixed_value = total.masked_fill(~spoken, float("nan")).to(columns[0].value.dtype)
    return with_step_column(batch, name, to_steps(batch, mixed_value) if whole else mixed_value, *columns)


def _check(who: str, columns: Sequence[str], weights: Sequence[float]) -> None:
    if not columns:
        raise UserError(f"{who} takes the names of several columns: {who}(('correct', 'reward'))")
    if weights and len(weights) != len(columns):
        raise UserError(f"{who} has {len(columns)} columns and {len(weights)} weights: give one for each, or none")


@part
class only(FieldColumns):
    """$A_t$ where the selection `on` keeps a track through the step, *not applicable* elsewhere: what comes after it compares
    and learns from those alone, and the others stay on record.

    `Learn(on=...)` leaves tracks out for one learner; this does so for the credit that comes after it, such as `whiten`, whose
    mean and spread are then of what is learned from. PRIME (Cui et al. 2025, arXiv:2502.01456) filters prompts before it
    normalises, OREAL (Lyu et al. 2025, arXiv:2502.06781) keeps one right and one wrong try of each.

    *Assumes* a selection of whole tracks that is the same whenever it is asked in a step. *Biased* as the selection is.

    Args:
        on: selection of tracks.
        column: column that is restricted.
        gives_to: column of the result.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[0.0, 1.0], [1.0, 1.0]], advantage=[1.0, 2.0, 3.0, 4.0])
    >>> gd.credit.only(gd.select.with_spread())(batch, ExamplePlay())["advantage"].tolist()
    [1.0, 2.0, nan, nan]
    """

    on: Annotated[Any, ColumnField("needs")]
    column: Needs = "advantage"
    gives_to: Gives = "advantage"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        numbered = batch.put("(track)", "track", torch.arange(batch.K, dtype=torch.float64, device=batch.seg.device))
        kept_K = torch.zeros(batch.K, dtype=torch.bool, device=batch.seg.device)
        kept_K[self.on(numbered, play)["(track)"].long()] = True
        left_out = batch.down(kept_K.double(), "track") == 0
        column = batch.cols[self.column]
        reason = column.reason.masked_fill(left_out, int(Reason.NOT_APPLICABLE))
        return batch.with_cols({self.gives_to: Column("step", column.value.masked_fill(left_out, torch.nan), reason)})


@part(was="liking")
class teacher_log_ratio(FieldColumns):
    r"""$\log p_{teacher}(a) - \log p(a)$ of every step that was sampled, $p$ being whom it was sampled from: a step column.

    Its mean over steps is minus the reverse KL from the teacher, in its sampled (k1) form, which is what on-policy distillation
    goes down (Agarwal et al. 2023, GKD, arXiv:2306.13649; Gu et al. 2023, MiniLLM, arXiv:2306.08543). No more is asked of the
    teacher than the log-prob of the generated token; `losses.distillation.distilled` compares more tokens at a step.
    `kl_teacher` is logged.

    *Assumes* that both have the same tokens. Unbiased as an estimate of that divergence; as an advantage, with
    `reward_to_go(gamma=1)`, it has its exact gradient, and with `gamma=0`, biased but of far less variance, that of each token
    alone. Steps that were given have 0.

    Args:
        teacher: name of the teacher.
        gives_to: column of the log-ratio.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 0.0]])
    >>> read = {"teacher.logp": gd.Column.full("step", batch.logp + torch.tensor([0.5, -1.0]))}
    >>> gd.credit.teacher_log_ratio()(batch.with_cols(read), ExamplePlay())["teacher_gain"].tolist()
    [0.5, -1.0]
    """

    own_logp: ClassVar[bool] = True
    teacher: LogpOf = "teacher"
    gives_to: Gives = "teacher_gain"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        gain = torch.where(batch.weight > 0, batch[self.needs[0]] - batch.logp, 0.0)  # what was given has none
        known = (batch.weight > 0) & ~gain.isnan()
        play.log(kl_teacher=-float(gain[known].double().mean()) if bool(known.any()) else 0.0)
        reason = torch.where(gain.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", gain, reason)})
