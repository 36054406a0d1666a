"""PPO for control: worlds in lock step, advantages by GAE, minibatches of single steps, several epochs.

Paper: Schulman et al. 2017 (arXiv:1707.06347), section 6.1 and table 3; settings that the paper does not name are those of
stable-baselines3's PPO (stable_baselines3/ppo/ppo.py, 2.9.2), with which loss and gradient are compared on equal weights and
minibatches. The worlds never stop: a step of the run takes `horizon` env steps of each, an episode that is in its middle
continues in the next, and its rest is estimated by the critic. Where an environment says `truncated` the last view is
bootstrapped, where it says `terminated` nothing comes after.
Different: advantages are whitened over the batch, where stable-baselines3 does it in each minibatch.
Leaves out: running means of observations and rewards; frames as pictures; memory.
"""

from __future__ import annotations

from typing import Any

from guerdon.core.learn import Learn
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Sampling
from guerdon.core.user_file import find_in_file
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.baselines import whiten
from guerdon.exams.episode_statistics import episode_returns
from guerdon.exams.exam import Exam
from guerdon.losses.critic import value
from guerdon.losses.penalties import entropy
from guerdon.losses.policy import clipped
from guerdon.models.control import mlp
from guerdon.rewards.stage.placing import paid
from guerdon.worlds.lock_step import gym
from guerdon.worlds.sources import episodes, streams


@recipe("ppo_control", family="house", paper="arXiv:1707.06347", needs=Needs(world="the environment that --env names"))
def ppo_control(
    reward: Any = None,  # of env steps, in the environment's place: FILE.py:NAME of a function, or a gd.worlds.step_reward
    *,
    env: Any = "CartPole-v1",  # a Gymnasium id, a world of ours, FILE.py:NAME of a function that makes one, or such a function
    worlds: int = 8,  # table 5 of the paper; with the horizon, the 2,048 env steps of table 3
    horizon: int = 256,  # env steps of each world in a step
    minibatch: int = 64,  # table 3
    epochs: int = 10,  # table 3
    lr: Any = 3e-4,  # table 3
    gamma: float = 0.99,  # table 3
    lam: float = 0.95,  # table 3
    clip: float = 0.2,  # table 1
    value_weight: float = 0.5,  # stable-baselines3: of the squared error
    entropy_weight: float = 0.0,  # table 3 has none
    max_norm: float = 0.5,  # stable-baselines3: of the gradient
    hidden: tuple[int, ...] = (64, 64),  # section 6.1
    limit: int = 0,  # steps of an episode; 0: the environment's own bound
    exam: int = 32,  # held-out episodes of an evaluation
    steps: int = 50,  # 102,400 env steps
) -> Recipe:
    """PPO in an environment of Gymnasium's kind, with an actor and a critic of two nets."""
    made = find_in_file(env, "environment") if isinstance(env, str) and ".py:" in env else env
    place = gym(made, at_once=worlds, limit=limit, reward=reward)
    world = place.opened()
    actor = mlp(world.views.size, world.actions.choices, world.actions.moves, hidden)
    loss = clipped(low=clip, high=clip, mean="step") + value(weight=value_weight)
    if entropy_weight:
        loss = loss + entropy(entropy_weight, mean="step")
    learn = Learn(
        "policy",
        loss,
        opt=adam(lr=lr, eps=1e-5),  # stable-baselines3's eps
        epochs=epochs,
        updates=max(1, worlds * horizon // minibatch),
        clip=max_norm,
        mix="step",
    )
    return Recipe(
        models={"policy": actor},
        curriculum=streams(made, horizon),
        env=place,
        stages=[paid(), gae("reward_steps", critic="policy", gamma=gamma, lam=lam), whiten(), learn],
        exams=[
            Exam(episodes(made), metrics=[episode_returns()], sampling=Sampling(temperature=0.0), tasks=exam, tries=1)
        ],
        prompts=worlds,
        steps=steps,
    )
