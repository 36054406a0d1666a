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

import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives, Needs
from guerdon.core.model import Model
from guerdon.core.needs import Needs as RecipeNeeds
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.core.task import Sampling
from guerdon.recipes.process.scored_uses import (
    WHOLE,
    on_lines,
    scorer_exams,
    scorer_of_tries,
    softly_mixed,
    taught_at_both,
    used,
)
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.stage.score_stages import verified
from guerdon.rewards.stage.step_labels import line_labels, monte_carlo_labels
from guerdon.tasks.stepwise import by_steps
from guerdon.tasks.task_loading import load

GENERIC = "chain:6-7+addition:5-6+units:4"  # of which sprig solves some three quarters


@part
class known_labels(FieldColumns):
    r"""Labels of lines, $\sum_k\mathrm{softmax}(r)_k\,r_k$ over a line's importance and its accuracy, and of whole
    solutions, $(1-c)\,o + c\,\frac{|K_y|}{|K_x|}$: the outcome $o$, and which of the facts $K_x$ that the problem asks
    for it states, $c$ being `coverage`.

    Accuracy is whether a line follows by the rules of the domain, importance how often tries that go on from it end well.
    Facts are the lines of the problem's worked solution. A line after the first wrong one has no accuracy, and its
    importance alone is its label. The last line has no label: what is said there is said of the whole.

    >>> import guerdon as gd
    >>> known_labels(gd.tasks.load("chain:2")).gives
    ('labels', 'whole')
    """

    task: Any
    accuracy: Needs = "accuracy"
    importance: Needs = "importance"
    outcome: Needs = "correct"
    coverage: float = knob(default=0.25, ge=0.0, le=1.0)
    gives_to: Gives = "labels"
    whole_to: Gives = WHOLE

    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        importance, right = batch[self.importance], batch[self.outcome]
        label = softly_mixed(torch.stack([importance, batch[self.accuracy]], -1))
        label = label.masked_fill(importance.isnan(), float("nan"))
        for steps in batch.steps_by_track():
            ends = steps[~importance[steps].isnan()]
            label[ends[-1:]] = float("nan")
        whole, samples = right.clone(), Samples.of_batch(batch, play, "policy")
        assert samples.track is not None
        for k, fields in zip(samples.track.tolist(), samples.fields, strict=True):
            covered = stated(fields["completion"], self.task.solution(fields["task"]))
            whole[k] = (1 - self.coverage) * right[k] + self.coverage * covered
        reason = torch.where(whole.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
        return batch.with_cols({self.gives_to: on_lines(label), self.whole_to: Column("track", whole, reason)})


def stated(text: str, solution: str) -> float:
    r"""The share of a solution's lines that a text has, in any order.

    >>> stated("2x=4\nx=3\n= 3", "2x=4\nx=2\n= 2")
    0.3333333333333333
    """
    facts = {line.strip() for line in solution.split("\n") if line.strip()}
    return len(facts & {line.strip() for line in text.split("\n")}) / max(len(facts), 1)


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
    needs=RecipeNeeds(step_checker=True, text=True, learns_from="a scorer that it teaches"),
    helps=("unsound-steps",),
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
