"""GHPO: GRPO in which problems that no try solves are asked again with the beginning of their reference solution.

Paper: Liu et al. 2025, Guided Hybrid Policy Optimization (arXiv:2507.10628), with the released code (github.com/hkgc-1/GHPO). A
problem all of whose tries are wrong is asked again with the first quarter of its solution, then half, then three quarters,
until a try is right; the last group asked takes the place of the others, and the GRPO loss is that of answers to the question
with its hint. Every try counts in the budget. `how="prompt"` is the paper's: the hint stands in the question, and a quarter is
one of characters. `how="start"` lets the answer begin with it (given tokens, never learned): for models that know their task
and no instructions. `cold` steps may come first in which every problem has the same hint and nothing is detected.
Leaves out: the released configuration's reward for format (with a `reward` of your own, what is solved still goes by `correct`,
as there it goes by accuracy alone). The wording around the hint is ours: `--set hint.template=...`.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.select.filters import at_least
from guerdon.select.hints import hint, hinted, until_solved


@recipe(
    "ghpo",
    family="curriculum",
    paper="arXiv:2507.10628",
    claim=Claim(
        says="Hints where nothing is solved, as long as needed, solve more of a task too hard for the model.",
        method="how=start",
        ablation="ghpo how=start cold=1000000",
        task="countdown:3-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(solutions="hint.solution"),
    helps=("sparse",),
)
def ghpo(
    base: Recipe,
    task: Any,
    *,
    shares: tuple[float, ...] = (0.25, 0.5, 0.75),  # the released code
    how: Literal["prompt", "start"] = "prompt",  # the paper
    solution: str = "solution",  # the column of your own data that holds it; tasks with `solution(task)` need none
    cold: int = 0,  # the released code has none
    cold_share: float = 0.5,  # the released configuration's one hint ratio
) -> Recipe:
    """GRPO with as much of the solution given away as it takes to solve a problem at all."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    clue = hint(task, how=how, solution=solution)
    credit.by, learner.on = "ask", at_least("hint", 0.0)
    if cold:
        base.curriculum = hinted(base.curriculum, clue, cold_share, until=cold)
    return base.but(before={"centre": until_solved(clue, base.stages.scores, shares, after=cold)})
