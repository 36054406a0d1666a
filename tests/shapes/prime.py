"""PRIME (arXiv:2502.01456): a process reward learned online from outcomes alone, as a log-ratio of two models."""

from __future__ import annotations

import torch
from codes import codes
from torch.nn.functional import binary_cross_entropy_with_logits

import guerdon as gd
from guerdon.core.levels import gather_up
from guerdon.core.optim import adam
from guerdon.credit.returns import later_sum
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import verified


@gd.part
class implicit_outcome:
    """Cross-entropy of the outcome under sigma(sum of beta log(prm/ref))."""

    beta: float = 0.05  # the paper's
    needs, wants = ("correct", "reference.logp"), ("logp",)

    def __call__(self, batch, live):
        logit = self.beta * batch.up(live["logp"] - batch["reference.logp"], "track")
        loss = binary_cross_entropy_with_logits(logit, batch["correct"], reduction="sum") / batch.count.tracks
        right = ((logit > 0) == (batch["correct"] > 0.5)).float().sum() / batch.count.tracks
        return loss, {"accuracy": right}


@gd.part
class mixed:
    """Keep the tasks whose success rate lies inside (low, high)."""

    low: float = 0.0
    high: float = 1.0
    needs, gives = ("correct",), ()

    def __call__(self, batch, play):
        rate = batch.down(batch.up(batch["correct"], "task", of="track", by="mean"), "task", "track")
        return batch.take((rate > self.low) & (rate < self.high))


@gd.part
class process_credit:
    """Leave-one-out of the outcome, plus the return of process rewards less the other tries' mean process reward."""

    beta: float = 0.05
    needs, gives = ("correct", "prm.logp", "reference.logp"), ("advantage",)

    def __call__(self, batch, play):
        step = self.beta * (batch["prm.logp"] - batch["reference.logp"])
        process = later_sum(
            step - batch.down(self.others(batch, batch.up(step, "track", by="mean")), "track"), batch.seg
        )
        outcome = batch["correct"] - self.others(batch, batch["correct"])
        return batch.put("advantage", "step", process + batch.down(outcome, "track"))

    def others(self, batch, value):
        group, n = batch.group("task")
        total, size = gather_up(value, group, n)[group], gather_up(torch.ones_like(value), group, n)[group]
        return (total - value) / (size - 1).clamp(min=1)


@gd.recipe("prime", family="process", paper="arXiv:2502.01456")
def prime(lr: float = 0.1, prm_lr: float = 0.3, steps: int = 150):
    """Learn the process reward on this step's outcomes, then the policy on both."""
    model = tabular("0123", length=3)
    models = {"policy": model, "prm": tabular("0123", length=3), "reference": snapshot("policy")}
    learn_prm = gd.Learn("prm", implicit_outcome(), opt=adam(lr=prm_lr), clip=0.0)
    learn_policy = gd.Learn("policy", clipped(), on=mixed(), opt=adam(lr=lr))
    stages = [verified(codes()), learn_prm, process_credit(), learn_policy]
    return gd.Recipe(
        models, uniform(codes(), tries=16), single_turn(), stages, exams=[gd.Exam(codes())], prompts=6, steps=steps
    )
