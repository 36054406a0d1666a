"""PPO for language models: a critic of its own, advantages by GAE, several updates of a batch with a clipped ratio.

Papers: Schulman et al. 2017 (arXiv:1707.06347), in the form of Ouyang et al. 2022 (InstructGPT, arXiv:2203.02155): the
critic is a second model that starts as a copy of the policy with a value head, gamma is 1, lambda 0.95, and each step may
pay the KL to the start model. Answers that were cut short are bootstrapped with the critic's value of where they stopped.
Advantages are whitened over the batch (PPO's reference code whitens each minibatch).
Leaves out: InstructGPT's pretraining loss and its adaptive KL; a critic that shares the policy's trunk; a table, which has
no value head.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, recipe
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.baselines import whiten
from guerdon.losses.critic import value
from guerdon.losses.penalties import kl_cost
from guerdon.losses.policy import clipped
from guerdon.recipes.house.heads import with_head
from guerdon.recipes.house.shared import learn, on_policy, paid, scored


@recipe("ppo", family="house", paper="arXiv:1707.06347", needs=Needs(answers="reward", text=True))
def ppo(
    task: Any,
    model: Model,
    reward: Any = None,
    *,
    prompts: int = 16,
    tries: int = 8,
    lr: float = 2e-5,  # as grpo
    critic_lr: float = 2e-4,  # learning rate of the critic: ten times the policy's, as in verl
    clip: float = 0.2,  # the paper's epsilon
    value_clip: float = 0.0,  # how far the critic may move in an update; 0: anywhere, the paper's; the reference code has 0.2
    kl: float = 0.0,  # of the reward; InstructGPT has 0.02, TRL 0.05
    updates: int = 4,  # InstructGPT has 8, of batches four times as large
    temperature: float = 1.0,
    max_tokens: int = 256,
    steps: int = 100,
) -> Recipe:
    """An actor and a critic: GAE, and several clipped updates of each batch."""
    critic = with_head(model)
    stages = scored(task, reward)
    if kl:
        stages.append(kl_cost(kl, per="step", reward=paid(stages), gives_to="less_kl"))
    error = value(clip=value_clip, old="critic.value")
    stages += [
        gae(paid(stages)),
        whiten(),
        learn(clipped(low=clip, high=clip, mean="step"), lr, updates=updates),
        Learn("critic", error, opt=adam(lr=critic_lr), updates=updates),
    ]
    composition = on_policy(
        task, model, stages, prompts=prompts, tries=tries, temperature=temperature, max_tokens=max_tokens, steps=steps
    )
    composition.models["critic"] = critic
    return composition
