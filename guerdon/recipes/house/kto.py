"""KTO: a policy taught from solutions that are each known to be good or bad, no two of them a pair.

Paper: Ethayarajh et al. 2024 (arXiv:2402.01306). They are a file's (`--data`), or a task's: good ones its gold solutions, bad
ones near-misses. The reference point is estimated over a step's whole batch, on answers moved to other prompts, as in the
paper. Leaves out: problems of a task with answers of one kind alone (give `task` its own near-misses, and `wrong=0` for none).
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
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.exams.scorers import implicit_pairs
from guerdon.losses import unpaired
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.recited import brings_answers, to_recite
from guerdon.rewards.stage.score_stages import verified


@recipe("kto", family="house", paper="arXiv:2402.01306", needs=Needs(labels=True, learns_from="labels"))
def kto(
    task: Any,
    model: Model,
    *,
    prompts: int = 16,  # two solutions each: the paper has 32 a step
    wrong: int = 1,  # near-misses to a task's gold solution; then `good` should be `wrong` to 1.5 times `wrong`, says the paper
    good: float = 1.0,  # weight of good solutions; the paper's
    bad: float = 1.0,  # weight of bad ones; the paper's
    beta: float = 0.1,  # the paper's
    lr: float = 1e-5,  # the paper has 5e-7 for models of billions of weights
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """Kahneman-Tversky optimisation: good solutions made likelier and bad ones less so, as far as a loss that levels off
    on both sides asks for.

    On a file of labelled answers it is examined on held-out ones, good against bad, by the reward that the policy implies.
    """
    asks = to_recite(task, wrong)
    pairs = Exam(asks, [implicit_pairs(beta=beta, across=True)], name="pairs")
    point = unpaired.mismatched_kl()
    loss = unpaired.kto(beta=beta, good=good, bad=bad, baseline=point.gives_to)
    return Recipe(
        models={"policy": model, "reference": snapshot("policy")},
        curriculum=asks,
        env=side_by_side(),
        stages=[verified(task), point, Learn("policy", loss, opt=adam(lr=lr))],
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=[pairs if brings_answers(task) else Exam(task, env=single_turn())],
        prompts=prompts,
        steps=steps,
    )
