"""Imitation: of demonstrations, of tries by their scores, with weights by a column, and of degrees between 0 and 1.

Leaves out: imitation of a teacher's whole distribution (`distillation.py`), cross-entropy of scores and numbers of any size
(`reward_modelling.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, Needs
from guerdon.core.learn import row_groups
from guerdon.core.part import knob, label, part
from guerdon.losses.reduce import COUNTS, Mean, Members, average, has_tracks, numbers, reduce, reduce_tracks
from guerdon.losses.terms import Around, Term, effective_samples


@part
class sft(Term):
    r"""Cross-entropy on the actions of the batch: $-\log\pi(a)$.

    The maximum-likelihood fit to the actor: unbiased for that policy, and no better than it. On a selection of
    one's own tries that went well it is rejection sampling fine-tuning. Given steps are read, never imitated. Assumes that
    what was done is worth doing. No paper: maximum likelihood.

    Args:
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> round(float(gd.losses.sft()(example_tries([[1.0, 1.0]]), {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)
    1.0
    """

    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        return reduce(-live["logp"], batch, self.mean, self.constant), {}


@part
class advantage_weighted(Term):
    r"""$-\min(e^{A/\beta},\ most)\,\log\pi(a)$: imitation, of better actions more.

    Advantage-weighted regression (Peng et al. 2019, arXiv:1910.00177, with `most=20`). It needs no log-probs
    of the acting policy, so it learns from any record of actions, stale or demonstrated; no probability is pushed down. Its
    fixed point is the policy that improves most on the record's within a KL of it, `beta` being the price; `most` biases it
    towards the record. Assumes that the record has tried what is better. Notes `bounded`, the share of steps at `most`, and
    `effective_samples`.

    Args:
        beta: temperature of the weights.
        most: largest weight.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.
        advantage: column of the advantage.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 0.0]], advantage=[1.0, -1.0])
    >>> loss, noted = gd.losses.advantage_weighted(most=2.0)(batch, {"logp": torch.tensor([-1.0, -1.0])})
    >>> round(float(loss), 4), float(noted["bounded"])  # (2 + 1/e) / 2
    (1.1839, 0.5)
    """

    beta: float = knob(default=1.0, gt=0.0)
    most: float = knob(default=20.0, gt=0.0)
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)
    advantage: Needs = "advantage"

    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        members = Members.of(batch) if has_tracks(batch, self.advantage) else None
        weight = torch.exp(numbers(batch, self.advantage, members) / self.beta).clamp(max=self.most)
        logp = live["logp"] if members is None else live["logp"][members.step]
        noted = {"bounded": (weight == self.most).float(), "weight_mean": weight, "weight_square": weight.square()}
        metrics = {name: average(x, batch, members) for name, x in noted.items()}
        return reduce(-weight * logp, batch, self.mean, self.constant, members), metrics

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        return effective_samples(metrics)


@part
class weighed(Around):
    r"""$\sum_i c_i L_i$ in place of $\sum_i L_i$ over a loss's rows, with $c$ the column `by`, per step, segment or track.

    Denominators stay those of the rows as they are, so $c = 1$ is the loss itself and $c = 2$ twice that; what the loss notes
    is not weighed. A row without a number is muted. A loss over whole tracks (`kto`, `outcome`) takes a column per track.
    Pairs have margins and labels of their own and are refused. Assumes a loss that is reduced by `losses.reduce`, as all on
    this shelf are.

    Unbiased for the weighted objective where the loss is; for the unweighted one biased towards what counts more, on purpose,
    unless $c$ is an importance weight. No paper: a tool for those that weigh tokens (by entropy, by gain) or turns.

    Args:
        loss: the loss.
        by: column of the weights.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0, 1.0]], care=[3.0, 0.5])
    >>> float(gd.losses.weighed(gd.losses.sft(), by="care")(batch, {"logp": torch.tensor([-1.0, -2.0])})[0])  # (3 + 1) / 2
    2.0
    """

    loss: Annotated[Any, ColumnField("needs")]
    by: Needs

    def __post_init__(self) -> None:
        if "pairs" in self.loss.needs:
            raise UserError(
                f"weighed weighs steps or tracks, and {label(self.loss)} learns from pairs: give those a margin"
            )
        if any(rows is not None for rows, _ in row_groups(self.loss)):
            raise UserError("weighed weighs the learner's rows, and a term on(...) has its own: weighed(...) + on(...)")
        if isinstance(self.loss, weighed):
            raise UserError("weighed inside weighed: multiply the two columns in a stage and name the product")

    def silent(self, batch: Batch) -> Tensor:
        """[K] what the loss passes over, and tracks that do not count anywhere."""
        if has_tracks(batch, self.by):
            passed = torch.nan_to_num(batch[self.by]) == 0
        else:
            passed = batch.up((numbers(batch, self.by) * batch.weight != 0).double(), "track") == 0
        return passed | self.loss.silent(batch) if hasattr(self.loss, "silent") else passed

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        weighted: tuple[Tensor, dict[str, Tensor]] = self.loss(batch.with_cols({COUNTS: batch.cols[self.by]}), live)
        return weighted

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        return dict(self.loss.derive(metrics)) if hasattr(self.loss, "derive") else dict(metrics)


@part
class step_values(Term):
    r"""$(\sigma(v) - y)^2$ at every step that has a number $y$ in [0, 1], with $v$ the reading just after it; the mean
    over them.

    Process rewards that are degrees rather than verdicts, as those of ReasonFlux-PRM (Zou et al. 2025, arXiv:2506.18896),
    are taught by squared error. A step without a number is missing, and neither taught nor counted: put it on the last
    token of each line and nowhere else, and the mean is over lines. Unbiased for the mean of $y$ over the steps it is
    shown; where $y$ is right or wrong it is Brier's score, and pulls less than `step_labels` where it is very wrong.
    Assumes numbers of like policies. Notes `step_error`, what it minimises.

    Args:
        target: column of the values.
        reading: reading of the model that is fitted.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> batch = example_tries([[1.0]], steps=2, labels=[1.0, 0.25])
    >>> float(gd.losses.step_values()(batch, {"after": torch.tensor([0.0, 0.0])})[0])  # (0.25 + 0.0625) / 2
    0.15625
    """

    target: Needs = "labels"
    reading: str = "after"
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        said = torch.sigmoid(live[self.reading])
        error = (said - numbers(batch, self.target).to(said.dtype)).square()
        noted = {"step_error": average(error.detach(), batch)}
        return reduce(error, batch, self.mean, self.constant), noted


@part
class whole_value(Term):
    r"""$w\,(\sigma(r) - y)^2$ for every track that has a number $y$ in [0, 1], with $r$ the reading after it; the mean over
    tracks.

    What `outcome` is to numbers of any size, for degrees, and what `step_values` is to steps, for wholes (ReasonFlux-PRM,
    Zou et al. 2025, arXiv:2506.18896, teaches both together). Unbiased for the mean of $y$ over the tracks it is shown.
    Assumes tracks like those that will be scored. A track without a number teaches nothing. Notes `outcome_error`, the mean
    of $(\sigma(r) - y)^2$.

    Args:
        target: column of the values.
        weight: factor of the loss.
        reading: reading of the model that is fitted.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> float(gd.losses.whole_value("reward")(example_tries([[1.0, 0.5]]), {"final": torch.tensor([0.0, 0.0])})[0])
    0.125
    """

    target: Needs = "whole"
    weight: float = knob(default=1.0, ge=0.0)
    reading: str = "final"

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.reading,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        said = torch.sigmoid(live[self.reading])
        error = (said - batch[self.target].to(said.dtype)).square()
        noted = {"outcome_error": error.detach().sum() / max(batch.count.tracks, 1)}
        return self.weight * reduce_tracks(error, batch), noted
