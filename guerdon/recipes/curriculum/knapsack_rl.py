"""Knapsack RL: GRPO whose tries are shared out among the problems of a step by what a try at each is worth.

Paper: Li et al. 2025, Knapsack RL (arXiv:2509.25849), and the authors' code (github.com/liziniu/KnapsackRL). A step's
`prompts` times `tries` tries go where they are most likely to differ and to help, by each problem's success rate when it last
came (`curricula/tries_by_worth.py` has the formula and the cases at 0, at 1 and unseen).
Nothing else of GRPO changes: rewards are compared within a problem's own tries, however many.
As in that code every token weighs the same (`mean="step"`), so a problem weighs as its tries do.
Leaves out: the code's bound of 5 on advantages (reached by the one right among 27 or more), its clip upwards of 0.28 and its
8 updates of a batch (with one, as here, nothing is clipped).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.part import set_knob
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.curricula.tries_by_worth import knapsack
from guerdon.recipes.house.grpo import grpo


@recipe(
    "knapsack-rl",
    family="curriculum",
    paper="arXiv:2509.25849",
    claim=Claim(
        says="Sharing tries out by a knapsack over success rates ends higher than as many tries for every problem.",
        baseline="grpo clipped.mean=step",
        ablation="knapsack-rl gain=false",
        task="countdown:1-6@256",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    helps=("sparse", "uneven-difficulty"),
)
def knapsack_rl(
    base: Recipe,
    task: Any,
    *,
    least: int = 2,  # the authors' script
    most: int = 128,  # the authors' script
    gain: bool = True,
    tries: int = 8,  # on average; the authors' script
) -> Recipe:
    """GRPO with as many tries at each problem as its success rate makes worthwhile."""
    set_knob(base, "clipped.mean", "step")  # the authors' script
    base.curriculum = knapsack(task, tries, least, most, gain=gain)
    return base
