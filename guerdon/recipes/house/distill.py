"""Distillation on the student's own answers: every token is judged by how much likelier a teacher finds it.

Papers: Agarwal et al. 2023, GKD (arXiv:2306.13649), and Gu et al. 2023, MiniLLM (arXiv:2306.08543), for learning on what the
student says itself by the reverse KL. Here in its sampled (k1) form: the advantage of a token is log p_teacher - log p, no
more than the log-prob of the token that was said is asked of the teacher. The mean over tokens is the reverse KL; as an
advantage it has its exact gradient for `gamma=1`, later tokens included, and for `gamma=0` that of each token alone, of far
less variance. No reward is used; the truth is scored for the record.
Leaves out: divergences over the whole vocabulary (`losses.distillation.distilled`; GKD's forward and JS forms among them),
answers of the teacher mixed in, and MiniLLM's length normalisation and teacher-mixed sampling.
"""

from __future__ import annotations

from typing import Any

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.returns import reward_to_go
from guerdon.losses.policy import clipped
from guerdon.models import load
from guerdon.recipes.house.shared import learn, on_policy, scored


@part
class liking:
    """A stage: log p_teacher(a) - log p(a) of every step that was sampled, `teacher_gain`; its mean is minus the KL."""

    needs, gives = ("teacher.logp",), ("teacher_gain",)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        gain = torch.where(batch.weight > 0, batch["teacher.logp"] - batch.logp, 0.0)  # what was given has none
        known = (batch.weight > 0) & ~gain.isnan()
        play.log(kl_teacher=-float(gain[known].double().mean()) if bool(known.any()) else 0.0)
        reason = torch.where(gain.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
        return batch.with_cols({"teacher_gain": Column("step", gain, reason)})


@recipe("distill", family="house", paper="arXiv:2306.13649")
def distill(
    task: Any,
    model: Model,
    *,
    teacher: Any = "",  # a model, or its name or folder (RUN/models/policy)
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    gamma: float = 0.0,  # each token alone
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """On-policy distillation: the student's tries, each token credited with the teacher's log-prob less its own."""
    if not teacher:
        raise UserError("distill needs a teacher: --set teacher=FOLDER, a model's or RUN/models/policy")
    guide = load(teacher) if isinstance(teacher, str) else teacher
    if getattr(guide, "text_identity", None) != getattr(model, "text_identity", None):
        raise UserError("distill reads the student's tokens with the teacher, and the two have different tokenizers")
    credit = [liking(), reward_to_go("teacher_gain", gamma, gives_to="advantage")]
    stages = [*scored(task, None), *credit, learn(clipped(mean="step"), lr)]
    made = on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=1.0, max_tokens=max_tokens, steps=steps
    )
    made.models["teacher"] = guide
    return made
