"""A picture in the prompt: which corner of it is bright? The picture is an array in the view; the answer is checked as ever."""

from __future__ import annotations

import numpy as np
from nets import chooser

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.core.seeds import derive
from guerdon.credit.group_relative import centre
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.losses.policy import clipped
from guerdon.rewards.stage.score_stages import verified


@gd.part
class corners:
    """Pictures of 4 x 4 noisy grey with one bright corner."""

    tries: int = 4
    name = "corners"

    def ask(self, seed, n):
        dice = np.random.default_rng(seed)
        corner = int(dice.integers(4))
        picture = dice.integers(0, 140, (4, 4)).astype(np.uint8)
        picture[2 * (corner // 2) :, 2 * (corner % 2) :][:2, :2] += 100
        return gd.Ask(gd.Task(str(seed), "", str(corner), "corners"), n, view=[picture, "which corner is bright?"])

    def draw(self, n, play):
        return [self.ask(derive(play.seed, play.step, i), self.tries) for i in range(n)]

    def exam_asks(self, number, tries, play):
        return [self.ask(i, tries) for i in range(number)]

    def check(self, task, completion):
        return float(completion == task.answer)


@gd.recipe("seeing", family="vision")
def seeing(lr: float = 0.03, steps: int = 25):
    """GRPO on pictures."""
    source = corners()
    stages = [verified(source), centre("correct"), gd.Learn("policy", clipped(), opt=adam(lr=lr))]
    model = chooser(16, 4, scale=255.0)
    return gd.Recipe({"policy": model}, source, single_turn(), stages, exams=[Exam(source)], prompts=32, steps=steps)
