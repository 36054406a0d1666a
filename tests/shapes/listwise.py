"""A loss over a group: the policy's own odds among the tries of an ask are pulled to those that the rewards would give."""

from __future__ import annotations

import torch
from codes import codes

import guerdon as gd
from guerdon.core.levels import gather_up
from guerdon.core.optim import adam
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.losses.reduce import per_track
from guerdon.losses.terms import Term
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import verified


@gd.part
class listwise(Term):
    """Cross-entropy between softmax(reward / heat) and softmax(log-prob of the track) over the tries of an ask."""

    heat: float = 0.3
    needs, wants, together = ("correct",), ("logp",), "ask"

    def __call__(self, batch, live):
        group, n = batch.group("ask")

        def log_odds(x):
            return x - torch.log(gather_up(torch.exp(x - x.max()), group, n))[group] - x.max()

        said, due = log_odds(per_track(live["logp"], batch)), log_odds(batch["correct"] / self.heat)
        return -(due.exp() * said).sum() / batch.count.tracks, {}


@gd.recipe("groups", family="policy")
def groups(lr: float = 0.1, micro: int = 0, steps: int = 30):
    """What must stay together does, however small the micro-batches are."""
    task = codes(letters=4, length=2)
    stages = [verified(task), gd.Learn("policy", listwise(), opt=adam(lr=lr), micro=micro)]
    model = tabular("0123", length=2)
    return gd.Recipe(
        {"policy": model}, uniform(task, tries=16), single_turn(), stages, exams=[Exam(task)], prompts=4, steps=steps
    )
