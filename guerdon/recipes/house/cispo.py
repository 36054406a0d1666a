"""CISPO: every step keeps its gradient, however far it has moved; what is bounded is the weight of that gradient.

Paper: MiniMax 2025, MiniMax-M1 (arXiv:2506.13585). GRPO's advantage, `reweighted` in place of `clipped`, the mean over
steps. The weight is bounded from above alone, as in the paper, which does not say by how much; `high=4` bounds it by 5, as
ScaleRL (arXiv:2510.13786) and TRL's documentation do. The paper makes 16 updates of a batch, four here, for batches are
small; in a single one no weight is bounded.
Leaves out: the dynamic sampling and length penalty that the paper takes over from DAPO (see `dapo`), its stop at long
repetitions, and its full-precision head.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.losses.policy import reweighted
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe("cispo", family="house", paper="arXiv:2506.13585", needs=Needs(answers="reward"))
def cispo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    high: float = 4.0,  # ScaleRL's, a weight of at most 5
    updates: int = 4,  # the paper has 16, of larger batches
    kl: float = 0.0,  # the paper has none
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """GRPO's advantages with a bounded importance weight that no gradient goes through, in place of a clip."""
    stages = scored(task, reward)
    loss = reweighted(high=high)
    stages += [centre(paid(stages)), learn(loss, lr, kl, updates)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
