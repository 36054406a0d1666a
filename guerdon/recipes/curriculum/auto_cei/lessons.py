"""The trainings that Auto-CEI consists of: R-tuning, and a round of expert iteration. No recipe of its own."""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe
from guerdon.losses.imitation import sft
from guerdon.losses.signs import finished
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.curriculum.auto_cei.parts import REFUSAL, or_refused, resampled, retold
from guerdon.recipes.house.shared import on_policy
from guerdon.rewards.stage.score_stages import verified
from guerdon.select.filters import in_turn


def to_refuse(task: Any, policy: Model, lr: float, steps: int) -> Recipe:
    """R-tuning: the policy imitates the tries of the model it begins as, wrong ones with a refusal for an answer."""
    lesson = _imitation(task, policy, [verified(task)], retold(REFUSAL, only_end=True), lr, steps)
    return lesson.but(models={**lesson.models, "start": snapshot("policy")}, seats={"policy": "start"})


def to_refuse_late(task: Any, policy: Model, lr: float, steps: int, bar: or_refused, temperature: float) -> Recipe:
    """A round of expert iteration: the policy imitates its own tries, the more often the more they are worth."""
    scores = [verified(task), bar]
    return _imitation(task, policy, scores, resampled(bar.gives_to, temperature), lr, steps)


def _imitation(task: Any, policy: Model, scores: list[Any], on: Any, lr: float, steps: int) -> Recipe:
    learner = Learn("policy", sft(), on=in_turn([finished(), on]), opt=adam(lr=lr))
    stages = [*scores, learner]
    return on_policy(task, policy, stages, prompts=16, tries=8, temperature=1.0, max_tokens=96, steps=steps)
