"""SPIRAL (arXiv:2506.24119) on Kuhn poker: one table plays both roles; a running baseline per role steadies it.

Its exams are games against the table it began as, one from each seat.
"""

from __future__ import annotations

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.exams.rewards_given import seat_exams
from guerdon.losses.penalties import entropy as bonus
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.rewards.stage.placing import paid


@gd.part
class deals:
    """The six deals of a three-card deck, in turn."""

    tries: int = 16

    def draw(self, n, play):
        hands = [(a, b) for a in range(3) for b in range(3) if a != b]
        return [gd.Ask(gd.Task(f"{a}{b}", "", family="kuhn", meta={"hands": [a, b]}), self.tries) for a, b in hands[:n]]

    def exam_asks(self, tasks, tries, play):
        return [ask.but(n=tries) for ask in self.draw(tasks, play)]


@gd.part
class kuhn:
    """Pass or bet; first may answer a bet after passing. Each role sees its own card and what was done."""

    roles = ("first", "second")

    async def play(self, ask, seats):
        first, second = ask.task.meta["hands"]
        done = (await seats["first"].act(f"first {first}")).text
        done += (await seats["second"].act(f"second {second} {done}")).text
        if done == "pb":
            done += (await seats["first"].act("pb")).text
        if done.endswith("bp"):  # a bet nobody called
            won = -1.0 if done == "pbp" else 1.0
        else:
            won = (2.0 if done.endswith("bb") else 1.0) * (1 if first > second else -1)
        seats.reward(first=won, second=-won)
        return seats.episode(moves=done)


@gd.part
class role_baseline:
    """RAE: advantage = reward minus an exponential mean of the rewards of that game and role."""

    decay: float = gd.knob(default=0.95, ge=0.0, le=1.0)
    mean: dict = gd.state(factory=dict)
    needs, gives = ("reward",), ("advantage",)

    def __call__(self, batch, play):
        reward = batch.cols["reward"]
        base = reward.value.clone()
        for i, role in enumerate(batch.roles):
            mine = batch.role_K == i
            seen = self.mean.get(f"kuhn/{role}", 0.0)
            self.mean[f"kuhn/{role}"] = self.decay * seen + (1 - self.decay) * float(reward.value[mine].nanmean())
            base[mine] = self.mean[f"kuhn/{role}"]
        return batch.put("advantage", "step", batch.down(reward.value - base, "track"), because=reward)


@gd.recipe("spiral", family="self_play", paper="arXiv:2506.24119")
def spiral(lr: float = 0.05, entropy: float = 0.1, steps: int = 300):
    """Zero-sum self-play of one policy in both seats, with role-conditioned advantages."""
    learn = gd.Learn("policy", clipped(mean="step") + bonus(entropy, mean="step"), opt=adam(lr=lr))
    seats = {"first": "policy", "second": "policy"}
    model = tabular("pb", length=1)
    models, stages = {"policy": model, "start": snapshot("policy")}, [paid(), role_baseline(), learn]
    exams = seat_exams("start", deals(), kuhn(), tries=64)
    return gd.Recipe(models, deals(), kuhn(), stages, seats, exams=exams, prompts=6, steps=steps)
