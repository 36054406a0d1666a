"""Dr. GRPO: GRPO without its two biases, the division by the group's spread and the one by the answer's length.

Paper: Liu et al. 2025 (arXiv:2503.20783). GRPO but for `centre(std=False)` and `clipped(mean="constant")`: a sum over
steps, over tracks times the longest length allowed, which is the constant of the authors' code. Its mean over the group
has the own reward in it, which shrinks the gradient by 1 - 1/tries as the paper says; `rloo` has not.
Leaves out: nothing of the algorithm; the paper's templates and base models are not part of it.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.losses.policy import clipped
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe(
    "dr_grpo",
    family="house",
    paper="arXiv:2503.20783",
    needs=Needs(answers="reward"),
    helps=("noisy-judge", "long-answers"),
)
def dr_grpo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    clip: float = 0.2,  # the authors' code
    kl: float = 0.0,  # the paper drops it
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """GRPO without dividing by the group's spread or by an answer's length."""
    stages = scored(task, reward)
    loss = clipped(low=clip, high=clip, mean="constant", constant=max_tokens)
    stages += [centre(paid(stages), std=False), learn(loss, lr, kl)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
