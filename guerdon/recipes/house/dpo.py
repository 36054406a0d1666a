"""DPO: a policy taught to prefer right solutions to wrong ones that it did not write, without a reward model.

Paper: Rafailov et al. 2023 (arXiv:2305.18290). Pairs are each problem's gold solution against a near-miss, recited; the
paper's come from people. Leaves out: a first round of supervised learning on the better ones, which the paper takes for
granted where the policy did not write them, and preferences in files.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.curricula.solutions_to_recite import contrasts
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.losses import pair
from guerdon.models.frozen_copy import snapshot
from guerdon.rewards.stage.score_stages import verified
from guerdon.select.pairs import paired


@recipe("dpo", family="house", paper="arXiv:2305.18290")
def dpo(
    task: Any,
    model: Model,
    *,
    prompts: int = 32,  # the paper has 64 pairs a step
    wrong: int = 1,  # near-misses a problem, each a pair with the gold solution
    beta: float = 0.1,  # the paper's
    smoothing: float = 0.0,  # the share of pairs taken to be the wrong way round; conservative DPO has more
    lr: float = 1e-5,  # the paper has 1e-6 for models of billions of weights
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """Direct preference optimisation: gold solutions against near-misses, relative to where the policy began."""
    return Recipe(
        models={"policy": model, "reference": snapshot("policy")},
        curriculum=contrasts(task, wrong=wrong),
        env=side_by_side(),
        stages=[
            verified(task),
            paired("correct", which="all"),
            Learn("policy", pair.dpo(beta=beta, smoothing=smoothing), opt=adam(lr=lr)),
        ],
        sampling=Sampling(temperature=temperature, max_tokens=max_tokens),
        exams=[Exam(task, env=single_turn())],
        prompts=prompts,
        steps=steps,
    )
