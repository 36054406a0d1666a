"""DUMP: draw more from the kinds of problems whose tries still pull hard on the policy, or that were tried least.

Paper: Wang et al. 2025 (arXiv:2504.09710). GRPO, and before each step the kinds are scored: the mean absolute advantage over
the 300 latest tries at a kind, plus a UCB bonus for having been tried little; problems are drawn with probabilities
softmax(score / 0.1). Where code and paper leave a choice, the code (github.com/ZhentingWang/DUMP): tries are counted, not
problems, over the whole run.
Leaves out: the success counts the code keeps and does not draw by; problems of a kind come in turn, not at random with
repeats; the KL of 0.001 its runs have (`kl=0.001`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.curricula.bandits import bandit, ucb
from guerdon.recipes.house.grpo import grpo


@recipe(
    "dump",
    family="curriculum",
    paper="arXiv:2504.09710",
    claim=Claim(
        says="Drawing kinds of problems by UCB over their mean absolute advantage ends higher than drawing all alike.",
        ablation="dump explore=0",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(kinds=True),
    helps=("uneven-difficulty",),
)
def dump(
    base: Recipe,
    task: Any,
    *,
    window: int = 300,  # the authors' code
    tau: float = 0.1,  # the authors' code
    explore: float = 1.0,  # the paper's bonus as it stands
    tries: int = 8,
) -> Recipe:
    """GRPO on kinds of problems drawn by UCB over their mean absolute advantage."""
    base.curriculum = bandit(task, ucb(window=window, tau=tau, explore=explore), tries=tries)
    return base
