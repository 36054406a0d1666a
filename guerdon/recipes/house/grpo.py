"""GRPO: rewards compared inside the group of tries at one prompt, and a clipped policy gradient.

Paper: Shao et al., DeepSeekMath (arXiv:2402.03300). Follows the paper's outcome-supervision form: advantage is the
group-standardised reward, each track weighs the same, ratio clipped per step, k3 KL to the start model inside the loss.
Leaves out: the paper's iterative reward-model refresh and its process-supervision variant.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.group_relative import centre
from guerdon.losses.policy import clipped
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe("grpo", family="house", paper="arXiv:2402.03300", needs=Needs(answers="reward"))
def grpo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # found on sprig; larger models want less, a table wants 0.3
    clip: float = 0.2,  # the paper's epsilon
    kl: float = 0.0,  # the paper has 0.04; later practice (DAPO, Dr. GRPO) drops it
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """Group-relative policy optimisation: centre rewards by task, divide by their spread, clip the ratio."""
    stages = scored(task, reward)
    stages += [centre(paid(stages)), learn(clipped(low=clip, high=clip), lr, kl)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
