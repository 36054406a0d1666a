"""HBPO: the tries at a problem in groups with different token budgets, compared inside each group and across them.

Paper: Lyu et al. 2025 (arXiv:2507.15844), with the released code (github.com/zju-real/hbpo). A right answer is worth what
`within_budget` says, a wrong one 0. Advantage = (reward - mean) / spread over all tries at the problem + (mean
of its group - what its budget promises); the released code adds that last term twice, the paper's algorithm once. Budgets are
shares of the longest answer allowed, and said in the prompt: in a sentence, or, to models that know no instructions such as
sprig, as a number before the problem, whose meaning they learn by reward alone. With `announce=nothing` groups cannot be told
apart. The exam asks as training does, each problem under one of the budgets in turn. The claim's baseline is the paper's, the
mean of the four for all.
Leaves out: budgets said after <think> by the model itself, -1 for answers that cannot be read, a clip of 0.28 upwards.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.credit.mix import mixed
from guerdon.curricula.token_budgets import NUMBER, budgeted
from guerdon.exams.exam import Exam
from guerdon.recipes.curriculum.hbpo.parts import below_promise, budget_told
from guerdon.recipes.curriculum.length_claims import LONG, SHORTER
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import worth
from guerdon.rewards.stage.score_stages import score
from guerdon.rewards.text.length_budgets import promise, within_budget


@recipe(
    "hbpo",
    family="curriculum",
    paper="arXiv:2507.15844",
    claim=(
        Claim(
            says="Groups with different token budgets solve more than all tries under the mean of them.",
            baseline="hbpo announce=number shares=[0.375]",
            ablation="hbpo announce=number intra=0",
            method="announce=number",
            **LONG,
        ),
        Claim(
            says="Groups with different token budgets leave shorter answers than GRPO, and as many right ones.",
            method="announce=number",
            **SHORTER,
        ),
    ),
    on=grpo,
)
def hbpo(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    shares: tuple[float, ...] = (0.125, 0.25, 0.5, 0.625),  # the paper's 512, 1,024, 2,048 and 2,560 of 4,096
    intra: float = 1.0,  # the paper's weight of the term within a group
    announce: Literal["sentence", "number", "nothing"] = "sentence",
) -> Recipe:
    """GRPO with several token budgets for each problem, and a reward that fits each."""
    limit = base.sampling.max_tokens
    fitting = within_budget(limit)
    marks = [score(fitting.gated_by(worth(task, reward))), score(promise(fitting), "promised")]
    credit = [centre("reward", gives_to="across"), below_promise(), mixed(("across", "shortfall"), (1.0, intra))]
    truth, *_ = base.stages.scores
    base.stages = [truth, *marks, *credit, *base.stages.learners]
    line = {"sentence": "{prompt}\nAnswer within {budget} tokens.", "number": NUMBER, "nothing": ""}
    budgets = tuple(share * limit for share in shares)
    base.curriculum = budgeted(base.curriculum, budgets, line[announce])
    if announce != "nothing":
        base.exams = [Exam(budget_told(task, budgets, line[announce]))]
    return base
