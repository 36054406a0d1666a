"""What recipes share whose scorer is taught by steps and by whole solutions, and then used in three ways. No recipe.

The head of one model says both: after every line but the last how good the step is, after the last, the answer, how good
the whole is. Choosing among tries needs no more than an exam; mixing it into a policy's reward and imitating what it
likes best are runs of their own, after the one that teaches it.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.budget import Budget
from guerdon.core.column import Column, Reason
from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, Study
from guerdon.core.task import Sampling
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.losses.imitation import sft, step_values, whole_value
from guerdon.losses.reward_modelling import outcome, step_labels
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.own_tries import chosen_of_four, taught_on_tries
from guerdon.recipes.house.shared import paid_by
from guerdon.recipes.house.step_exams import step_exams
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.model.reward_models import process_model
from guerdon.rewards.stage.score_stages import checker, score, verified
from guerdon.select.filters import top_share

WHOLE = "whole"  # the column of what a solution as a whole is worth


def ranking(model: str = "prm", whole: float = 1.0) -> Reward:
    """What a solution is worth to such a scorer: the mean over its lines, and `whole` times what it says of the last."""
    mean: Reward = process_model(model, aggregate="mean")
    return mean + process_model(model, aggregate="last").weight(whole)


def taught_at_both(kind: Literal["logistic", "square"], weight: float) -> Any:
    """The loss of lines, and `weight` times that of whole solutions."""
    steps = step_labels() if kind == "logistic" else step_values()
    whole = outcome(WHOLE, "logistic", weight) if kind == "logistic" else whole_value(WHOLE, weight)
    return steps + whole if weight else steps


def softly_mixed(scores: Tensor) -> Tensor:
    r"""$\sum_k \mathrm{softmax}(r)_k\, r_k$ over the last axis: the highest of several scores counts most. NaN is left out.

    >>> import torch
    >>> softly_mixed(torch.tensor([[0.0, 1.0], [0.5, float("nan")]]))
    tensor([0.7311, 0.5000])
    """
    there = torch.where(scores.isnan(), -torch.inf, scores)
    return (torch.softmax(there, -1) * torch.nan_to_num(scores)).sum(-1)


def on_lines(value: Tensor) -> Column:
    """A step column that has no value where it is NaN."""
    reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), int(Reason.VALUE)).to(torch.int8)
    return Column("step", value, reason)


def scorer_of_tries(
    task: Any,
    model: Model,
    labels: list[Any],
    loss: Any,
    how: Sampling,
    *,
    prompts: int,
    tries: int,
    lr: float,
    steps: int,
) -> Recipe:
    """A scorer `prm` that is taught on tries of the model it grows from, `author`, by the columns that `labels` give."""
    models = {"prm": with_head(model), "author": snapshot("prm")}
    stages = [verified(task), *labels, Learn("prm", loss, opt=adam(lr=lr))]
    return taught_on_tries(task, models, "author", stages, how, prompts, tries, steps)


def scorer_exams(task: Any, whole: float, tasks: int, judged: bool = True) -> list[Exam]:
    """What the scorer's choice among tries of the author is worth; how well it judges their lines, and what could be farmed
    from it."""
    lines = process_model("prm", aggregate="steps")
    farm = [Exam(task, [farmed(lines)], name="steps", tasks=64, tries=1)]  # where a line that is no use is not wrong
    return [chosen_of_four(task, ranking("prm", whole), tasks), *(step_exams(task, lines) if judged else farm)]


def used(
    use: Literal["choose", "mix", "select"],
    teach: Recipe,
    task: Any,
    model: Model,
    *,
    share: float,
    whole: float,
    lr: float,
    by: Literal["scorer", "any"] = "scorer",
) -> Recipe | Study:
    """The scorer itself, whose exam chooses among tries (`choose`); or a study that teaches it, and then a policy whose reward
    has a `share` of it (`mix`), or one that imitates the `share` of the start model's tries that it likes best (`select`; `by`
    any, as many by lot). What teaching costs is no part of what the second run may spend, and stands in what the study spent.
    """
    if use == "choose":
        return teach

    def body(run: Any, seed: int) -> None:
        length = Budget(teach.steps, "steps")
        needed = by == "scorer" or use == "mix"
        scorer = run.train(teach.but(exams=[]), budget=length).model("prm") if needed else None
        made = imitating if use == "select" else paid_too
        run.train(made(teach, task, model, scorer, share=share, whole=whole, lr=lr), budget=run.budget)

    return Study(body)


def paid_too(
    teach: Recipe, task: Any, model: Model, scorer: Model | None, *, share: float, whole: float, lr: float
) -> Recipe:
    """GRPO whose reward is (1 - share) times the truth and `share` times what the scorer says."""
    how, tries = teach.sampling, teach.curriculum.tries
    heat, limit = how.temperature, how.max_tokens
    base: Any = grpo(task, model, lr=lr, prompts=teach.prompts, tries=tries, temperature=heat, max_tokens=limit)
    base.models = {**base.models, "prm": scorer}
    return paid_by(base, checker(task).weight(1 - share) + ranking("prm", whole).weight(share))


def imitating(
    teach: Recipe, task: Any, model: Model, scorer: Model | None, *, share: float, whole: float, lr: float
) -> Recipe:
    """Imitation of the share of the start model's tries that the scorer likes best; of any, where there is no scorer."""
    scored = [score(ranking("prm", whole))] if scorer is not None else []
    kept = top_share("reward" if scored else "", share)
    return Recipe(
        models={"policy": model, "author": snapshot("policy"), **({"prm": scorer} if scorer is not None else {})},
        curriculum=uniform(task, tries=teach.curriculum.tries),
        env=single_turn(),
        seats={"policy": "author"},
        stages=[verified(task), *scored, Learn("policy", sft(), on=kept, opt=adam(lr=lr))],
        sampling=teach.sampling,
        exams=[Exam(task, seats={"policy": "policy"})],
        prompts=teach.prompts,
    )
