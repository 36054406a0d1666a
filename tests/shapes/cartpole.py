"""PPO (arXiv:1707.06347) in a Gymnasium environment: a turn is an action, episodes that are cut short are bootstrapped."""

from __future__ import annotations

import gymnasium
from nets import chooser

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.credit.advantage_estimation import gae
from guerdon.credit.baselines import whiten
from guerdon.losses.critic import value
from guerdon.losses.policy import clipped
from guerdon.rewards.stage.placing import paid


@gd.part
class gym:
    """Any Gymnasium environment with discrete actions; its dice are the episode's."""

    name: str = "CartPole-v1"
    limit: int = 60
    roles = ("policy",)

    async def play(self, ask, seats):
        world = gymnasium.make(self.name, max_episode_steps=self.limit)
        seen, _ = world.reset(seed=seats.seed % 2**31)
        over = cut = False
        while not (over or cut):
            said = await seats["policy"].act(seen)
            seen, pay, over, cut, _ = world.step(int(said.actions[0]))
            seats.reward(policy=float(pay))
        if not over:
            seats.cut(policy=seen)
        return seats.episode(cut=bool(cut and not over))


@gd.part
class episodes:
    """The same thing to do every time."""

    def draw(self, n, play):
        return [gd.Ask(gd.Task("balance", "", family="cartpole"), n)]


@gd.recipe("cartpole", family="control", paper="arXiv:1707.06347")
def cartpole(lr: float = 0.02, steps: int = 12):
    """Minibatches of steps, not of episodes, and a critic that shares the policy's layer."""
    loss = clipped(mean="step") + value(weight=0.5)
    learn = gd.Learn("policy", loss, opt=adam(lr=lr), epochs=4, updates=4, mix="step")
    stages = [paid(), gae("reward_steps", critic="policy", gamma=0.98), whiten(), learn]
    return gd.Recipe({"policy": chooser(4, 2)}, episodes(), gym(), stages, prompts=16, steps=steps)
