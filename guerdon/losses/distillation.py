"""Imitation of a teacher's distribution at every step, from its most likely tokens.

On whose steps decides between on-policy (the student's own tries,
read by the teacher) and off-policy distillation (the teacher's, or a data set); the loss is the same.
Leaves out: distillation from the log-prob of the sampled action alone, which is `penalties.kl(to="teacher")` or,
as a reward, `kl_cost(to="teacher")`.
Axes: S steps, T tokens a teacher names at a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import ColumnField
from guerdon.core.part import knob, part
from guerdon.losses.penalties import nobody
from guerdon.losses.reduce import Mean, average, reduce
from guerdon.losses.terms import Term

FLOOR = 1e-6  # of the probability beside the named tokens: float32 sums of probabilities are not known to more


@part
class distilled(Term):
    r"""The generalised Jensen-Shannon divergence $\mathrm{JSD}_\lambda(p\|\pi) = \lambda\,\mathrm{KL}(p\|m) +
    (1-\lambda)\,\mathrm{KL}(\pi\|m)$, $m = \lambda p + (1-\lambda)\pi$, between teacher $p$ and student $\pi$.

    GKD (Agarwal et al. 2023, arXiv:2306.13649). `mix` $=\lambda$: 0 is the forward $\mathrm{KL}(p\|\pi)$
    (cover all that the teacher may generate), 1 for the reverse $\mathrm{KL}(\pi\|p)$ (generate only what it would; on-policy,
    MiniLLM's aim), 1/2 is the symmetric one. At 0 and 1 it is the KL itself, as in TRL, not the limit of the formula,
    which is 0.

    Of the teacher it takes columns `{teacher}.top_token` and `{teacher}.top_logp`, [S, T]; of the student the live
    reading `logp_at`, [S, T], its log-probs at those tokens. `rest` is the treatment of the others: "lump" takes
    them for one more token, which gives a lower bound of the divergence over the whole vocabulary, exact at T = V;
    "renormalise" compares the two as if there were no others, which does not see a student that generates other
    tokens; "drop" adds up the named tokens alone, exact at T = V and no divergence otherwise.

    Assumes the columns are of the temperature the student is read at. Exact at the visited steps where every token is
    named; on the student's own steps the gradient leaves out how the student chooses its steps, as in the paper, which
    biases it for the divergence of whole tracks.

    Args:
        mix: 0 is the forward KL, 1 the reverse.
        teacher: name of the teacher, whose top tokens are columns.
        rest: treatment of the probability outside of the teacher's top tokens.
        weight: factor of the loss.
        mean: what counts the same: a step, a track, or a constant.
        constant: divisor of a track's sum with `mean="constant"`.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import example_tries
    >>> named = gd.Column.full("step", torch.tensor([[0.5, 0.5]]).log())
    >>> batch = example_tries([[1.0]]).with_cols({"teacher.top_logp": named})
    >>> live = {"logp_at": torch.tensor([[0.8, 0.2]]).log()}
    >>> round(float(gd.losses.distilled(mix=0.0, rest="drop")(batch, live)[0]), 4)  # log 0.5 - (log 0.8 + log 0.2) / 2
    0.2231
    """

    mix: float = knob(default=0.5, ge=0.0, le=1.0)
    teacher: Annotated[str, ColumnField("needs", ("top_token", "top_logp"))] = "teacher"
    rest: Literal["lump", "renormalise", "drop"] = "lump"
    weight: float = knob(default=1.0, ge=0.0)
    mean: Mean = "step"
    constant: float = knob(default=1.0, gt=0.0)

    wants = ("logp_at",)

    def silent(self, batch: Batch) -> Tensor:
        """[K] none, unless it weighs nothing."""
        return nobody(batch, self.weight)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        learned = (batch.weight > 0)[:, None]
        student = self._whole(live["logp_at"])
        other = torch.where(learned, batch[f"{self.teacher}.top_logp"], live["logp_at"].detach()).to(student.dtype)
        teacher = self._whole(other)
        apart = torch.where(learned[:, 0], divergence(teacher, student, self.mix), 0.0)
        held = other.exp().sum(1)
        metrics = {"divergence": average(apart.detach(), batch), "teacher_mass": average(held, batch)}
        return self.weight * reduce(apart, batch, self.mean, self.constant), metrics

    def _whole(self, logp: Tensor) -> Tensor:
        """Log-probs at the named tokens, made ready to be compared."""
        if self.rest == "drop":
            return logp
        if self.rest == "renormalise":
            return logp - torch.logsumexp(logp, 1, keepdim=True)
        left = (1 - logp.exp().sum(1, keepdim=True)).clamp(min=FLOOR)
        return torch.cat([logp, left.log()], 1)


def divergence(teacher: Tensor, student: Tensor, mix: float) -> Tensor:
    """[S] the generalised Jensen-Shannon divergence of log-probs [S, T]; at 0 and 1 the forward and the reverse KL."""
    if mix == 0:
        return _kl(teacher, student)
    if mix == 1:
        return _kl(student, teacher)
    share = torch.tensor(mix, dtype=student.dtype, device=student.device)
    middle = torch.logaddexp(teacher + share.log(), student + torch.log1p(-share))
    return share * _kl(teacher, middle) + (1 - share) * _kl(student, middle)


def _kl(p: Tensor, q: Tensor) -> Tensor:
    """[S] KL(p || q) of log-probs; a token of probability 0 under p adds nothing."""
    finite = torch.isfinite(p)
    return torch.where(finite, p.exp() * (torch.where(finite, p, 0.0) - torch.where(finite, q, 0.0)), 0.0).sum(1)
