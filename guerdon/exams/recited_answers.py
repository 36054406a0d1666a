"""What is measured on held-out rows of files that bring their answers: whether a policy has come to prefer the better ones.

Leaves out: reward models on pairs or on labelled steps, which `scorers.py` examines whatever these come from.
"""

from __future__ import annotations

from statistics import fmean
from typing import Any

import torch

from guerdon.core.part import knob, part
from guerdon.exams.exam import TRUTH, Sitting


@part
class implicit_pairs:
    r"""Every better answer against every worse one of the same prompt, by the reward that a policy implies,
    $r(y)=\beta\sum_t\log\frac{\pi(y_t)}{\pi_{ref}(y_t)}$ (Rafailov et al. 2023, arXiv:2305.18290).

    `pair_accuracy` is the share with $r^+>r^-$ (a tie counts half: a policy that has not moved is at a half), `pair_margin`
    the mean of $r^+-r^-$, `pairs_examined` how many there were. With `across` pairs are of any two prompts, for answers that
    are labelled one by one. It says what the policy has learned to tell apart, and not what it writes.

    >>> import guerdon as gd
    >>> gd.exams.implicit_pairs(beta=0.5).needs
    ('correct', 'policy.logp', 'reference.logp')
    """

    model: str = "policy"
    reference: str = "reference"
    beta: float = knob(default=0.1, gt=0.0)
    across: bool = False

    @property
    def needs(self) -> tuple[str, ...]:
        return (TRUTH, f"{self.model}.logp", f"{self.reference}.logp")

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        batch = sitting.batch
        gain = (batch[f"{self.model}.logp"] - batch[f"{self.reference}.logp"]).double()
        implied = self.beta * torch.stack([gain[steps].sum() for steps in batch.steps_by_track()])
        right, group = batch[TRUTH], batch.group("task")[0]
        alike = (group[:, None] == group[None, :]) | self.across
        better, worse = torch.nonzero(alike & (right[:, None] == 1) & (right[None, :] == 0), as_tuple=True)
        margins = (implied[better] - implied[worse]).tolist()
        if not margins:
            return {"pairs_examined": 0}
        return {
            "pair_accuracy": fmean(0.5 if margin == 0 else float(margin > 0) for margin in margins),
            "pair_margin": fmean(margins),
            "pairs_examined": len(margins),
        }
