"""What scorers taught on a model's own tries have in common: who tries, and what its choice is worth. No recipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.model import Model
from guerdon.core.recipe import Recipe
from guerdon.core.task import Sampling
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.best_of_n import best_of
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy


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
