"""What is measured on held-out rows of files that bring their answers: whether a policy has come to prefer the better ones,
and how a process reward model does at labelled steps.

Leaves out: reward models on pairs, which `scorers.py` examines whatever the pairs come from.
"""

from __future__ import annotations

import math
from statistics import fmean
from typing import Annotated, Any

import torch

from guerdon.core.field_columns import ColumnField, FieldColumns
from guerdon.core.part import knob, part
from guerdon.exams.exam import TRUTH, Sitting
from guerdon.exams.measures import CERTAIN, brier, calibration_error, first_error_scores, first_wrong
from guerdon.rewards.stage.labels_in_rows import labelled_solutions


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


@part
class labelled_first_error(FieldColumns):
    r"""What `first_error` measures, of solutions whose steps are labelled in a file: with $p=\sigma(v)$ of what the value head
    of `model` says after each step's last token, `step_accuracy`, `step_ece` and `step_brier` over steps up to the first wrong
    one; `found_share`, `cleared_share` and `first_error_f1` over solutions. Steps labelled neither right nor wrong are in no
    rate.

    >>> import guerdon as gd
    >>> gd.exams.labelled_first_error("prm").needs
    ('prm.after',)
    """

    model: Annotated[str, ColumnField("needs", ("after",))] = "prm"

    def __call__(self, sitting: Sitting) -> dict[str, Any]:
        after = torch.sigmoid(sitting.batch[f"{self.model}.after"].double()).tolist()
        solutions = labelled_solutions(sitting.batch, sitting.play, sitting.exam.role)
        told = [(after[s], y) for each in solutions for s, y in zip(each.ends, each.labels, strict=False)]
        steps = [(p, y) for p, y in told if not math.isnan(y)]
        if not steps:
            return {"steps_examined": 0}
        chance, truth = zip(*steps, strict=True)
        predicted = [first_wrong([after[s] for s in each.ends]) for each in solutions]
        return {
            "step_accuracy": fmean((p >= CERTAIN) == (y == 1) for p, y in steps),
            "step_ece": calibration_error(chance, truth),
            "step_brier": brier(chance, truth),
            **first_error_scores(predicted, [each.wrong for each in solutions]),
            "steps_examined": len(steps),
        }
