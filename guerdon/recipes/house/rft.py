"""RFT: imitate one's own right answers, each once.

Paper: Yuan et al. 2023, rejection sampling fine-tuning (arXiv:2308.01825). Right tries are kept, those that are told in the
same words once, and learned as text. Done over and over with the policy as it is now (expert iteration, as in STaR and
ReST), where the paper samples once and fine-tunes the model it began with.
Leaves out: the paper's test for the same reasoning (equal lists of equations; here equal tokens), its mixing with the
supervised data, and samples of several models.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.imitation import sft
from guerdon.recipes.house.shared import learn, on_policy, paid, scored
from guerdon.select.filters import at_least, distinct, in_turn


@recipe("rft", family="house", paper="arXiv:2308.01825", needs=Needs(answers="reward"))
def rft(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    least: float = 1.0,  # the least score of a try that is kept: right answers alone
    updates: int = 1,
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """Rejection-sampling fine-tuning: keep the right tries, drop repeats, imitate what is left."""
    stages = scored(task, reward)
    kept = in_turn([at_least(paid(stages), least), distinct()])
    return on_policy(
        task,
        model,
        [*stages, learn(sft(), lr, updates=updates, on=kept)],
        prompts=prompts,
        tries=tries,
        temperature=temperature,
        max_tokens=max_tokens,
        steps=steps,
    )
