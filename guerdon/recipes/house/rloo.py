"""RLOO: plain REINFORCE on whole answers, the mean of the other tries as baseline.

Paper: Ahmadian et al. 2024 (arXiv:2402.14740). `centre(std=False, others=True)`, and the KL to the start model as a cost
of the whole answer in its reward. The gradient is that of the answer's log-prob: with one update a batch every ratio is 1,
`clipped` clips nothing, and `mean="constant"` adds up over steps (over the longest length, which only scales it).
Leaves out: nothing of the algorithm. TRL's trainer goes on to several updates with a clipped ratio of whole answers.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.losses.penalties import kl_cost
from guerdon.losses.policy import clipped
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe("rloo", family="house", paper="arXiv:2402.14740", needs=Needs(answers="reward"), helps=("noisy-judge",))
def rloo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    kl: float = 0.0,  # of the reward; TRL has 0.05
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """REINFORCE with a leave-one-out baseline, the KL a cost in the reward."""
    stages = scored(task, reward)
    if kl:
        stages.append(kl_cost(kl, reward=paid(stages), gives_to="less_kl"))
    loss = clipped(mean="constant", constant=max_tokens)
    stages += [centre(paid(stages), std=False, others=True), learn(loss, lr)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
