"""ReMax: REINFORCE with the greedy answer's reward as baseline.

Paper: Li et al. 2023 (arXiv:2310.10505). `greedy_baseline` plays every prompt once more at temperature 0, which counts in
the run's budget like any other try; the gradient is that of the answer's log-prob (one update a batch, `mean="constant"`,
over the longest length, which only scales it).
Leaves out: the KL cost of each step in the reward; `kl` is the term in the loss instead. The paper has one try a prompt:
`prompts=64, tries=1` spends what 16 prompts of 7 tries and a greedy one do.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.restart_values import greedy_baseline
from guerdon.losses.policy import clipped
from guerdon.recipes.house.shared import learn, on_policy, scored


@recipe("remax", family="house", paper="arXiv:2310.10505", needs=Needs(answers="reward"))
def remax(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 7,  # and a greedy one: eight answers a prompt, as the group methods have
    lr: float = 2e-5,  # as grpo
    kl: float = 0.0,  # in the loss
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """REINFORCE against the reward of the greedy answer to the same prompt."""
    stages = scored(task, reward)
    loss = clipped(mean="constant", constant=max_tokens)
    stages += [greedy_baseline(stages[-1]), learn(loss, lr, kl)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
