"""A process reward model: a head on a language model that says after each line how likely all is right so far.

Paper: Lightman et al. 2023 (arXiv:2305.20050): cross-entropy at the end of every line up to the first wrong one. Labels are a
file's (`--data`), as the paper's, which are people's; or the task's step checker's, on gold solutions, near-misses and tries of
the model that it grows from. Leaves out: making labels by rollouts, and the choice of solutions worth labelling.
The product is the model `prm`: `--reward RUN`, `gd.process_model` in formulas, `best_of` at evaluation (docs/reward_models.md).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.envs.contrasting import side_by_side
from guerdon.exams.exam import Exam
from guerdon.exams.scorers import first_error
from guerdon.losses.reward_modelling import step_labels
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.recited import brings_answers, to_recite
from guerdon.rewards.stage.step_labels import given_labels, line_labels
from guerdon.tasks.stepwise import by_steps


@recipe(
    "process_reward_model",
    family="house",
    paper="arXiv:2305.20050",
    needs=Needs(step_labels=True, text=True, learns_from="labelled steps"),
    helps=("unsound-steps",),
)
def process_reward_model(
    task: Any,
    model: Model,
    *,
    prompts: int = 32,
    wrong: int = 2,  # near-misses a problem of a task
    tries: int = 1,  # of the untrained model, whose own errors are what a reward model meets; 0: recitals alone, as of a file
    good: float = 1.0,  # what a right line weighs against a wrong one
    lr: float = 1e-3,  # tried on sprig; larger models want less
    temperature: float = 1.0,
    max_tokens: int = 128,
    exam_tasks: int = 64,
    steps: int = 40,
) -> Recipe:
    """A process reward model of step labels, a file's or exact ones. Examined on held-out lines: step accuracy, calibration and
    first-error F1."""
    is_file = brings_answers(task)
    task = task if is_file else by_steps(task)
    asks = to_recite(task, wrong)
    return Recipe(
        models={"prm": with_head(model), "author": snapshot("prm")},
        curriculum=asks,
        env=side_by_side(tries=0 if is_file else tries),
        seats={"policy": "author"},
        stages=[
            given_labels() if is_file else line_labels(task),
            Learn("prm", step_labels(good=good), opt=adam(lr=lr)),
        ],
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=[Exam(asks, [first_error("prm")], name="prm", tasks=exam_tasks)],
        prompts=prompts,
        steps=steps,
    )
