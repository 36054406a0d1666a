"""What scorers taught on a model's own tries have in common: who tries, and what the scorer is examined by. No recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.recipe import Recipe
from guerdon.core.task import Sampling
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.best_of_n import best_of
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.rates import accuracy
from guerdon.exams.step_judging import judged_steps
from guerdon.tasks.stepwise import by_steps


def taught_on_tries(
    task: Any,
    models: Mapping[str, Model],
    author: str,
    stages: Sequence[Any],
    sampling: Sampling,
    prompts: int,
    tries: int,
    steps: int,
) -> Recipe:
    """A scorer that `stages` teach on tries of the model `author`. What it is examined by is still to be said."""
    return Recipe(
        models=dict(models),
        curriculum=uniform(task, tries=tries),
        env=single_turn(),
        seats={"policy": author},
        stages=list(stages),
        sampling=sampling,
        exams=[],
        prompts=prompts,
        steps=steps,
    )


def chosen_of_four(task: Any, liked: Any, tasks: int) -> Exam:
    """How often the try that a reward likes best of four is right, beside what the tries are."""
    return Exam(task, [accuracy(), best_of(liked)], name="choice", tasks=tasks, tries=4)


def line_exams(task: Any, model: Model, judge: Any, pay: Any) -> list[Exam]:
    """What `judge` says of lines against the task's own step checker, and what saying more would gain in `pay`; no exam where
    nobody can check lines or the model has none."""
    try:
        by_steps(task)
    except UserError:
        return []
    if not hasattr(model, "decode"):
        return []
    return [Exam(task, [judged_steps(judge), farmed(pay)], name="steps", tasks=64, tries=1)]
