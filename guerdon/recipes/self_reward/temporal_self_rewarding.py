"""Temporal self-rewarding: in each round of DPO the rejected tries are the start model's, the chosen ones also its successor's.

Paper: Wang et al. 2025 (arXiv:2508.06026), read in its abstract and introduction. When a model makes both tries of a pair and
judges them itself, chosen and rejected improve together and come to be alike, and DPO has little left to learn from. A round
has two trainings, both from the round's model. In the first, whose result is the provisional next model, the chosen try is the
best of the round's model and the rejected one the worst of the start model (anchored rejection). In the second the chosen try
is the best of the round's model and of the provisional one (future-guided chosen), the rejected one again the start model's.
The round's model judges by its own verdicts. Rounds, steps and tries of each model are ours. Leaves out: teaching the model to
judge first, and filtering of prompts.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import torch

from guerdon.core.batch import Batch, Pairs
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Column
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, Study, recipe
from guerdon.judges import judge, run_model
from guerdon.losses.pair import dpo
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.several_models import MEMBER, asked_of_each
from guerdon.recipes.house.shared import learn, on_policy
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.select.pairs import valued_groups


@recipe(
    "temporal-self-rewarding",
    family="self_reward",
    paper="arXiv:2508.06026",
    needs=Needs(text=True, one_turn=True, answers=False, learns_from="its own verdicts"),
    helps=("few-labels",),
)
def temporal_self_rewarding(
    task: Any,
    model: Model,
    *,
    rounds: int = 3,  # ours
    steps: int = 20,  # of each training, of which a round has two; ours
    prompts: int = 16,  # asks of a step, shared by the models that answer
    tries: int = 4,  # of each model at a problem; ours
    anchored: bool = True,  # rejected tries are the start model's, not the round's
    guided: bool = True,  # chosen tries are the provisional model's too; without, a round has its first training alone
    beta: float = 0.1,  # DPO's
    lr: float = 2e-5,  # as online_dpo
    max_tokens: int = 256,
) -> Study:
    """Self-rewarding DPO whose chosen and rejected tries are of different ages."""

    def round_of(now: Model, number: int, future: Model | None = None) -> Recipe:
        how = {"prompts": prompts, "tries": tries, "max_tokens": max_tokens, "steps": steps}
        return contrasted(task, now, model if number else None, future, anchored, beta, lr, how)

    def body(run: Any, seed: int) -> dict[str, Any]:
        now = model
        for number in range(rounds):
            future = run.train(round_of(now, number), seed=100 * seed + 2 * number).model()
            if guided:
                again = round_of(now, number, future)
                future = run.train(again, seed=100 * seed + 2 * number + 1).model()
            now = future
        numbers: dict[str, Any] = run.eval(now, task)
        return numbers

    return Study(body)


def contrasted(
    task: Any,
    now: Model,
    start: Model | None,
    future: Model | None,
    anchored: bool,
    beta: float,
    lr: float,
    how: Mapping[str, int],
) -> Recipe:
    """A training of the round's model `now` on its own verdicts; without a `start` it is its own."""
    worse = ("initial",) if anchored else ("reference",)
    better = ("reference", "ahead") if future is not None else ("reference",)
    marked = score(judge(run_model("reference"), sure=True, name="verdict"))
    stages = [verified(task), marked, paired_across("reward", better, worse), learn(dpo(beta=beta), lr)]
    base = on_policy(task, now, stages, temperature=1.0, **how)
    members = tuple(dict.fromkeys([*worse, *better]))
    models = {"policy": now, "reference": snapshot("policy"), "initial": start or snapshot("policy")}
    models |= {"ahead": future} if future is not None else {}
    base.models = {name: each for name, each in models.items() if name in ("policy", "reference", *members)}
    base.seats = {"policy": "reference"}
    for exam in base.exams:
        exam.seats = {"policy": "policy"}
    return base.but(curriculum=asked_of_each(base.curriculum, members))


@part
class paired_across(FieldColumns):
    """Pairs across models: in each group of tries at a problem the best of the models `better` against the worst of those in
    `worse`, if it is better; the difference is the margin, the label 1. Who made a try its ask notes, `member`. Logs `pairs`,
    and `gap`, the mean margin.

    >>> paired_across("reward", ("reference",), ("initial",)).gives
    ('pairs',)
    """

    column: Column
    better: tuple[str, ...]
    worse: tuple[str, ...]

    gives = ("pairs",)
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.track_column(self.column, "paired_across")
        made = [batch.episodes[e].ask.note.get(MEMBER) for e in batch.episode[batch.leaf].tolist()]
        value, pairs = column.value.tolist(), list[tuple[int, int]]()
        for tracks in valued_groups(batch, "task", column.missing.tolist()):
            chosen = [k for k in tracks if made[k] in self.better]
            rejected = [k for k in tracks if made[k] in self.worse]
            if chosen and rejected:
                best, worst = max(chosen, key=value.__getitem__), min(rejected, key=value.__getitem__)
                pairs += [(best, worst)] if value[best] > value[worst] else []
        better, worse = torch.tensor(pairs, dtype=torch.long).reshape(-1, 2).unbind(1)
        margin = (column.value[better] - column.value[worse]).float()
        play.log(pairs=float(len(pairs)), gap=float(margin.mean()) if len(pairs) else 0.0)
        return dataclasses.replace(batch, pairs=Pairs.of(better, worse, margin, torch.ones(len(better)))).recount()
