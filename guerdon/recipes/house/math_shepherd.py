"""Math-Shepherd: a process reward model whose labels come from completions of every line.

Paper: Wang et al. 2023 (arXiv:2312.08935): of solutions that a model wrote, a line is good where one of 8 tries that go on from
it finds the answer; a head is taught these labels by cross-entropy. It needs answers that can be checked and no labels of
steps, so it runs on your own rows. The completions cost some twenty times the tokens of the solutions themselves.
Leaves out: two special tokens in place of a head, and completions by another model than the one that wrote the solution.
The product is the model `prm`: `--reward RUN`, `gd.process_model` in formulas (docs/reward_models.md).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.losses.reward_modelling import step_labels
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.own_tries import chosen_of_four, taught_on_tries
from guerdon.recipes.house.step_exams import step_exams
from guerdon.rewards.model.reward_models import process_model
from guerdon.rewards.stage.score_stages import verified
from guerdon.rewards.stage.step_labels import monte_carlo_labels


@recipe(
    "math_shepherd",
    family="house",
    paper="arXiv:2312.08935",
    needs=Needs(answers=True, text=True, learns_from="how often tries from a line are right"),
    helps=("unsound-steps", "few-labels"),
)
def math_shepherd(
    task: Any,
    model: Model,
    *,
    prompts: int = 4,
    tries: int = 4,  # solutions a problem that are labelled; the paper has 15
    rollouts: int = 8,  # tries that go on from each line, the paper's
    soft: bool = False,  # the paper's hard labels: one try that gets there is enough
    lr: float = 1e-3,  # as process_reward_model
    temperature: float = 1.0,
    max_tokens: int = 128,
    exam_tasks: int = 512,
    steps: int = 40,
) -> Recipe:
    """A process reward model of labels that completions of each line give. Examined by the accuracy of the try that it likes
    best of four."""
    right, along = verified(task), process_model("prm", aggregate="steps")
    stages = [right, monte_carlo_labels(right, tries=rollouts, soft=soft), Learn("prm", step_labels(), opt=adam(lr=lr))]
    models = {"prm": with_head(model), "author": snapshot("prm")}
    how = Sampling(temperature=temperature, max_tokens=max_tokens)
    taught = taught_on_tries(task, models, "author", stages, how, prompts, tries, steps)
    liked = process_model("prm", aggregate="min")
    taught.exams = [chosen_of_four(task, liked, exam_tasks), *step_exams(task, along)]
    return taught
