"""A reward model that learns while it is used, with an exam of its own: does it still rank held-out tries rightly?"""

from __future__ import annotations

from codes import codes

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.losses.policy import clipped
from guerdon.losses.reward_modelling import implicit_outcome
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.model.reward_models import implicit
from guerdon.rewards.stage.score_stages import score, verified


@gd.part
class ranked:
    """How often the model gives a right try more than a wrong one at the same problem."""

    needs = ("correct", "rm.logp", "reference.logp")

    def __call__(self, sitting):
        batch = sitting.batch
        gain = batch.up(batch["rm.logp"] - batch["reference.logp"], "track")
        right, same = batch["correct"] > 0.5, batch.task[batch.leaf][:, None] == batch.task[batch.leaf]
        pairs = right[:, None] & ~right & same
        wins = (gain[:, None] > gain).double() + 0.5 * (gain[:, None] == gain).double()
        return {"ranked": float(wins[pairs].mean()) if bool(pairs.any()) else None, "pairs": int(pairs.sum())}


@gd.recipe("cotrained", family="preference")
def cotrained(lr: float = 0.1, rm_lr: float = 0.3, steps: int = 40):
    """The policy is paid by the reward model alone, which is taught on outcomes just before."""
    task = codes(letters=4, length=2)
    models = {name: tabular("0123", length=2) for name in ("policy", "rm")} | {"reference": snapshot("rm")}
    teach = gd.Learn("rm", implicit_outcome(beta=1.0), opt=adam(lr=rm_lr))
    stages = [
        verified(task),
        teach,
        score(implicit("rm", "reference")),
        centre(),
        gd.Learn("policy", clipped(), opt=adam(lr=lr)),
    ]
    exams = [Exam(task), Exam(task, metrics=[ranked()], seats={"policy": "reference"}, name="rm", tries=64)]
    return gd.Recipe(models, uniform(task, tries=16), single_turn(), stages, exams=exams, prompts=4, steps=steps)
