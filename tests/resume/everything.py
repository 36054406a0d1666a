"""A recipe with every kind of state a run can have: two models, a moving snapshot, schedules, several updates a step,
a curriculum that shuffles, a baseline that remembers, randomness drawn from the global generators."""

from __future__ import annotations

import random

import torch

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.core.schedule import linear, warmup
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import single_turn
from guerdon.losses.penalties import entropy, kl
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.stage.score_stages import score, verified


@gd.part
class letters:
    """Ten prompts, one digit each."""

    name = "letters"

    def size(self, split):
        return 10

    def get(self, split, index):
        return gd.Task(str(index), f"digit {index}", str(index), family="letters")

    def check(self, task, completion):
        return float(completion == task.answer)


def noisy(completion, answer):
    """Right or wrong, with noise from the global generator: repeatable only because every step seeds it."""
    return float(completion == answer) + 0.01 * random.random()


@gd.part
class remembered:
    """Advantage against a running mean per task, kept as a tensor and as numbers."""

    sums: object = gd.state(factory=lambda: torch.zeros(10))
    seen: dict = gd.state(factory=dict)
    needs, gives = ("reward",), ("advantage",)

    def __call__(self, batch, play):
        reward = batch.cols["reward"]
        task = torch.tensor([int(batch.episodes[e].task.id) for e in batch.episode[batch.leaf].tolist()])
        base = self.sums[task] / torch.tensor([max(1, self.seen.get(str(int(t)), 0)) for t in task])
        for t, r in zip(task.tolist(), reward.value.tolist(), strict=True):
            self.sums[t] += r
            self.seen[str(t)] = self.seen.get(str(t), 0) + 1
        return batch.put("advantage", "step", batch.down(reward.value - base, "track"), because=reward)


@gd.recipe("everything")
def everything(steps: int = 60):
    """All of it at once."""
    lr = warmup(linear(0.2, 0.02), over=5)
    loss = clipped() + kl(0.01, to="lately") + entropy(0.01)
    learn = gd.Learn("policy", loss, opt=adam(lr=lr), epochs=2, updates=2, micro=32)
    models = {"policy": tabular(), "lately": snapshot("policy", every=7)}
    stages = [verified(letters()), score(noisy), remembered(), learn]
    how = gd.Sampling(max_tokens=3)
    return gd.Recipe(
        models,
        uniform(letters(), tries=4),
        single_turn(),
        stages,
        sampling=how,
        exams=[gd.Exam(letters())],
        prompts=7,
        steps=steps,
    )
