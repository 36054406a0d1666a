"""What recipes that pay for lines have in common: whose word on them counts. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.recipe import Recipe
from guerdon.recipes.house.heads import with_head
from guerdon.rewards.formula.reward import as_reward
from guerdon.rewards.model.reward_models import is_folder, process_model
from guerdon.rewards.text.task_checks import true_lines
from guerdon.tasks.stepwise import has_steps


def scored_by(base: Recipe, model: Model, scorer: str) -> Any:
    """A reward in lines: the chance that all is right so far, as a process reward model says it. `scorer` is the folder of one
    (a finished run of `process_reward_model`), or the name under which the recipe has it and a claim's `start` prepares it:
    then it begins as a copy of the policy with a fresh head."""
    if not is_folder(scorer):
        base.models = {**base.models, scorer: with_head(model)}
    return process_model(scorer, aggregate="steps")


def lines_of(base: Recipe, task: Any, model: Model, reward: Any, scorer: str) -> Any:
    """The reward that was given, which comes in lines; else a process reward model's; else the task's own step checker's."""
    if reward is not None:
        return as_reward(reward)
    if scorer:
        return scored_by(base, model, scorer)
    if not has_steps(task):
        raise UserError(
            f"{getattr(task, 'name', 'this task')} has no step checker, so nobody judges lines: give a process reward model,"
            " --set scorer=runs/prm, or a reward that returns a list, --reward my.py:lines"
        )
    return true_lines(task)
