"""MM-UPT: GRPO whose right answer is the one that most of a problem's tries give.

Paper: Wei et al. 2025, unsupervised post-training via GRPO (arXiv:2505.22453), here as text; code: waltonfuture/MM-UPT,
verl/workers/reward/function.py, lines 148-163. A try is paid 1 if its answer is its group's most frequent one, else 0; the rest
is GRPO. Of answers with equally many votes the code takes the first that was said; here each of m such answers is paid 1/m, so
the order of tries changes nothing. A vote amplifies what a model believes already, right or wrong: it helps where the majority
is right more often than a single try is. The truth, where a task knows it, is logged and not learned from.
Leaves out: pictures, and problems that the model writes itself.
"""

from __future__ import annotations

from typing import Literal

from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by
from guerdon.rewards.text.agreement import majority


@recipe(
    "mm-upt",
    family="self_reward",
    paper="arXiv:2505.22453",
    on=grpo,
    needs=Needs(answers=False, learns_from="the votes of its own tries"),
    helps=("few-labels",),
)
def mm_upt(
    base: Recipe,
    *,
    votes: Literal["number", "text"] = "number",  # what tries are compared by: their last number, or their whole answer
    share: bool = False,  # pay the share of the votes in place of 1 for the majority; ours
) -> Recipe:
    """GRPO on the answer that most tries at a problem give."""
    return paid_by(base, majority(answer=votes, share=share))
