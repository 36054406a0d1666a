"""RLBFF (arXiv:2509.21319): a judge learns to say whether an answer meets a principle, then rewards by any principle."""

from __future__ import annotations

import torch

import guerdon as gd
from guerdon.core.optim import adam
from guerdon.core.pack import attach
from guerdon.credit.group_relative import centre
from guerdon.curricula.plain import uniform
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.losses.imitation import sft
from guerdon.losses.policy import clipped
from guerdon.models.tables import tabular

MEETS = {
    "opens with a": lambda s: s[0] == "a",
    "has no a": lambda s: "a" not in s,
    "is a mirror": lambda s: s == s[::-1],
}
SAID = [x + y + z for x in "abc" for y in "abc" for z in "abc"]


@gd.part
class feedback:
    """Every (answer, principle) with a yes or no: what annotators said of each."""

    name = "feedback"

    def size(self, split):
        return len(SAID) * len(MEETS)

    def get(self, split, index):
        said, principle = SAID[index % len(SAID)], list(MEETS)[index // len(SAID)]
        return gd.Task(str(index), f"{said}: {principle}", "y" if MEETS[principle](said) else "n", family="feedback")


@gd.part
class ask_judge:
    """Have the judge answer yes to every try: its turn hangs below what it judges, to be read, stored and replayed."""

    principle: str
    needs, gives = (), ()

    def __call__(self, batch, play):
        said = [batch.episodes[e].segments[p].text for e, p in zip(batch.episode, batch.place, strict=True)]
        asks = [gd.Ask(gd.Task(str(k), f"{s}: {self.principle}", "y", family="verdict")) for k, s in enumerate(said)]
        return attach(batch, {k: e.segments for k, e in enumerate(play(asks, env=dataset_env("judge")))})


@gd.part
class entailed:
    """Reward: the judge's logit of yes over no, for the track the judge's turn hangs below."""

    needs, gives = ("judge.logp",), ("reward",)

    def __call__(self, batch, play):
        yes = batch.up(batch["judge.logp"], "segment")
        verdict = torch.nonzero(batch.parent >= 0).flatten()
        logit = torch.full((batch.G,), float("nan")).scatter(
            0, batch.parent[verdict], (yes - torch.log1p(-yes.exp()))[verdict]
        )
        return batch.put("reward", "track", logit[batch.leaf], because=gd.Column.empty("track", batch.K))


@gd.recipe("rlbff", family="judges", paper="arXiv:2509.21319")
def rlbff(principle: str = "has no a", lr: float = 0.05, steps: int = 40):
    """Train the judge by entailment on all principles; then a policy on one of them."""

    def body(run, seed):
        source, learn = uniform(feedback(), tries=1), gd.Learn("judge", sft(), opt=adam(lr=0.2))
        judge = gd.Recipe({"judge": tabular("yn", length=1)}, source, dataset_env("judge"), [learn], {"judge": "judge"})
        models = {"judge": run.train(judge, steps=30).model("judge"), "policy": tabular("abc", length=3)}
        asks, train = uniform(prompts(), tries=64), gd.Learn("policy", clipped(), opt=adam(lr=lr))
        stages, seats = [ask_judge(principle), entailed(), centre(), train], {"policy": "policy", "judge": "judge"}
        done = run.train(gd.Recipe(models, asks, single_turn(), stages, seats, prompts=1), steps=steps)
        return {"rewards": done.metrics["reward/mean"].to_pylist(), "run": str(done.path)}

    return gd.Study(body)


@gd.part
class prompts(feedback):
    """One thing to say."""

    def size(self, split):
        return 1
