"""MASA: the policy forecasts how often it will solve a problem, is paid for being right, and skips what it calls settled.

Paper: Kim et al. 2025, Meta-Awareness Enhances Reasoning Models (arXiv:2510.03259; its second version calls it MAPR), with the
released code (github.com/akatigre/MASA-RL). Before a problem is tried the same model is asked for its success rate, in eighths,
`meta_tries` times; a forecast earns 0.01^|p - forecast| of the rate p that its own tries then have, and forecasts and tries are
learned together by GRPO, each compared with its like. Every token weighs the same, as is the code's default; in the paper's
first equation every answer does, and a forecast of one token would count for as much as a whole one. From a quarter of the run
on, problems are skipped whose forecasts agree that all or none of the tries will be right (the paper's efficient variant). All
tokens of forecasts count in the budget.
The forecast is text by the policy, as in the paper: here one digit after a given "= ", so that sprig, which was never taught to
forecast, says some number and learns by reward alone which. The wording is ours: `--set roles.forecast=FILE`.
Leaves out: forecasts of length with their cut-off, of notions with their hints, cloning of expert forecasts.
"""

from __future__ import annotations

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.envs.simple import single_turn
from guerdon.recipes.curriculum.masa.parts import ROLE, asked_first, with_forecasts
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid


@recipe(
    "masa",
    family="curriculum",
    paper="arXiv:2510.03259",
    claim=Claim(
        says="Forecasting its own success, and skipping what it calls settled, solves more for the same tokens.",
        baseline="grpo clipped.mean=step",
        ablation="masa after=1000000",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    helps=("uneven-difficulty",),
)
def masa(
    base: Recipe,
    *,
    meta_tries: int = 8,  # the paper's M
    after: float = 0.25,  # the paper's 80 of 314 steps
    spread: float = 0.1,  # one of the two that the paper tries
) -> Recipe:
    """GRPO that learns to forecast its success rates and skips problems by them."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    base.curriculum = asked_first(base.curriculum, single_turn(ROLE), meta_tries, after, spread)
    base.seats = {**base.seats, ROLE: "policy"}
    credit.reward, learner.loss.mean = "aligned", "step"
    return base.but(before={"centre": with_forecasts(base.curriculum, paid(base.stages.scores))})
