"""REINFORCE++: PPO's clip and per-step KL without a critic; advantages are returns, normalised over the whole batch.

Paper: Hu et al. 2025 (arXiv:2501.03262). Each step pays the KL to the start model, the last one earns the reward; an
advantage is what is still to come, whitened over all steps of the batch. With `baseline` it is the paper's REINFORCE++
-Baseline: the reward less its group's mean, whitened, and the KL (its k2 estimate) a term of the loss.
Leaves out: the clip of rewards and of advantages in OpenRLHF's code. The paper's first form has one try a prompt, which
is `prompts=128, tries=1` here; the baseline needs several.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.baselines import whiten
from guerdon.credit.group_relative import centre
from guerdon.credit.returns import reward_to_go
from guerdon.losses.penalties import kl as divergence
from guerdon.losses.penalties import kl_cost
from guerdon.losses.policy import clipped
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe("reinforce_pp", family="house", paper="arXiv:2501.03262", needs=Needs(answers="reward"), helps=("noisy-judge",))
def reinforce_pp(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    clip: float = 0.2,  # PPO's
    kl: float = 0.01,  # OpenRLHF's
    baseline: bool = False,  # take the group's mean off first
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """REINFORCE with a KL cost at each step, advantages whitened over the batch and PPO's clip."""
    stages, loss = scored(task, reward), clipped(low=clip, high=clip, mean="step")
    if baseline:
        stages += [centre(paid(stages), std=False), whiten()]
        stages.append(learn(loss + divergence(kl, kind="k2", mean="step") if kl else loss, lr))
    else:
        if kl:
            stages.append(kl_cost(kl, per="step", reward=paid(stages), gives_to="less_kl"))
        stages += [reward_to_go(paid(stages)), whiten("return"), learn(loss, lr)]
    return on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
