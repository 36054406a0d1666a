"""SwS: what stays unsolved in a first phase says of which kinds new problems are made for the second.

Paper: Liang et al. 2025, Self-aware Weakness-driven Problem Synthesis (arXiv:2506.08989). GRPO goes through a set of problems a
few times; those that are never solved by half of the tries and do not get better are its weaknesses. New problems are made of
each category in proportion to the share of its problems that are weak, kept where the policy's accuracy lies in [0.25, 0.75],
and trained on together with the set. Categories are kinds of problems, here levels. The tries that sort new problems count in
the budget. Problems with a slope of exactly 0 count as weak, or those never solved would not.
Otherwise than in the released code (github.com/MasterVito/SwS), the second phase goes on with the policy of the first, where
that begins with the base again, and learns from all groups, where that drops those with a rate outside of [0.125, 0.875].
Leaves out: the strong model that writes problems from recombined notions of the weak ones (here the task's generator makes
them, of the kind and not of a notion), and those that check them (generated problems have exact answers). Where a generator is
at hand one would train on its problems from the start: the set of `size` stands for data that are scarce.
"""

from __future__ import annotations

from typing import Any, Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Claim, Recipe, recipe
from guerdon.recipes.curriculum.sws.parts import weakness
from guerdon.recipes.house.grpo import grpo


@recipe(
    "sws",
    family="curriculum",
    paper="arXiv:2506.08989",
    claim=Claim(
        says="New problems of the kinds where the policy stays weak, as hard as it can use, beat going on with the set.",
        baseline="sws candidates=0",
        ablation="sws by=even",
        task="countdown:1-6",
        settings="prompts=16 tries=8 lr=5e-5 max_tokens=64",
    ),
    on=grpo,
    needs=Needs(endless="candidates"),
    helps=("uneven-difficulty", "few-labels"),
)
def sws(
    base: Recipe,
    task: Any,
    *,
    tries: int = 8,
    size: int = 96,  # problems of the first phase; ours, as are the next two
    epochs: int = 3,
    candidates: int = 128,
    low: float = 0.25,  # the paper's
    high: float = 0.75,  # the paper's
    by: Literal["failure", "even"] = "failure",
) -> Recipe:
    """GRPO on a set, then also on new problems of the kinds that stay unsolved."""
    base.curriculum = weakness(task, base.stages.scores, tries, size, epochs, candidates, (low, high), by)
    return base
