"""Distillation on the student's own answers: every token is judged by how much likelier a teacher finds it.

Papers: Agarwal et al. 2023, GKD (arXiv:2306.13649), and Gu et al. 2023, MiniLLM (arXiv:2306.08543), for learning on what the
student says itself. `over="said"` asks the teacher for no more than the log-prob of the token that was said: the reverse KL in
its sampled (k1) form, as an advantage (`credit/mix.py`; `gamma=1` counts later tokens, `gamma=0` each token alone).
`over="top"` compares the two at the teacher's 64 likeliest tokens and the rest as one more, by GKD's divergence: `mix=0` is the
forward KL, 1 the reverse, between them the Jensen-Shannon kind. No reward is used; the truth is scored for the record.
Leaves out: answers of the teacher mixed in, and MiniLLM's length normalisation and teacher-mixed sampling.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.mix import teacher_log_ratio
from guerdon.credit.returns import reward_to_go
from guerdon.losses.distillation import distilled
from guerdon.losses.policy import clipped
from guerdon.models import load
from guerdon.recipes.house.shared import learn, on_policy, scored


@recipe(
    "distill",
    family="house",
    paper="arXiv:2306.13649",
    needs=Needs(second="teacher", learns_from="its teacher"),
    helps=("sparse", "few-labels"),
)
def distill(
    task: Any,
    model: Model,
    *,
    teacher: Any = "",  # a model, or its name or folder (RUN/models/policy)
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    over: Literal["said", "top"] = "said",  # compare at the token that was said, or at the teacher's likeliest ones
    gamma: float = 0.0,  # discount of what comes later, over what was said; 0: each token alone
    mix: float = 0.5,  # between forward and reverse divergence, over the top; GKD's symmetric form
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """On-policy distillation: the student's tries, taught by a teacher at every token."""
    if not teacher:
        raise UserError("distill needs a teacher: --set teacher=FOLDER, a model's or RUN/models/policy")
    guide = load(teacher) if isinstance(teacher, str) else teacher
    stages = scored(task, None)
    if over == "said":
        stages += [
            teacher_log_ratio(),
            reward_to_go("teacher_gain", gamma, gives_to="advantage"),
            learn(clipped(mean="step"), lr),
        ]
    else:
        stages.append(learn(distilled(mix), lr))
    composition = on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=1.0, max_tokens=max_tokens, steps=steps
    )
    composition.models["teacher"] = guide
    return composition
