"""DPO: a policy taught to prefer better answers to worse ones that it did not write, without a reward model.

Paper: Rafailov et al. 2023 (arXiv:2305.18290). Pairs are a file's (`--data`), such as the paper's, which come from people; or
of each problem of a task the gold solution against a near-miss. Leaves out: a first round of supervised learning on the better
ones, which the paper takes for granted where the policy did not write them.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.errors import UserError
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
from guerdon.losses import pair
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.recited import all_pairs, brings_answers, to_recite
from guerdon.rewards.stage.score_stages import verified


@recipe("dpo", family="house", paper="arXiv:2305.18290", needs=Needs(preferences=True, learns_from="preferences"))
def dpo(
    task: Any,
    model: Model,
    *,
    prompts: int = 32,  # the paper has 64 pairs a step
    wrong: int = 1,  # near-misses a problem of a task, each a pair with the gold solution
    beta: float = 0.1,  # the paper's
    anchored: Literal[
        "", "apo_zero", "apo_down", "nca", "bco", "sppo"
    ] = "",  # hold each answer against the reference by itself
    smoothing: float = 0.0,  # the share of pairs taken to be the wrong way round; conservative DPO has more
    lr: float = 1e-5,  # the paper has 1e-6 for models of billions of weights
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """Direct preference optimisation: better answers against worse ones, relative to where the policy began.

    On a file of preferences nobody knows which new answers are good: it is examined on held-out pairs, by the reward that the
    policy implies.
    """
    if anchored and smoothing:
        raise UserError("dpo with anchored takes labels as they are: leave smoothing out")
    loss = pair.anchored(anchored, beta=beta) if anchored else pair.dpo(beta=beta, smoothing=smoothing)
    asks = to_recite(task, wrong)
    pairs = Exam(asks, [implicit_pairs(beta=beta)], name="pairs")
    return Recipe(
        models={"policy": model, "reference": snapshot("policy")},
        curriculum=asks,
        env=side_by_side(),
        stages=[
            verified(task),
            all_pairs(task),
            Learn("policy", loss, opt=adam(lr=lr)),
        ],
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=[pairs if brings_answers(task) else Exam(task, env=single_turn())],
        prompts=prompts,
        steps=steps,
    )
