"""A reward model: a scalar head on a language model, taught which of two solutions is right.

Paper: Ouyang et al. 2022 (arXiv:2203.02155): all pairs of a prompt's answers in one update, the loss of Bradley and Terry,
one pass over the data. Preferences are a file's (`--data`), or exact: of each problem's gold solution, near-misses and tries of
the model that it grows from, the right against the wrong. Leaves out: evaluation on other people's benchmarks.
The product is the model `rm`: `--reward RUN`, `gd.outcome_model` in formulas, `best_of` at evaluation (docs/reward_models.md).
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
from guerdon.exams.scorers import pair_accuracy
from guerdon.losses.reward_modelling import bradley_terry
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.recited import all_pairs, brings_answers, to_recite, told_by
from guerdon.rewards.stage.score_stages import verified


@recipe(
    "reward_model",
    family="house",
    paper="arXiv:2203.02155",
    needs=Needs(preferences=True, text=True, learns_from="preferences"),
)
def reward_model(
    task: Any,
    model: Model,
    *,
    prompts: int = 32,
    wrong: int = 2,  # near-misses a problem of a task
    tries: int = 1,  # of the untrained model, whose own errors are what a reward model meets; 0: recitals alone, as of a file
    centre: float = 0.01,  # pull of scores to zero, for pairs fix them up to a constant: Eisenstein et al. 2023, 2312.09244
    lr: float = 3e-4,  # found on sprig; larger models want less
    temperature: float = 1.0,
    max_tokens: int = 128,
    exam_tasks: int = 64,
    steps: int = 60,
) -> Recipe:
    """A scalar reward model of preferences, a file's or exact ones. Examined on held-out pairs: accuracy, calibration error and
    Brier score."""
    asks = to_recite(task, wrong)
    return Recipe(
        models={"rm": with_head(model), "author": snapshot("rm")},
        curriculum=asks,
        env=side_by_side(tries=0 if brings_answers(task) else tries),
        seats={"policy": "author"},
        stages=[
            verified(task),
            all_pairs(task),
            Learn("rm", bradley_terry(margin=float("margin" in told_by(task)), centre=centre), opt=adam(lr=lr)),
        ],
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=[Exam(asks, [pair_accuracy("rm")], name="rm", tasks=exam_tasks)],
        prompts=prompts,
        steps=steps,
    )
