"""URPO: one model is player and referee: it solves, ranks answers whose order is known, and ranks its own where none is.

Paper: Lu et al. 2025, unified reward and policy optimization (arXiv:2507.17515), read in its abstract and in summaries. One
GRPO batch has three kinds of problems. Those with an answer are paid by the checker. Lists of answers in a known order are
ranked by the policy, and paid Kendall's tau of its order with that; one that cannot be read is paid -1, as the reverse. Open
instructions are paid by the policy's ranking of its own tries, asked for as of lists. Open are rows whose answer is empty, and
the kinds that `unchecked` names. Lists are of a file of preferences (`ranked`), or a generated family's solution and wrong
ones, ordered by how many lines are right; sprig compares two (its role `prefer`). `referee=start` is the paper's comparison.
How many of each kind is ours. Leaves out: a warm-up, and scores that a referee states beside the order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.extra_play import play_more
from guerdon.core.field_columns import FieldColumns
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask, Task
from guerdon.curricula.plain import EpochSampler
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.judges.compare import listwise, pairwise
from guerdon.judges.judging import models_of
from guerdon.judges.local_models import run_model
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome
from guerdon.rewards.stage.score_stages import score
from guerdon.tasks.judging.lists_to_rank import LISTED, order_agreement, ranked_lists, ranked_rows
from guerdon.tasks.stepwise import by_steps, has_steps

RANKS = "referee"  # the policy's role beside its own
KINDS = ("checked", "open", "ranked")


@recipe(
    "urpo",
    family="self_reward",
    paper="arXiv:2507.17515",
    on=grpo,
    needs=Needs(answers=False, text=True, one_turn=True, learns_from="answers, ranked lists and its own rankings"),
    helps=("few-labels",),
)
def urpo(
    base: Recipe,
    task: Any,
    *,
    ranked: Any = "",  # a file of preferences, or rows; without one, lists that a generated family makes
    unchecked: tuple[str, ...] = (),  # kinds that are open though their answers are known, which are then logged alone
    lists: int = 4,  # to rank in a step, beside its problems; ours
    size: int = 3,  # answers of a list that a family makes; ours
    referee: Literal["policy", "start"] = "policy",  # who ranks tries at open problems: the policy as it is, or began
) -> Recipe:
    """GRPO on problems, on lists to rank, and on open problems by the policy's own ranking."""
    if base.curriculum.tries < 2:
        raise UserError("urpo ranks the tries at an open problem among themselves: set tries=2 or more")
    if not ranked and not has_steps(task):
        raise UserError(
            f"urpo needs lists in a known order beside {task.name}: --set ranked=FILE with chosen, rejected"
        )
    ordered = ranked_lists(ranked_rows(ranked) if ranked else by_steps(task), size)
    by = run_model("policy" if referee == "policy" else "reference")
    base.models |= {"reference": snapshot("policy")} if referee == "start" else {}
    (truth, *_), (credit,) = base.stages.scores, base.stages.credit
    own = own_ranking(pairwise(by, against=2, name="own"), listwise(by, prompt=LISTED, name="own"), tuple(unchecked))
    asked = rank_lists(ordered, lists, base.curriculum.tries, score(agreement(), "agreement", RANKS))
    credit.reward = "reward"
    base.seats |= {RANKS: "policy"}
    base.exams = [*base.exams, Exam(ordered, env=single_turn(), name=RANKS, tasks=32, tries=1)]
    pay = paid_by_kind(tuple(unchecked))
    base.stages = [truth, score(own, "own"), asked, pay, credit, shares(), *base.stages.learners]
    return base


def open_tracks(batch: Batch, unchecked: Sequence[str]) -> Tensor:
    """[K] whether nothing but the policy's own ranking pays a try at a problem."""
    kinds = [batch.episodes[e].task.kind for e in batch.episode[batch.leaf].tolist()]
    return torch.tensor([kind in unchecked for kind in kinds]) | (batch.cols["correct"].reason == Reason.NOT_APPLICABLE)


@part
class agreement(Leaf):
    """Kendall's tau of the order that a reply states with that of its list; -1, as for the reverse, where it states none.

    >>> listed = Task("0", "", meta={"worth": [0.0, 1.0, 0.5]})
    >>> [agreement()(listed, f"Verdict: {order}") for order in ("2 > 3 > 1", "1 > 3 > 2", "2 and 3")]
    [1.0, -1.0, -1.0]
    """

    def __call__(self, task: Task, completion: str) -> float:
        stated = order_agreement(task, completion)
        return -1.0 if stated is None else stated


@part
class own_ranking(Leaf):
    """How a try stands among the others at an open problem, from 0 to 1, by a model that compares two or ranks them all."""

    pairs: Any
    lists: Any
    unchecked: tuple[str, ...] = ()

    alone = False

    async def score(self, samples: Samples) -> list[Outcome]:
        assert samples.batch is not None and samples.track is not None, "it is asked in a run"
        mine = torch.nonzero(open_tracks(samples.batch, self.unchecked)[samples.track]).flatten().tolist()
        picked, outcomes = samples.pick(mine), [Outcome(Reason.NOT_APPLICABLE)] * len(samples)
        judge = self.pairs if self.pairs.by.plays_roles(models_of(samples)) else self.lists
        for i, outcome in zip(mine, await judge.score(picked) if mine else [], strict=True):
            outcomes[i] = outcome
        return outcomes


@part
class rank_lists:
    """Adds tries of the role `referee` at lists to rank to a step, and their score."""

    lists: Any
    count: int = knob(default=4, ge=0)
    tries: int = knob(default=8, ge=2)
    score: Any = None

    drawn: int = state(default=0)
    needs, gives = (), ("agreement",)
    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        laps = EpochSampler(self.lists)
        asks = [Ask(laps.task(self.drawn + i, play.seed), self.tries) for i in range(self.count)]
        self.drawn += self.count
        return play_more(batch, asks, [self.score], play, single_turn(RANKS))[0]


@part
class paid_by_kind(FieldColumns):
    """Columns `reward`, `correct` at checked problems, `own` at open ones, `agreement` of orders; and `kind`, 0, 1 or 2."""

    unchecked: tuple[str, ...] = ()

    needs, gives = ("correct", "own", "agreement"), ("reward", "kind")
    shelf = "scores"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        kind = open_tracks(batch, self.unchecked).float().masked_fill(batch.tracks_of([RANKS]), 2.0)
        paid = batch.cols["correct"]
        for n, column in enumerate(batch.cols[name] for name in self.needs):
            value, reason = (
                torch.where(kind == n, column.value, paid.value),
                torch.where(kind == n, column.reason, paid.reason),
            )
            paid = Column("track", value, reason)
        return batch.with_cols({"reward": paid, "kind": Column.full("track", kind)})


@part
class shares(FieldColumns):
    """Logs `advantage/KIND`, the share of each kind in the sum of the absolute advantages of tries, and drops `kind`: its mean
    would be logged as a metric."""

    needs, gives = ("advantage", "kind"), ()
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        size = batch.up(batch["advantage"].abs(), "track", by="mean").nan_to_num()
        size = size / (float(size.sum()) or 1.0)
        play.log(**{f"advantage/{name}": float(size[batch["kind"] == n].sum()) for n, name in enumerate(KINDS)})
        return batch.without("kind")
