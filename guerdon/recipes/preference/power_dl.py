"""POWER-DL: pairs of a file, learned so that one lucky win does not favour an answer and one loss does not bury it.

Paper: Rashidinejad and Tian 2024, sail into the headwind (arXiv:2412.09544), read in its abstract; no code was found. Two
things go wrong where a file has few pairs of an answer: a poor one that won by chance is favoured without end (type I), a good
one that lost by chance is buried (type II). POWER weighs each answer by w = 1 / |y|, asks for z = beta [w+ log pi+ - w- log pi-
+ w+ - w-], and keeps the policy where the better answers are, by -eta beta w+ log pi+: an answer that won once weighs as one
pair there. Dynamic labels: a row's label, 1 at first, goes by `rate` every time towards sigma(z), the policy's own preference,
so that its gradient vanishes, first where other rows say otherwise. This rule for labels is our reading of the abstract. They
are kept per row over the epochs of a file; a generated problem comes once, and its label stays. With a large `eta` an answer
that no row prefers is lost with or without them. As log-probs are means over tokens, `beta` wants to be larger than DPO's 0.1:
2, say. Leaves out: other weights than 1 / |y|.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.pair import agreement, over_pairs, pairs_of
from guerdon.losses.reduce import per_track
from guerdon.losses.terms import Term
from guerdon.recipes.house.dpo import dpo


@recipe("power-dl", family="preference", paper="arXiv:2412.09544", on=dpo, helps=("noisy-judge", "hacking"))
def power_dl(
    base: Recipe,
    *,
    eta: float = 0.1,  # weight of the better answers' likelihood beside the preference; ours
    rate: float = 0.01,  # how far a label goes towards the policy's preference each time (gamma); 0: POWER alone; ours
) -> Recipe:
    """DPO's pairs, with POWER's loss and labels that move."""
    (learner,) = base.stages.learners
    if getattr(learner.loss, "smoothing", 1.0):
        raise UserError("power-dl has a loss and labels of its own: leave anchored and smoothing out")
    learner.loss = power(learner.loss.beta, eta)
    return base.but(before={"learn": moving_labels(learner.loss, rate)}) if rate else base


@part
class power(Term):
    r"""$-\ell\log\sigma(z) - (1-\ell)\log\sigma(-z) - \eta\beta\,\bar l^+$ with $z = \beta[\bar l^+ - \bar l^- + w^+ - w^-]$,
    $\bar l = w\log\pi(y)$ and $w = 1/|y|$.

    Assumes what Bradley and Terry do. *Biased* on purpose, to the better answers of frequent pairs (arXiv:2412.09544).

    >>> import torch
    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> batch = gd.select.paired()(example_tries([[1.0, 0.0]]), ExamplePlay())
    >>> round(float(power(1.0, 0.5)(batch, {"logp": torch.tensor([-0.5, -1.5])})[0]), 4)  # -log sigma(1) + 0.5 * 0.5
    0.5633
    """

    beta: float = knob(default=0.1, gt=0.0)
    eta: float = knob(default=0.1, ge=0.0)

    needs = ("pairs",)
    wants = ("logp",)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        pairs, z = pairs_of(batch), self.margin(batch, live["logp"])
        chosen = self.beta * _likelihood(batch, live["logp"])[pairs.better]
        losses = -pairs.label * logsigmoid(z) - (1 - pairs.label) * logsigmoid(-z) - self.eta * chosen
        noted = {
            "margin": z,
            "accuracy": agreement(z, pairs.label),
            "label": pairs.label,
            "better_logp": chosen / self.beta,
        }
        return over_pairs(losses, batch), {name: over_pairs(x.detach(), batch) for name, x in noted.items()}

    def margin(self, batch: Batch, logp: Tensor) -> Tensor:
        """[P] z of each pair."""
        pairs, each = pairs_of(batch), _likelihood(batch, logp) + 1 / batch.up(batch.weight, "track").clamp(min=1)
        return self.beta * (each[pairs.better] - each[pairs.worse])


def _likelihood(batch: Batch, logp: Tensor) -> Tensor:
    """[K] the mean log-prob of a track's own steps."""
    return per_track(torch.where(batch.weight > 0, logp, 0.0), batch, mean=True)


@part
class moving_labels(FieldColumns):
    r"""A stage: a pair that comes again has the label $\ell \leftarrow (1-\gamma)\,\ell + \gamma\,\sigma(z)$, with $z$ what the
    loss asks of the pair now. A pair is known by its row. Logs `label_moved`, the mean distance from the label that
    it came with."""

    loss: Any
    rate: float = knob(default=0.01, ge=0.0, le=1.0)

    labels: dict[str, float] = state(factory=dict)

    shelf = "select"
    needs = ("pairs", "policy.logp")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        pairs = pairs_of(batch)
        preferred = torch.sigmoid(self.loss.margin(batch, batch["policy.logp"])).tolist()
        label = []
        for key, came, now in zip(_keys(batch), pairs.label.tolist(), preferred, strict=True):
            label.append(self.labels.get(key, came))
            self.labels[key] = (1 - self.rate) * label[-1] + self.rate * now
        made = torch.tensor(label).to(pairs.label)
        play.log(label_moved=float((made - pairs.label).abs().mean()) if label else 0.0)
        return dataclasses.replace(batch, pairs=dataclasses.replace(pairs, label=made))


def _keys(batch: Batch) -> list[str]:
    """[P] what names each pair in a run: its task, and the places of its two answers in the row."""
    pairs, of = pairs_of(batch), batch.episode[batch.leaf]
    names = [batch.episodes[e].ask.task.key for e in of[pairs.better].tolist()]
    better, worse = (batch.place[batch.leaf[k]].tolist() for k in (pairs.better, pairs.worse))
    return [f"{name} {i} {j}" for name, i, j in zip(names, better, worse, strict=True)]
