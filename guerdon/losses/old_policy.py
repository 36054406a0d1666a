"""Which policy a ratio is to, and what becomes of the gap between the sampler and the learner.

A sampler that rounds otherwise than the learner, or holds older weights,
draws from another policy than the one that is taught.
Without a part from here the ratio is to the log-probs the steps were sampled with and corrects for everything at once.
With `truncated` or `masked` it is to log-probs that the learner read before its update,
and what separates those from the sampled ones is an importance weight of its own, bounded in its own way.
Leaves out: the surrogate.
"""

from __future__ import annotations

from typing import ClassVar, Literal

import torch
from torch import Tensor

from guerdon.core.field_columns import FieldColumns, Needs
from guerdon.core.part import knob, part

Reach = Literal["step", "track"]


@part
class sampled(FieldColumns):
    r"""The ratio is $\pi/\pi_{sampled}$, its logarithm kept within $\pm$`bound` before it is exponentiated (0: it is
    not).

    Assumes that the log-probs kept with the steps are those of the policy they were drawn from. A bound makes a step
    beyond it pull no more, whatever the sign of its advantage: biased, and the way to keep one broken step from an
    infinite ratio (verl keeps the logarithm within 20; no paper).

    >>> import guerdon as gd
    >>> gd.losses.clipped(old=gd.losses.sampled(bound=20.0))
    clipped(old=sampled(bound=20.0))
    """

    bound: float = knob(default=0.0, ge=0.0)

    level: ClassVar[Reach] = "step"
    column: ClassVar[str] = ""


@part
class truncated(FieldColumns):
    r"""The ratio is to `column`; each step is weighed by $\min(\pi_{column}/\pi_{sampled},\ most)$.

    Truncated importance sampling (Ionides 2008; in reinforcement learning V-trace, Espeholt et al. 2018,
    arXiv:1802.01561). With `level="track"` a whole track is weighed by the product over its steps: unbiased for the
    learner's policy where nothing is truncated, and of a variance that grows with length. Assumes that the sampled
    log-probs are those of the policy that drew, and `column` what the learner had before its update. A step's own
    weight, the default, leaves the steps before it uncorrected: less noise, some bias. Truncation biases towards the
    sampler's policy (the cap of 3 is TRL's). `bound` is that of `sampled`.

    >>> import guerdon as gd
    >>> gd.losses.clipped(old=gd.losses.truncated(2.0)).needs
    ('advantage', 'policy.logp')
    """

    most: float = knob(default=3.0, gt=0.0)
    column: Needs = "policy.logp"
    level: Reach = "step"
    bound: float = knob(default=0.0, ge=0.0)

    def weigh(self, gap: Tensor) -> tuple[Tensor, Tensor]:
        """The weights, and where they are not the importance weights."""
        drift = torch.exp(gap)
        return drift.clamp(max=self.most), drift > self.most


@part
class masked(FieldColumns):
    r"""The ratio is to `column`; a step whose $\pi_{column}/\pi_{sampled}$ lies outside [`low`, `high`] is not
    learned from.

    Inside the band the weight is the importance weight itself. Masked importance sampling, TRL's `token_mask` and
    `sequence_mask` (its `high` is 3, and it has no `low`; 0.5 here is so that a step the learner finds half as likely
    as the sampler did is left out too; no paper). Assumes what `truncated` does. Biased: what is left out is not replaced,
    and denominators still count it.
    `level="track"` judges, and leaves out, whole tracks by the product over their steps.

    >>> import guerdon as gd
    >>> gd.losses.clipped(old=gd.losses.masked(0.5, 5.0))
    clipped(old=masked(high=5.0))
    """

    low: float = knob(default=0.5, ge=0.0, le=1.0)
    high: float = knob(default=3.0, ge=1.0)
    column: Needs = "policy.logp"
    level: Reach = "step"
    bound: float = knob(default=0.0, ge=0.0)

    def weigh(self, gap: Tensor) -> tuple[Tensor, Tensor]:
        """The weights, and where they are not the importance weights."""
        drift = torch.exp(gap)
        outside = (drift < self.low) | (drift > self.high)
        return drift.masked_fill(outside, 0.0), outside
