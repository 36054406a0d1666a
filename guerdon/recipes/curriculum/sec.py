"""SEC: a bandit over kinds of problems whose values follow the mean absolute advantage, step by step.

Paper: Chen et al. 2025, Self-Evolving Curriculum (arXiv:2505.14970). GRPO, and for every kind a value that moves half way to
the mean absolute advantage of the tries at it, after each step that has some (TD(0)); problems are drawn with probabilities
softmax(value / tau). `tau=1` is what the authors' scripts run Countdown with; mathematics has 0.4, several families of puzzles
together 0.2.
Otherwise than in the released code, a kind of which no problem was drawn keeps its value; there it falls half way to 0.
Leaves out: test problems harder than any trained on, which the paper ends with: here all levels are drawn from, and the hard
ones are judged; the paper's runs with other learners (`bandit` fits any recipe that gives an advantage).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.curricula.bandits import bandit, boltzmann
from guerdon.recipes.house.grpo import grpo


@recipe(
    "sec",
    family="curriculum",
    paper="arXiv:2505.14970",
    claim=Claim(
        says="Drawing kinds of problems by a learned value of their absolute advantage solves more of the hard ones.",
        ablation="sec alpha=1",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
        levels=(4, 5, 6),
    ),
    on=grpo,
    needs=Needs(kinds=True),
    helps=("uneven-difficulty",),
)
def sec(
    base: Recipe,
    task: Any,
    *,
    alpha: float = 0.5,  # the authors' scripts, all of them
    tau: float = 1.0,  # the authors' Countdown
    tries: int = 8,
) -> Recipe:
    """GRPO on kinds of problems drawn by a Boltzmann bandit over their absolute advantage."""
    base.curriculum = bandit(task, boltzmann(alpha=alpha, tau=tau), tries=tries)
    return base
