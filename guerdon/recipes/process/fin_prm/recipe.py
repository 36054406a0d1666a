"""Fin-PRM: a process reward model of one domain, taught by steps and by whole solutions from what is known there.

Paper: Zhou et al. 2025 (arXiv:2508.15202), on finance. Its text was read in abstract and summaries only, and the repository it
names (github.com/aliyun/qwen-dianjin) was looked through without finding its code: how terms are weighed is ours. A step's
label joins its importance (which share of tries that go on from it end well) and its accuracy against a base of knowledge; a
whole solution's its outcome and which of the needed facts it states. Both are taught by cross-entropy, and rank solutions
together: to choose among tries (an exam here), in GRPO as (1 - d) outcome + d scorer (`use=mix`), and to choose tries to
imitate (`use=select`). Here the domain is the task's family, knowledge its exact rules and worked solutions, solutions are
tries of the model itself; `taught_on` names other problems to teach on, as a general scorer is. Leaves out: quality as a large
model judges it, labels cut into right and wrong.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.task import Sampling
from guerdon.recipes.process.fin_prm.parts import known_labels
from guerdon.recipes.process.scored_uses import scorer_exams, scorer_of_tries, taught_at_both, used
from guerdon.rewards.stage.score_stages import verified
from guerdon.rewards.stage.step_labels import line_labels, monte_carlo_labels
from guerdon.tasks.stepwise import by_steps
from guerdon.tasks.task_loading import load

GENERIC = "chain:6-7+addition:5-6+units:4"  # of which sprig solves some three quarters


@recipe(
    "fin-prm",
    family="process",
    paper="arXiv:2508.15202",
    claim=Claim(
        says="Of a model's tries at equations, a scorer taught on equations chooses right ones more often than one taught on"
        " other arithmetic.",
        baseline=f"fin-prm taught_on={GENERIC}",
        metric="choice/best_of@4",
        task="equation:6-7",
        settings="prompts=8 tries=4 rollouts=1 lr=3e-4 max_tokens=96",
        budget=400_000,
    ),
)
def fin_prm(
    task: Any,
    model: Model,
    *,
    taught_on: str = "",  # problems to teach it on; none: those of the task, as the paper's domain
    use: Literal["choose", "mix", "select"] = "choose",
    rollouts: int = 2,  # tries that go on from a line
    coverage: float = 0.25,  # of facts, in a whole solution's label; ours
    whole: float = 1.0,  # weight of whole solutions, in the loss and in the ranking; ours
    share: float = 0.2,  # of the scorer in the reward of `mix`, and of the tries that `select` imitates; ours
    prompts: int = 16,
    tries: int = 4,
    lr: float = 1e-3,  # as process_reward_model
    policy_lr: float = 2e-5,  # as grpo
    temperature: float = 1.0,
    max_tokens: int = 128,
    exam_tasks: int = 400,
    steps: int = 40,
) -> Recipe | Study:
    """A scorer of steps and whole solutions from a domain's own knowledge. Examined by its choice among tries."""
    domain, how = by_steps(load(taught_on) if taught_on else task), Sampling(temperature, max_tokens)
    played_on = monte_carlo_labels(verified(domain), rollouts, soft=True, gives_to="importance")
    labels = [line_labels(domain, "accuracy"), played_on, known_labels(domain, coverage=coverage)]
    loss = taught_at_both("logistic", whole)
    teach = scorer_of_tries(domain, model, labels, loss, how, prompts=prompts, tries=tries, lr=lr, steps=steps)
    teach.exams = scorer_exams(task, whole, exam_tasks)
    return used(use, teach, task, model, share=share, whole=whole, lr=policy_lr)
