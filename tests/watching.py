"""Small runs that tests look into: what they are of, and a run of the loop that keeps all it made in memory."""

from __future__ import annotations

import guerdon as gd
from guerdon.training.loop import start
from guerdon.training.loop import steps as loop_steps
from guerdon.training.rollouts import Rollouts

TABLE = {"tabular.vocab": "01", "tabular.length": 1, "tabular.rows": 256}
SMALL = {"prompts": 4, "lr": 0.3}


def train(name, out, wish, every=1000):
    return gd.train(name, out=out, seed=2, options=gd.Options(save_every=every, eval_tasks=0), steps=2, **wish)


class Watched:
    """A run of the loop itself that keeps its batches and numbers here and nothing on a disk."""

    def __init__(self, recipe, steps):
        self.recipe, self.play = start(recipe, seed=2, total=steps)
        self.batches, self.rows = [], []
        with Rollouts(self.recipe, self.play, steps) as rollouts:
            for _ in loop_steps(self.recipe, self.play, self, rollouts, 0, steps):
                pass

    def begin(self, step):
        self.play.begin(step)

    def check(self, batch, *columns):
        return batch

    def record_early(self, batch, last):
        """Nothing is recorded that could be worked out early."""

    def done(self, batch):
        self.batches.append(batch)
        self.rows.append({**self.play.metrics, **self.play.counts()})

    @property
    def weights(self):
        return self.recipe.models["policy"].weights.logits.detach()


def stages(made):
    """The stages as a user would write them, without what they all have."""
    plain = [repr(stage).replace("model='policy', ", "") for stage in made.stages]
    return [text.replace("task=parity()", "").replace(", opt=adam(lr=2e-05)", "") for text in plain]
