"""Online DPO: pairs made of the policy's own tries as it goes, the better one told by a reward.

Paper: Guo et al. 2024, direct alignment from online AI feedback (arXiv:2402.04792). Follows it but for who compares: there
a language model says which of two tries is better, here any reward orders `tries` of them and the best stands against the
worst (a judge is a reward too). Leaves out: the paper's IPO and SLiC forms, which are `--set dpo.link=square` and `hinge`.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.pair import dpo
from guerdon.recipes.house.shared import learn, on_policy, paid, scored
from guerdon.select.pairs import paired


@recipe("online_dpo", family="house", paper="arXiv:2402.04792", needs=Needs(answers="reward"))
def online_dpo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,  # the paper has 2; a checker calls most twos equal, and they teach nothing
    least: float = 0.0,  # the smallest difference of rewards that makes a pair
    beta: float = 0.1,  # DPO's
    lr: float = 2e-5,  # as grpo
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """Online direct preference optimisation: of each prompt's tries the best against the worst."""
    stages = scored(task, reward)
    stages += [paired(paid(stages), least=least), learn(dpo(beta=beta), lr)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
