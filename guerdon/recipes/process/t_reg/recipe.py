"""T-REG: DPO that spreads a pair's reward over tokens by what the model itself says of them under two opposite prompts.

Paper: Zhou et al. 2024, T-REG: Preference Optimization with Token-Level Reward Regularization (arXiv:2412.02685; the released
code, github.com/wzhouad/T-REG, could not be had here; formulas are those of summaries). Every token has a reward between -1/2
and 1/2 by how much likelier the start model finds it when asked for a good answer than when asked for a bad one; beside DPO's
loss stands alpha times a weighted likelihood of both answers, each token by its reward, and each pair by how far the policy
has it the wrong way round.
sprig follows no instructions: the claim begins with a policy that `controlled` taught two words, outside of all budgets. Pairs
are right against wrong ones among the gold solution, a near-miss and the policy's own tries (`side_by_side.tries`). On pairs
of your own (`--data`) and a model that follows instructions, say what the prompts are: `--set better=... --set worse=...`.
Leaves out: SimPO under the same term; the paper's words of the two prompts, and its alpha, which we could not read.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.exams.exam import Exam
from guerdon.exams.farming import farmed
from guerdon.exams.step_judging import judged_steps
from guerdon.recipes.house.dpo import dpo
from guerdon.recipes.house.wordings import RIGHT, WRONG
from guerdon.recipes.process.process_claims import STEPS
from guerdon.recipes.process.t_reg.parts import opposite_prompts, spread_by_tokens
from guerdon.rewards.model.reward_models import implicit
from guerdon.rewards.stage.score_stages import score


@recipe(
    "t-reg",
    family="process",
    paper="arXiv:2412.02685",
    claim=Claim(
        says="Preferences whose reward is spread over tokens by two opposite prompts teach more than preferences alone.",
        baseline="dpo",
        ablation="t-reg even=true",
        **{**STEPS, "settings": "prompts=16 lr=1e-5 max_tokens=80 side_by_side.tries=4"},
        start="controlled",
    ),
    on=dpo,
)
def t_reg(
    base: Recipe,
    task: Any,
    *,
    beta: float = 0.1,  # DPO's; the term has the same
    alpha: float = 2.0,  # ours: a token of reward 1/2 is then pushed down in no answer
    better: str = RIGHT,
    worse: str = WRONG,
    weighted: bool = True,  # the paper; without is its ablation
    even: bool = False,  # all tokens of an answer alike: nothing about tokens is left
) -> Recipe:
    """DPO with rewards for tokens that the start model gives under two opposite prompts."""
    (learner,) = base.stages.learners
    learner.loss = learner.loss + spread_by_tokens(alpha, beta, weighted=weighted, even=even)
    if hasattr(task, "first_wrong"):
        lines, implied = opposite_prompts(better, worse, per="line"), implicit(beta=beta, per="line")
        judged = [judged_steps(lines, "prompts"), judged_steps(implied, "implied"), farmed(lines)]
        base.exams.append(Exam(task, judged, env=base.exams[0].env, name="steps", tasks=64))
    return base.but(before={"learn": score(opposite_prompts(better, worse), "token")})
