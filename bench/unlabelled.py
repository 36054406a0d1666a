"""GRPO paid without labels, in one of ten ways, for `bench.compare rewards_without_labels`; and a start that is misled.

Each step logs what may foretell a collapse, whatever is learned from: how much of its group an answer has, how many answers
there are, how far the policy is from its start, and how little its likelihood agrees with the votes.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any, Literal

import torch

import guerdon as gd
from guerdon.core.batch import Batch
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Task
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.sft import sft
from guerdon.recipes.house.shared import paid_by
from guerdon.recipes.self_reward.co_reward import COLUMN, in_two_wordings
from guerdon.recipes.self_reward.format_length_surrogate import well_formed
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, outcome_of_each, sample_tokens
from guerdon.rewards.text.overlap import vote
from guerdon.tasks.changed_source import ChangedSource
from guerdon.watch.batch_signs import correlation, within

MARKS = ("= ",)  # what our families write before an answer
NEAR = ("last operation dropped", "wrong sign", "x moved with wrong sign")  # mistakes that a rule leads to, not chance

By = Literal[
    "truth", "vote", "cross vote", "weighted vote", "entropy", "self-certainty", "likelihood", "answer confidence",
    "self-judge", "format and length", "random",
]  # fmt: skip


@part
class answer_confidence(ModelLeaf):
    """The mean log-prob of the last line of a try, by the policy itself."""

    model: str = "policy"

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), self.model)
        logp = tokens.read(self.model, ["logp"])["logp"].double()
        cut = tokens.cut
        return outcome_of_each(
            tokens, self.model, lambda _, steps: outcome_of(float(logp[cut(steps, "line", self.model)[-1]].mean()))
        )


def reward_of(by: str, task: Any, limit: int) -> Any:
    """What a try is paid."""
    votes: dict[str, Any] = {"answer": "text", "marks": MARKS}
    kinds: dict[str, Any] = {
        "vote": lambda: gd.majority(**votes),
        "cross vote": lambda: gd.majority(**votes, by="wording", voters="others"),
        "weighted vote": lambda: gd.majority(**votes, by="wording", weighted=True),
        "entropy": gd.low_entropy,
        "self-certainty": gd.self_certainty,
        "likelihood": gd.likelihood,
        "answer confidence": answer_confidence,
        "self-judge": lambda: gd.judge(gd.judges.run_model("policy"), scale="yes"),
        "format and length": lambda: well_formed(limit, read="text", marks=MARKS),
        "random": lambda: gd.rewards.flipped(gd.rewards.checker(task), share=0.5),
    }
    return kinds[by]()


@gd.recipe("unlabelled", on=grpo)
def unlabelled(base: gd.Recipe, task: Any, *, by: By = "truth") -> gd.Recipe:
    """GRPO on one reward without labels, or on the truth."""
    if by != "truth":
        base = paid_by(base, reward_of(by, task, base.sampling.max_tokens))
    if by in ("cross vote", "weighted vote"):
        base.stages.credit[0].by = "ask"
        base = base.but(curriculum=in_two_wordings(base.curriculum, task, COLUMN))
    base = base.but(models={**base.models, "reference": snapshot("policy")})
    base.stages = [foretold(), *base.stages]
    return base


@part
class foretold:
    """Logs the signs of a step: `sign/votes`, `sign/answers`, `sign/kl` and `sign/disagreement`. It changes nothing."""

    model: str = "policy"
    reference: str = "reference"

    needs, gives = ("reference.logp",), ()
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        group, groups = batch.group("task")
        ends = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
        answers = [vote(batch.episodes[e].segments[i].text, "text", MARKS, True) for e, i in ends]
        tally: dict[int, Counter[Any]] = {}
        for g, answer in zip(group.tolist(), answers, strict=True):
            tally.setdefault(g, Counter())[answer] += 1
        share = torch.tensor(
            [tally[g][a] / tally[g].total() for g, a in zip(group.tolist(), answers, strict=True)], dtype=torch.double
        )
        logp = batch.up(batch.logp.double(), "track") / batch.up(torch.ones(batch.S, dtype=torch.double), "track")
        gap = (batch.logp - batch["reference.logp"]).double()
        signs = {
            "votes": float(gather_up(share, group, groups, "max").mean()),
            "answers": sum(len(each) for each in tally.values()) / len(tally),
            "kl": float(gap[~batch.muted].mean()),
        }
        there = batch.put("votes", "track", share.float()).put("sureness", "track", logp.float())
        agree = correlation(within(there, "votes"), within(there, "sureness"))
        play.log(**{f"sign/{name}": value for name, value in signs.items()})
        if agree is not None:
            play.log(**{"sign/disagreement": 1.0 - agree})
        return batch


@part
class near_missed(ChangedSource):
    """The problems of a source, of which a `share` is solved by a mistake: always the same one, where there is one by rule."""

    source: Any
    share: float = knob(default=0.7, ge=0.0, le=1.0)

    def solution(self, task: Task) -> str:
        draw = random.Random(derive("misled", task.prompt))
        if draw.random() >= self.share:
            return str(self.source.solution(task))
        misses = self.source.near_misses(task, draw)
        return str(next((miss for miss in misses if miss.kind in NEAR), misses[0]).text)


@gd.recipe("misled", on=sft)
def misled(base: gd.Recipe, task: Any, *, share: float = 0.6) -> gd.Recipe:
    """Imitation of solutions of which most are wrong in the same way."""
    changes: dict[str, Any] = {"worked.task": near_missed(task, share)}
    return base.but(**changes)
