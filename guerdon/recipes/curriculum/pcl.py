"""PCL: a value model reads more prompts than are needed, and those it expects to be solved half of the time are tried.

Paper: Gao et al. 2025, Prompt Curriculum Learning (arXiv:2510.01135). Each step `times` candidates for every prompt are read
by a forecaster V in one pass, the `prompts` with the smallest |V(x) - target| get `tries` tries, the policy learns from them
as in GRPO, and V is taught (V(x) - mean reward)^2 on the same prompts. As in the paper the advantage is not divided by the
group's spread, every answer weighs the same, and there is no KL. V is a plain number from a linear head on a copy of the
policy (the paper's equation has no sigmoid), taught and read on prompts alone: no token is generated for it, none counted.
Leaves out: the choice of batch size, the paper's other half; rewards beyond 0 to 1, which want another `target`.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.part import set_knob
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.curricula.forecast_problems import predicted, prompts_alone
from guerdon.losses.reward_modelling import outcome
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.shared import paid


@recipe(
    "pcl",
    family="curriculum",
    paper="arXiv:2510.01135",
    claim=Claim(
        says="Trying the prompts that a value model expects to be solved half of the time ends higher than trying any.",
        baseline="grpo centre.std=false",
        ablation="pcl target=0.0",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(text=True),
    helps=("uneven-difficulty",),
)
def pcl(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    times: int = 4,  # the paper's k
    target: float = 0.5,  # the paper's tau
    forecast_lr: float = 1e-4,  # found on sprig
    forecast_epochs: int = 4,  # found on sprig; the paper's is 1, over 512 prompts in place of 16
    tries: int = 8,  # the paper's n is 16
) -> Recipe:
    """GRPO on the prompts that a value model expects to be solved half of the time."""
    set_knob(base, "centre.std", False)  # the paper's form of GRPO
    column = paid(base.stages.scores)
    prompts, opt = prompts_alone(column=column), adam(lr=forecast_lr)
    base.stages.append(Learn("forecaster", outcome("rate"), on=prompts, opt=opt, epochs=forecast_epochs))
    base.models["forecaster"] = with_head(model)
    base.curriculum = predicted(task, tries, times=times, target=target, column=column)
    return base
