"""SCIR: the policy judges its own tries in two ways, learns to be of one mind, and takes DPO from pairs on which it is.

Paper: Zhou et al. 2025, self-consistent internal rewards (arXiv:2502.08922), read in its abstract and a summary; no code was
found. Two tries are compared in two ways: p_J is the probability of the policy's own verdict as a judge, in both orders of
showing; p_I = sigma(beta [h(y1) - h(y2)]), h the log-ratio to the reference, is its implicit reward. Both are live. A penalty
pulls them together, by the symmetric divergence between them, and to be sure, by their entropy; it is a term with its own
rows, all comparisons that came to a verdict. DPO learns from the pairs of which both say the same, in the same update.
Divergence and entropy are what the summary names; their weights are ours. Where the policy is its own reference, in the first
step, p_I is 1/2 of every pair, both agree on none, and the penalty alone is learned; a `reference` from before the policy
learned preferences makes it speak from the start, as in the paper. Leaves out: the labelled pairs that the paper begins with
(`guerdon train dpo`), and its remedies for biases of both rewards.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

from guerdon.core.batch import Batch, Group, Pairs
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.pair import gains, over_pairs
from guerdon.losses.terms import Term, on
from guerdon.models import load
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.house.pair_verdicts import compared, comparisons, log_preferences, own_verdicts


@recipe(
    "scir",
    family="self_reward",
    paper="arXiv:2502.08922",
    on=online_dpo,
    needs=Needs(text=True, one_turn=True, answers=False, learns_from="its own verdicts and implicit rewards"),
    helps=("few-labels",),
)
def scir(
    base: Recipe,
    *,
    penalty: float = 1.0,  # weight of the divergence between both; 0: no penalty, pairs are only filtered; ours
    entropy: float = 0.1,  # weight of their entropy within the penalty; ours
    agree: bool = True,  # DPO on pairs of which both say the same; without, on all, by the verdict
    reference: Any = "",  # the model that implicit rewards are relative to, or its folder; the start model without one
) -> Recipe:
    """Self-rewarding DPO on pairs on which two rewards of the policy's own agree, which a penalty teaches them to do."""
    (learner,), verdicts = base.stages.learners, own_verdicts()
    beta = learner.loss.beta
    if penalty:
        term = consistency(verdicts, beta, entropy)
        learner.loss = learner.loss + on(compared(), term, weight=penalty, name="consistency")
    if reference:
        base.models["reference"] = load(reference) if isinstance(reference, str) else reference
    base.seats = {**base.seats, "judge": "policy"}
    base.stages = [base.stages[0], verdicts, agreed_pairs(verdicts, beta, agree), learner]
    return base


def log_implied(rows: Tensor, batch: Batch, logp: Tensor, beta: float) -> tuple[Tensor, Tensor]:
    """[P] twice: log p_I that the one try of each comparison is better, and log of 1 - p_I."""
    gain = beta * gains(batch, logp, "reference").double()
    margin = gain[rows[:, 0]] - gain[rows[:, 1]]
    return logsigmoid(margin), logsigmoid(-margin)


@part
class agreed_pairs:
    """Pairs: of each comparison by `own_verdicts` the try that the verdict prefers against the other, if the implicit reward
    prefers it too, or with `agree=False` whatever that does. A verdict or a reward of exactly a half prefers none.

    Logs `compared`, `pairs`, `agreement`, the share of comparisons on which both are of one mind, `verdict_sure` and
    `implied_sure`, the mean probability of what each prefers.
    """

    verdicts: own_verdicts
    beta: float = knob(default=0.1, gt=0.0)
    agree: bool = True

    gives = ("pairs",)
    shelf = "select"

    @property
    def needs(self) -> tuple[str, ...]:
        return (*(f"policy.{read}" for read in self.verdicts.reads), "policy.logp", "reference.logp")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        rows = comparisons(batch)
        said = log_preferences(rows, *(batch[f"policy.{read}"].double() for read in self.verdicts.reads))
        implied = log_implied(rows, batch, batch["policy.logp"], self.beta)
        mind, other = (torch.sign(yes - no) for yes, no in (said, implied))
        one = (mind == other) & (mind != 0)
        kept = one if self.agree else mind != 0
        better = torch.where(mind > 0, rows[:, 0], rows[:, 1])[kept]
        worse = torch.where(mind > 0, rows[:, 1], rows[:, 0])[kept]
        play.log(compared=float(len(rows)), pairs=float(len(better)))
        if len(rows):
            sure = [float(torch.maximum(yes, no).exp().mean()) for yes, no in (said, implied)]
            play.log(agreement=float(one.double().mean()), verdict_sure=sure[0], implied_sure=sure[1])
        return dataclasses.replace(batch, pairs=Pairs.of(better, worse)).recount()


@part
class consistency(Term):
    r"""$\frac12[KL(p_J \| p_I) + KL(p_I \| p_J)] + \frac w2[H(p_J) + H(p_I)]$, the mean over comparisons, for `on(compared(),
    ...)`: $p_J$ by verdicts, $p_I$ by implicit rewards, both with a gradient. Two equal probabilities have a divergence of 0.
    Notes `divergence`, and `agreement`, how often both prefer the same (arXiv:2502.08922).
    Assumes that one of the two is right where they differ. Biased to what they agree on, where the divergence is 0.

    >>> consistency(own_verdicts()).wants
    ('logp', 'next: a', 'next: b')
    """

    verdicts: own_verdicts
    beta: float = knob(default=0.1, gt=0.0)
    entropy: float = knob(default=0.1, ge=0.0)

    needs = ("reference.logp",)

    @property
    def wants(self) -> tuple[str, ...]:
        return ("logp", *self.verdicts.reads)

    @property
    def together(self) -> Group:
        return "task"

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        rows = comparisons(batch)
        said = log_preferences(rows, *(live[read].double() for read in self.verdicts.reads))
        implied = log_implied(rows, batch, live["logp"], self.beta)
        apart = torch.stack([(a.exp() - b.exp()) * (a - b) for a, b in zip(said, implied, strict=True)]).sum(0) / 2
        unsure = -torch.stack([x.exp() * x for x in (*said, *implied)]).sum(0) / 2
        one = ((said[0] - said[1]) * (implied[0] - implied[1]) > 0).double()
        loss = over_pairs(apart + self.entropy * unsure, batch)
        noted = {"divergence": over_pairs(apart.detach(), batch), "agreement": over_pairs(one, batch)}
        return loss, noted
