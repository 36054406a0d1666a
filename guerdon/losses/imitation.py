"""Imitation: of demonstrations, and of tries by how well they went.

Leaves out: imitation of a teacher's whole distribution (`distillation.py`).
"""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import Needs
from guerdon.core.part import knob, part
from guerdon.losses.reduce import Mean, Members, average, has_tracks, numbers, reduce
from guerdon.losses.terms import Term, effective_samples


@part
class sft(Term):
    r"""Cross-entropy on the actions of the batch: $-\log\pi(a)$.

    The maximum-likelihood fit to the actor: unbiased for that policy, and no better than it. On a selection of
    one's own tries that went well it is rejection sampling fine-tuning. Given steps are read, never imitated. Assumes that
    what was done is worth doing. No paper: maximum likelihood.

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

    Advantage-weighted regression (Peng et al. 2019, arXiv:1910.00177, with `most=20`). It needs no log-probs of
    whoever acted, so it learns from any record of actions, old or recited; nothing is ever pushed down. Its fixed
    point is the policy that improves most on the record's within a KL of it, `beta` being the price; `most` biases it
    towards the record. Assumes that the record has tried what is better. Notes `bounded`, the share of steps at `most`,
    and `effective_samples`.

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
