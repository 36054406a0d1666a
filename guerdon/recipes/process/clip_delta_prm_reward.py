"""Clip and delta: a process reward model's scores beside the reward for success, refined so that more steps are not paid more.

Paper: Gao et al. 2024, On Designing Effective RL Reward at Training Time for LLM Reasoning (arXiv:2410.15115). With the scores
of lines as they come, a policy is paid for repeating right but unnecessary steps, and learns to. Clip pays a line what it
falls short of `eta`; delta pays it what its score is above that of the next line, the line before the answer its own, and the
answer nothing (the last step as in the paper's figure of the two): from any line on, the rest of a solution then adds up to
that line's own score. `refine=both` is delta of clip, `none` the scores themselves. The advantage of a token is GRPO's for the
answer, and `alpha` times the return of the lines from there on, less the other tries' at the same place.
Departs: the paper learns by PPO with a critic; here tries at a problem are compared, so that success alone is GRPO (`alpha=0`).
`prm` is the folder of a trained process reward model (`guerdon train process_reward_model`); `prm`, a model of the run that a
claim's `start` prepares, and that says 1/2 of every line until then; or `exact`, the step checker of a generated family.
Leaves out: outcome reward models, and process rewards that are normalised before they are paid.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed
from guerdon.credit.returns import reward_to_go
from guerdon.credit.turns import turn_baseline
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.line_scorers import scored_by
from guerdon.recipes.house.step_exams import step_exams
from guerdon.recipes.process.process_claims import PRM, STEPS
from guerdon.rewards.formula.per_step import delta, shortfall
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.task_checks import true_lines

TAUGHT: dict[str, Any] = {**STEPS, "start": {"prm": PRM}}


@recipe(
    "clip-delta-prm-reward",
    family="process",
    paper="arXiv:2410.15115",
    claim=(
        Claim(
            says="Clipped differences of a process reward model's scores, beside success, teach more than the scores do.",
            baseline="clip-delta-prm-reward refine=none",
            **TAUGHT,
        ),
        Claim(
            says="Clipped differences of a process reward model's scores, beside success, solve as much as success alone.",
            kind="at least as good",
            **TAUGHT,
        ),
    ),
    on=grpo,
    needs=Needs(text=True),
    helps=("hacking", "unsound-steps"),
)
def clip_delta_prm_reward(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    refine: Literal["none", "clip", "delta", "both"] = "both",  # the paper's best
    alpha: float = 0.2,  # ours: the lines of a right solution of five weigh as much as its answer
    eta: float = 0.8,  # ours: about the share of lines that are right; the paper has a score that most steps reach
    prm: str = "prm",
) -> Recipe:
    """GRPO with a process reward for every line, bounded so that it cannot be farmed."""
    lines = true_lines(task) if prm == "exact" else scored_by(base, model, prm)
    clipped_lines = shortfall(lines, eta) if refine in ("clip", "both") else lines
    refined = delta(clipped_lines) if refine in ("delta", "both") else clipped_lines
    (success,) = base.stages.credit
    credit = [
        centre(success.reward, gives_to="for_answer"),
        reward_to_go("process_steps", gives_to="ahead"),
        turn_baseline("ahead", per="step", gives_to="for_lines"),
        mixed(("for_answer", "for_lines"), (1.0, alpha)),
    ]
    base.exams += step_exams(task, lines, refined)
    return base.but(before={"centre": score(refined, "process")}, replace={"centre": credit})
