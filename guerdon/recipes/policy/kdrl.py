"""KDRL: GRPO with a teacher beside it, whose divergence counts on the student's own tries that were wrong.

Paper: Xu et al. 2025 (arXiv:2506.02208), read in its abstract and a summary of its formulas. The objective is GRPO's less
beta KL(policy || teacher) on the same tries, with the k2 estimate, whose gradient on own samples is that of this divergence.
beta falls from `teaching` by `falls` a step, to `least` at the lowest. `over` says where the divergence counts: of every try,
of those that were wrong, or of problems that none solved. Leaves out: a teacher that reads another tokenizer, which is refused.
"""

from __future__ import annotations

from typing import Any, Literal

import torch

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.field_columns import Needs as Column
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.imitation import weighed
from guerdon.losses.penalties import kl
from guerdon.models import load
from guerdon.recipes.house.grpo import grpo

Over = Literal["tries", "wrong tries", "unsolved problems"]


@recipe(
    "kdrl",
    family="policy",
    paper="arXiv:2506.02208",
    on=grpo,
    needs=Needs(second="teacher"),
    helps=("sparse",),
)
def kdrl(
    base: Recipe,
    *,
    teacher: Any = "",  # a model, or its name or folder (RUN/models/policy)
    teaching: float = 0.1,  # weight of the divergence from the teacher at first (beta); ours
    falls: float = 0.001,  # what that loses with every step; ours
    least: float = 0.01,  # what it is at the lowest; ours
    over: Over = "wrong tries",  # where the divergence counts
) -> Recipe:
    """GRPO, and a teacher's word on the tries that were wrong."""
    if not teacher:
        raise UserError("kdrl needs a teacher: --set teacher=FOLDER, a model's or RUN/models/policy")
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    weight: Any = falling(teaching, falls, least)
    divergence = kl(weight, to="teacher", kind="k2")
    learner.loss = learner.loss + weighed(divergence, by="taught")
    base.models["teacher"] = load(teacher) if isinstance(teacher, str) else teacher
    return base.but(before={"learn": taught(over, credit.reward)})


@part
class falling:
    """A schedule: `start`, less by `falls` every step, and `least` at the lowest.

    >>> [round(falling(0.1, 0.04, 0.01).at(step, 9), 2) for step in range(4)]
    [0.1, 0.06, 0.02, 0.01]
    """

    start: float
    falls: float = knob(ge=0.0)
    least: float = 0.0

    def at(self, step: int, steps: int) -> float:
        return max(self.start - self.falls * step, self.least)


@part
class taught(FieldColumns):
    """Column `gives_to`: 1 for tries on which the teacher is heard, 0 for the others.

    >>> from guerdon.core.example import ExamplePlay, example_tries
    >>> taught("unsolved problems")(example_tries([[1.0, 0.0], [0.0]]), ExamplePlay())["taught"].tolist()
    [0.0, 0.0, 1.0]
    """

    over: Over = "wrong tries"
    reward: Column = "reward"
    gives_to: Gives = "taught"

    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        reward = batch.track_column(self.reward, "taught").value
        if self.over == "unsolved problems":
            reward = batch.per_group(reward, "max")[batch.group("task")[0]]
        heard = torch.ones_like(reward) if self.over == "tries" else (torch.nan_to_num(reward) <= 0).to(reward)
        play.log(taught_share=float(heard.double().mean()) if batch.K else 0.0)
        return batch.put(self.gives_to, "track", heard)
