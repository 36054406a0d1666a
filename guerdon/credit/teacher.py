"""Credit from a teacher: every token is worth how much likelier the teacher finds it than the policy that sampled it."""

from __future__ import annotations

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives, LogpOf
from guerdon.core.part import part
from guerdon.core.play import Play


@part(was="liking")
class teacher_log_ratio(FieldColumns):
    r"""$\log p_{teacher}(a) - \log p(a)$ of every step that was sampled, $p$ being whom it was sampled from: a step column.

    Its mean over steps is minus the reverse KL from the teacher, in its sampled (k1) form, which is what on-policy distillation
    goes down (Agarwal et al. 2023, GKD, arXiv:2306.13649; Gu et al. 2023, MiniLLM, arXiv:2306.08543). No more is asked of the
    teacher than the log-prob of the token that was said; `losses.distillation.distilled` compares more tokens at a step.
    `kl_teacher` is logged.

    *Assumes* that both have the same tokens. Unbiased as an estimate of that divergence; as an advantage, with
    `reward_to_go(gamma=1)`, it has its exact gradient, and with `gamma=0`, biased but of far less variance, that of each token
    alone. Steps that were given have 0.

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = example_tries([[1.0, 0.0]])
    >>> read = {"teacher.logp": gd.Column.full("step", batch.logp + torch.tensor([0.5, -1.0]))}
    >>> gd.credit.teacher_log_ratio()(batch.with_cols(read), ExamplePlay())["teacher_gain"].tolist()
    [0.5, -1.0]
    """

    teacher: LogpOf = "teacher"
    gives_to: Gives = "teacher_gain"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        gain = torch.where(batch.weight > 0, batch[self.needs[0]] - batch.logp, 0.0)  # what was given has none
        known = (batch.weight > 0) & ~gain.isnan()
        play.log(kl_teacher=-float(gain[known].double().mean()) if bool(known.any()) else 0.0)
        reason = torch.where(gain.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
        return batch.with_cols({self.gives_to: Column("step", gain, reason)})
