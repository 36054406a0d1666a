"""Writing-Zero: each try is compared with one other of its group, drawn by chance, and its advantage is +1 or -1.

Paper: Writing-Zero, 2025 (arXiv:2506.00103), read in its abstract: bootstrapped relative policy optimization (BRPO). Where no
answer can be checked, as in writing, a scalar reward model is hacked, by length for one. Here one try of each group is the
reference that all others of it meet; a judge of two says which is better, and a try's advantage is 1 where it wins and -1
where it loses, as it is, with no mean and no spread of the group. The reference itself is not learned from. So n tries take
n - 1 comparisons, not n (n - 1) / 2. Groups in which the reference won, or lost, nearly all comparisons are left out; where the
line is, is ours. A judge is `--reward my.py:better`, `better = gd.pairwise(MODEL)`, both orders of a pair, 0 where they
disagree; a function of two is `gd.preferred(function)`; any other reward is compared with the reference's. Leaves out: training
the judge, and the principles that it writes first, which are `gd.pairwise(prompt=...)`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.field_columns import Needs as Column
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.track_steps import to_steps, with_step_column
from guerdon.judges.compare import listwise, pairwise
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.formula.reward import Around, Reward
from guerdon.rewards.formula.scores import Scores, Where, numbers
from guerdon.rewards.text.preferences import preferred
from guerdon.select.filters import with_rate


@recipe(
    "writing-zero-brpo",
    family="preference",
    paper="arXiv:2506.00103",
    on=grpo,
    needs=Needs(answers="reward"),
    helps=("noisy-judge", "hacking"),
)
def writing_zero_brpo(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    lopsided: float = 0.1,  # groups that win less than this share of comparisons, or more than the rest, are left out; ours
) -> Recipe:
    """GRPO without its advantages: each try against one other of its group."""
    base = paid_by(base, against_one(worth(task, reward)))
    (learner,) = base.stages.learners
    learner.on = with_rate("reward", low=lopsided, high=1 - lopsided)
    return base.but(replace={"centre": won_or_lost()})


def against_one(reward: Reward) -> Reward:
    """A reward of how a try compares with one other of its group."""
    if isinstance(reward, listwise):
        raise UserError("writing-zero-brpo compares tries two by two: give it gd.pairwise in place of gd.listwise")
    return (
        dataclasses.replace(reward, against="one") if isinstance(reward, pairwise | preferred) else beats_first(reward)
    )


@part
class beats_first(Around):
    """1 where a sample has more of another reward than the first of its group that has a value, 1/2 where as much, else 0; for
    that first one it does not apply. Tries are drawn alike, so the first is as good as one drawn by chance.

    >>> import guerdon as gd
    >>> brief = beats_first(gd.length(1, margin=9, unit="words"))
    >>> gd.score_samples(brief, [{"completion": text} for text in ("a b", "c", "d e f")]).whole
    [None, 1.0, 0.0]
    """

    reward: Any

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        value, reason = inner.value.clone(), inner.reason.clone()
        for g in torch.unique(where.group).tolist():
            own = torch.nonzero((where.group == g) & inner.valued).flatten()
            if len(own):
                reason[own[0]] = int(Reason.NOT_APPLICABLE)
                value[own[1:]] = (torch.sign(inner.value[own[1:]] - inner.value[own[0]]) + 1) / 2
        return numbers(value, reason)

    def __str__(self) -> str:
        return f"beats_first({self.reward})"


@part
class won_or_lost(FieldColumns):
    r"""$A_i = \operatorname{sign}(r_i - 1/2)$: 1 for a track that was preferred more than half the time, -1 where less.

    *Assumes* rewards that are rates of being preferred. *Biased*: it follows the probability of being preferred more often than
    not, whatever the margin, and has no baseline of its own (arXiv:2506.00103).

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> won_or_lost()(example_tries([[1.0, 0.4, 0.5]]), ExamplePlay())["advantage"].tolist()
    [1.0, -1.0, 0.0]
    """

    reward: Column = "reward"
    gives_to: Gives = "advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.reward, "won_or_lost")
        sign = torch.sign(column.value - 0.5).masked_fill(column.missing, torch.nan)
        return with_step_column(batch, self.gives_to, to_steps(batch, sign), column)
