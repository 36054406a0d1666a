"""Guide (arXiv:2506.13923): when every try fails, ask again with a hint, and learn as if there had been none."""

from __future__ import annotations

from codes import codes

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.core.pack import cat
from guerdon.credit.centre import centre
from guerdon.curricula.uniform import uniform
from guerdon.envs.simple import recital, single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped
from guerdon.models.tabular import tabular
from guerdon.rewards.score import verified

TASK = codes(letters=4, length=6, base=10)


def hinted(task):
    return f"{task.prompt} (it is {task.answer})"


@gd.part
class hint_failures:
    """Play each task that nobody solved again with its hint. The ratio is to the policy that does not see the hint:
    the new segments keep the log-probs they were sampled with, but are put under the plain prompt."""

    tries: int = 8
    needs, gives = ("correct",), ()

    def __call__(self, batch, play):
        best = batch.up(batch["correct"], "task", of="track", by="max")
        tasks = {int(t): e.task for e, t in zip(batch.episodes, batch.task_E.tolist(), strict=True)}
        asks = [gd.Ask(task, self.tries, prompt=hinted(task)) for t, task in tasks.items() if best[t] == 0]
        play.log(hinted=float(len(asks)))
        encode = play.models["policy"].encode
        plain = [
            e.but(segments=tuple(s.but(view=e.task.prompt, context=encode(e.task.prompt)) for s in e.segments))
            for e in (play(asks) if asks else [])
        ]
        return cat([batch, gd.pack(plain)]) if plain else batch


@gd.part
class hints(codes):
    """The same codes, asked with the hint: what a model that can follow hints was taught on."""

    def get(self, split, index):
        task = super().get(split, index)
        return gd.Task(task.id, hinted(task), task.answer, family="hints")


@gd.recipe("guide", family="curriculum", paper="arXiv:2506.13923")
def guide(lr: float = 0.1, steps: int = 120, hint: bool = True):
    """Teach hints first, so that a hint helps; then train on the plain prompts."""

    def body(run, seed):
        teach = gd.Learn("policy", sft(), opt=adam(lr=0.2))
        source = uniform(hints(4, 6, 10), tries=1)
        taught = run.train(gd.Recipe({"policy": tabular(length=6)}, source, recital(), [teach], prompts=4, steps=15))
        learn = gd.Learn("policy", clipped(), opt=adam(lr=lr))
        stages = [verified(TASK), *([hint_failures(), verified(TASK)] if hint else []), centre("correct"), learn]
        models = {"policy": taught.model()}
        done = run.train(gd.Recipe(models, uniform(TASK), single_turn(), stages, exam=TASK, prompts=4, steps=steps))
        return {"before": run.eval(taught.model(), TASK)["pass@1"], "after": run.eval(done.model(), TASK)["pass@1"]}

    return gd.Study(body)
