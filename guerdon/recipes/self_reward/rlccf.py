"""RLCCF: several models answer the same problems, and each is paid for the answer that all of them together vote for.

Paper: Yuan et al. 2025, coevolutionary collective feedback (arXiv:2508.12338), read in its abstract and a summary of its
formulas. The collective answer is argmax_a sum_n SC_n count_n(a): each vote counts its model's self-consistency SC_n, the share
of that model's tries that give its own most frequent answer, so a model that is unsure of itself has less of a say. Every model
learns from its own tries by GRPO, its advantages those among them. A mistake of one model is then not its own label. Models may
have other tokenizers, for no log-prob goes from one to another; they need other mistakes than each other. A step has as many
asks as one of GRPO, shared by the models. The truth, where a task knows it, is logged and not learned from.
Leaves out: the collective's own accuracy as a number of the exam; a model's exam has its name.
"""

from __future__ import annotations

import copy
import dataclasses
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.needs import Needs
from guerdon.core.part import walk
from guerdon.core.recipe import Recipe, recipe
from guerdon.models import load
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.several_models import MEMBER, asked_of_each
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.text.agreement import majority


@recipe(
    "rlccf",
    family="self_reward",
    paper="arXiv:2508.12338",
    on=grpo,
    needs=Needs(answers=False, one_turn=True, second="others", learns_from="the votes of several models"),
    helps=("few-labels",),
)
def rlccf(
    base: Recipe,
    *,
    others: Any = "",  # the models beside the first: names or folders with commas between them, or models
    weighted: bool = True,  # a vote counts its model's agreement with itself; the paper
    votes: Literal["number", "text"] = "number",  # what tries are compared by: their last number, or their whole answer
) -> Recipe:
    """GRPO of several models on the answer that they vote for together."""
    given = [each for each in (others.split(",") if isinstance(others, str) else others) if each]
    if not given:
        raise UserError("rlccf needs other models: --set others=FOLDER,FOLDER, models' or RUN/models/policy")
    base = paid_by(base, majority(answer=votes, by=MEMBER, weighted=weighted))
    (credit,), (first,), (exam,) = base.stages.credit, base.stages.learners, base.exams
    credit.by = "ask"
    members = ["policy"]
    for number, model in enumerate(given, 2):
        name = f"member_{number}"
        members.append(name)
        base.models[name] = load(model) if isinstance(model, str) else model
        base.seats[name] = name
        base.stages.append(_learner(first, name, base.models))
        base.exams.append(dataclasses.replace(exam, seats={"policy": name}, name=name))
    return base.but(curriculum=asked_of_each(base.curriculum, tuple(members)))


def _learner(first: Any, name: str, models: dict[str, Any]) -> Any:
    """The first model's learner for another one, which is held to its own start."""
    learner = copy.deepcopy(first)
    learner.model = name
    for _, member in walk(learner.loss):
        if getattr(member, "to", "") == "reference":
            member.to = f"{name}_start"
            models[member.to] = snapshot(name)
    return learner
