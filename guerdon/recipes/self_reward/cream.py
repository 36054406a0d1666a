"""CREAM: self-rewarding DPO whose labels are as sure as this round's ranking agrees with the last round's.

Paper: Wang et al. 2024 (arXiv:2410.12735); code: Raibows/CREAM, rewarding.py, cal_consistency.py, and sft_dpo_trainer.py, lines
88-105. In a round of steps the tries are those of the model as it was at the round's beginning, which is also DPO's reference.
It ranks them by their mean log-likelihood, and so does the model of the round before. With tau, Kendall's coefficient of the
two rankings, the consistency is C = (tau + 1)/2, and the loss of the best against the worst is C DPO(best, worst) + (1 - C)
DPO(worst, best). In the first round both are one model and C = 1, which is DPO; where rankings have nothing in common C = 1/2,
and the pair is pulled back to where the round began. Different: rounds go by steps, over problems as they come, so the set of
the code's average is the problems of a step. Leaves out: rewards relative to the start model, which the code can choose; its
Spearman and top-order forms of consistency.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Literal

import torch

from guerdon.core.batch import Batch, Pairs
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Column
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.statistics import kendall
from guerdon.losses.pair import pairs_of
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.online_dpo import online_dpo
from guerdon.recipes.house.shared import ranked_by
from guerdon.rewards.model.confidence import likelihood
from guerdon.rewards.stage.score_stages import score
from guerdon.select.pairs import valued_groups


@recipe(
    "cream",
    family="self_reward",
    paper="arXiv:2410.12735",
    on=online_dpo,
    needs=Needs(answers=False, learns_from="its own likelihoods"),
    helps=("few-labels", "noisy-judge"),
)
def cream(
    base: Recipe,
    *,
    round_steps: int = 20,  # steps of a round, after which the model that makes and ranks tries is renewed; ours
    consistency: Literal[
        "problem", "step", "none"
    ] = "problem",  # of each problem, its mean over a step, or hard labels
) -> Recipe:
    """Self-rewarding DPO with labels as sure as two rounds' rankings agree."""
    base = ranked_by(base, likelihood("reference"))
    now, before = snapshot("policy", every=round_steps), snapshot("reference", every=round_steps)
    base.models = {"policy": base.models["policy"], "previous": before, "reference": now}  # renewed in this order
    base.seats = {"policy": "reference"}
    for exam in base.exams:
        exam.seats = {"policy": "policy"}
    if consistency == "none":
        return base
    labels = [score(likelihood("previous"), "before"), as_sure_as("before", over=consistency)]
    return base.but(before={"learn": labels})


@part
class as_sure_as(FieldColumns):
    r"""Labels of pairs: $C = (\tau + 1)/2$ with $\tau$ Kendall's coefficient of the orders that two columns give a group's
    tracks, of each problem or the mean over those of the step. Tracks that are equal are ordered as they were asked for. A
    group of which fewer than two have both has no order, and its label stays. Logs `consistency`, the mean over problems
    (arXiv:2410.12735).

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> import guerdon as gd
    >>> batch = gd.select.paired()(example_tries([[3.0, 2.0, 1.0]], before=[3.0, 1.0, 2.0]), ExamplePlay())
    >>> batch = batch.put("before", "track", batch["before"])
    >>> as_sure_as("before")(batch, ExamplePlay()).pairs.label  # tau is 1/3
    tensor([0.6667])
    """

    other: Column
    column: Column = "reward"
    over: Literal["problem", "step"] = "problem"

    gives = ("pairs",)
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        first, second = (batch.track_column(name, "as_sure_as") for name in (self.column, self.other))
        group, pairs = batch.group("task")[0], pairs_of(batch)
        sure: dict[int, float] = {}
        for tracks in valued_groups(batch, "task", (first.missing | second.missing).tolist()):
            if len(tracks) > 1:
                orders = [ranking([float(column.value[k]) for k in tracks]) for column in (first, second)]
                sure[int(group[tracks[0]])] = (kendall(*orders) + 1) / 2
        mean = sum(sure.values()) / max(len(sure), 1)
        play.log(consistency=mean)
        label = pairs.label.clone()
        for p, g in enumerate(group[pairs.better].tolist()):
            if g in sure:
                label[p] = sure[g] if self.over == "problem" else mean
        return dataclasses.replace(batch, pairs=Pairs.of(pairs.better, pairs.worse, pairs.margin, label))


def ranking(values: Sequence[float]) -> list[int]:
    """The rank of each value from the smallest on, equal ones in their order.

    >>> ranking([0.5, 0.1, 0.5])
    [1, 0, 2]
    """
    order = sorted(range(len(values)), key=lambda i: values[i])
    return torch.tensor(order).argsort().tolist()
