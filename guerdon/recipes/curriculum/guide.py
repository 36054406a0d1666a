"""Guide: GRPO in which problems that no try solves are asked again with a hint, and learned as if there had been none.

Paper: Nath et al. 2025, Adaptive Guidance Accelerates Reinforcement Learning of Reasoning Models (arXiv:2506.13923), with the
released code (github.com/vaskar-open-source-research/guide_rl). A problem all of whose tries are wrong is asked again with a
hint; the group with the hint takes the other's place, its tries are compared among themselves, and each is learned as an answer
to the question alone, by the ratio pi(o_t | q, o_<t) / pi_old(o_t | q, hint, o_<t) in the clipped objective. Every try counts
in the budget. `how="prompt"` is the paper's: the hint stands in the question. `how="start"` lets the answer begin with it,
for models that follow no instructions (sprig solves hard problems no more often with a hint in its question, and up to always
with one in its mouth): what was given then counts as said with probability 1, so that its ratio is the policy's own
probability. `corrected=False` takes the ratio to the policy that saw no hint, as if it had sampled the answers.
Leaves out: hints that a stronger model writes (here the first `share` of the reference solution); the released code's shaping
of hinted ratios, r / (r + their 0.9 quantile) without a clip, and its leaving out of groups without spread; the PPO variant.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.select.filters import at_least
from guerdon.select.hints import hint, unhinted, until_solved


@recipe(
    "guide",
    family="curriculum",
    paper="arXiv:2506.13923",
    claim=Claim(
        says="Hints only where every try fails, learned as if there were none, solve more of a task too hard for the model.",
        method="how=start",
        ablation="guide how=start corrected=false",
        task="countdown:3-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(solutions="solution|hint.solution", one_turn="how"),
    helps=("sparse",),
)
def guide(
    base: Recipe,
    task: Any,
    *,
    share: float = 0.5,  # ours: the paper's hint is one text, whatever its length
    how: Literal["prompt", "start"] = "prompt",  # the paper
    solution: str = "solution",  # the column of your own data that holds it; tasks with `solution(task)` need none
    corrected: bool = True,  # the paper
) -> Recipe:
    """GRPO with a hint where nothing is solved, and the ratio to the question without it."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    again = until_solved(hint(task, how=how, solution=solution), base.stages.scores, (share,))
    credit.by, learner.on = "ask", at_least("hint", 0.0)
    return base.but(before={"centre": [again, unhinted(corrected)]})
