"""GSPO: GRPO with one ratio for a whole answer in place of one for each step.

Paper: Zheng et al. 2025 (arXiv:2507.18071). GRPO but for `clipped(ratio="track")`, whose ratio is the geometric mean of
the steps' ratios, and bounds that fit so small a number. The batch is learned from in four updates, as in the paper: in
one alone every ratio is 1 and this is GRPO.
Leaves out: GSPO-token, which lets advantages differ within an answer.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.losses.policy import clipped
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe("gspo", family="house", paper="arXiv:2507.18071", needs=Needs(answers="reward"))
def gspo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    low: float = 3e-4,  # the paper's
    high: float = 4e-4,  # the paper's
    updates: int = 4,  # the paper's
    kl: float = 0.0,  # the paper's objective leaves it out
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """GRPO with the ratio, and so the clip, of whole answers."""
    stages = scored(task, reward)
    loss = clipped(low=low, high=high, ratio="track")
    stages += [centre(paid(stages)), learn(loss, lr, kl, updates)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
