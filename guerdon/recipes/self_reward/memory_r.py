"""Memory-R+: a try also earns how like it is to right tries that are remembered, and how unlike wrong ones.

Paper: Le et al. 2025, memory-augmented RL for models under 1 billion weights (arXiv:2504.02273); code: thaihungle/Memory-R at
a193f4f6, rewards/ir_knn_st.py and run_gsm8k.py, lines 137-170 and 209-217. Where hardly any try is right, these two rewards
still differ within a group: exploit = 1 - mm(distance to the centroid of the right tries at the k nearest prompts), explore =
mm(1 - greatest cosine to the wrong ones there), the latter once 500 prompts have had a wrong try; mm puts each between the
least and the greatest of recent ones. Both are added to the reward and to that for the format (`remembered_likeness`).
Different: texts are vectors of hashed n-grams in place of all-MiniLM-L6-v2; whole completions are compared, not what stands
between the tags of reasoning; all tries of a step are remembered before any is rated, where the code goes one by one; without a
try to compare with, or a spread of distances, nothing is added, where the code adds 0 or the distance itself. Leaves out: the
code's rewards for counted tags and for an answer of digits.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.shared import paid_by, worth
from guerdon.rewards.formula.algebra import blend
from guerdon.rewards.memory.likeness import remembered_likeness
from guerdon.rewards.stage.score_stages import checker
from guerdon.rewards.text.shape import has_format


@recipe(
    "memory-r",
    family="self_reward",
    paper="arXiv:2504.02273",
    on=grpo,
    needs=Needs(answers=True, text=True),
    helps=("sparse",),
)
def memory_r(
    base: Recipe,
    task: Any,
    reward: Any = None,
    *,
    exploit: float = 1.0,  # weight of likeness to right tries; the released code, as for the next
    explore: float = 1.0,  # weight of unlikeness to wrong ones
    k: int = 1,  # nearest prompts whose tries are compared; the code's commands
    window: int = 100,  # recent distances that say what is near and far; the released code
    wait: int = 500,  # prompts with a wrong try before any is unlike them; the released code
    tags: str = "",  # a template of has_format, <reasoning>..</reasoning><answer>..</answer> in the released code
    formed: float = 0.5,  # what the tags are worth, where there are any; the released code
) -> Recipe:
    """GRPO with rewards for being like remembered right tries and unlike wrong ones."""
    right = checker(task)
    terms: dict[str, Any] = {"outcome": right if reward is None else worth(task, reward)}
    if tags:
        terms["format"] = has_format(tags).weight(formed)
    terms["exploit"] = remembered_likeness(right, "right", k, window).weight(exploit)
    terms["explore"] = remembered_likeness(right, "wrong", k, window, wait).weight(explore)
    return paid_by(base, blend(**terms))
