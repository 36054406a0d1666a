"""DR-IRL with GRPO-S: a reward for every kind of problem, learned from demonstrations, and GRPO that pays difficult ones more.

Paper: Cheng et al. 2025, Inverse reinforcement learning with dynamic reward scaling (arXiv:2503.18991), read in its abstracts.
For each kind (theirs are seven kinds of harm) a reward is raised on demonstrations and lowered on the policy's own tries; then
GRPO's rewards are scaled by difficulty, a product of data hardness (similarity to the demonstration) and of the model's
responsiveness (the gap between the rewards of the demonstration and of its tries). Demonstrations are the solutions of the data
(`--solution`, else `--answer`), kinds those of `--kind`, of a mixture, or of messages on `notes`. Ours, for no formula could
be read: the reward is an output of one model for each kind, taught by `discriminator` in each step before it is used, so that
its optimum is the log-ratio of demonstrations to tries; hardness is 1 less the cosine of mean states of the start model;
each factor is 2 sigmoid of its standard score among the problems of the step, 1 on average; and it multiplies advantages, since
GRPO divides by the spread of rewards and would take off a factor that all tries at a problem share. Leaves out: how they write
demonstrations, and that all kinds have as many (repeat rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.field_columns import Needs as Reads
from guerdon.core.learn import Learn
from guerdon.core.levels import gather_up
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Ask, Task, kinds_of
from guerdon.curricula.plain import uniform
from guerdon.envs.contrasting import side_by_side
from guerdon.losses.reward_modelling import discriminator
from guerdon.models.value_head import head
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.process.second_models import begun, scorer_beside
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, sample_tokens, too_long
from guerdon.rewards.stage.score_stages import score
from guerdon.select.second_roles import Tried, follow_up
from guerdon.tasks.messages.note_words import KINDS

GIVEN, SCORER, START = "given", "scorer", "reference"  # the role that recites demonstrations; models


@recipe(
    "dr-irl-grpo-s",
    family="policy",
    paper="arXiv:2503.18991",
    on=grpo,
    needs=Needs(answers=True, text=True, one_turn=True, learns_from="demonstrations"),
)
def dr_irl_grpo_s(
    base: Recipe,
    task: Any,
    model: Model,
    *,
    rewards: Literal["kind", "one"] = "kind",  # one: the pooled reward that the paper compares with
    scale: Literal["both", "hardness", "responsiveness", "none"] = "both",
    scorer_lr: float = 3e-4,  # of the reward; as reward_model
) -> Recipe:
    """GRPO on rewards that are learned from demonstrations, kind by kind, and scaled by difficulty."""
    (truth, *_), (credit,), (learner,) = base.stages.scores, base.stages.credit, base.stages.learners
    kinds = kinds_in(task) if rewards == "kind" else ("",)
    scorer: Any = scorer_beside(model)
    scorer.value = head(outputs=len(kinds)) if len(kinds) > 1 else scorer.value
    base.models |= {SCORER: scorer, START: begun("policy", model)}
    base.seats[GIVEN], credit.reward = START, "reward"
    base.curriculum = demonstrated(task, base.curriculum.tries)
    learned = learned_reward(kinds)
    base.stages = [
        truth,
        follow_up(side_by_side(role=GIVEN), as_shown, per="ask"),
        two_sides(kinds),
        Learn(SCORER, discriminator(kind="kind", weight="evened"), opt=adam(lr=scorer_lr)),
        score(learned, "demonstration_reward", role=GIVEN),
        score(learned),
        credit,
        scaled_by_difficulty(scale),
        learner,
    ]
    return base


def kinds_in(task: Any) -> tuple[str, ...]:
    """The kinds that rewards are learned for: of messages, on notes."""
    first = task.get("train", 0)
    return tuple(KINDS) if first.meta.get("kind") in KINDS else tuple(kinds_of(task))


def kind_of(task: Task, kinds: Sequence[str]) -> int:
    """The number of a problem's kind; 0 where there is one alone, -1 where it is none of them."""
    name = task.meta["kind"] if task.meta.get("kind") in kinds else task.kind
    return 0 if len(kinds) == 1 else kinds.index(name) if name in kinds else -1


@part
class demonstrated(uniform):
    """Problems in turn, each with its demonstration to recite: `source.solution(task)`, or the task's answer."""

    def draw(self, n: int, play: Play) -> list[Ask]:
        solve = getattr(self.task, "solution", lambda task: task.answer)
        return [ask.but(note={"say": [solve(ask.task)]}) for ask in super().draw(n, play)]


def as_shown(tried: Sequence[Tried]) -> Ask | None:
    """The ask of tries at a problem, once more, for its demonstration; none where it has none."""
    ask = tried[0].episode.ask
    return ask.but(n=1) if ask.note["say"][0].strip() else None


@part
class two_sides(FieldColumns):
    """What a discriminator needs of each track: `demonstrated`, 1 or 0; `kind`, the number of its problem's kind; and `evened`,
    a weight by which, in each kind, demonstrations weigh as much as tries. A kind of which there is one side alone, or a
    problem of no kind, has none of them.
    """

    kinds: tuple[str, ...]

    gives = ("demonstrated", "kind", "evened")
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        told = batch.tracks_of([GIVEN])
        used = (told | batch.tracks_of(["policy"])) & ~batch.failed_K
        number = [kind_of(batch.episodes[e].task, self.kinds) for e in batch.episode[batch.leaf].tolist()]
        kind_K = torch.tensor(number, device=told.device)
        used &= kind_K >= 0
        both = kind_K.clamp(min=0) * 2 + told
        size_K = torch.bincount(both[used], minlength=2 * len(self.kinds))[both]
        other_K = torch.bincount(both[used], minlength=2 * len(self.kinds))[both ^ 1]
        used &= other_K > 0
        evened_K = (size_K + other_K) / (2 * size_K.clamp(min=1))
        reason = torch.where(used, 0, int(Reason.NOT_APPLICABLE)).to(torch.int8)
        values = zip(self.gives, (told.float(), kind_K.float(), evened_K.float()), strict=True)
        return batch.with_cols({name: Column("track", torch.where(used, x, torch.nan), reason) for name, x in values})


@part
class learned_reward(ModelLeaf):
    """The scorer's output for the kind of a sample's problem, at its end: the log-odds that it is a demonstration. *Not
    applicable* to a problem of no kind.
    """

    kinds: tuple[str, ...]

    async def score(self, samples: Samples) -> list[Outcome]:
        tokens = sample_tokens(samples, self.play_of(samples), SCORER)
        final = tokens.read(SCORER, ["final"])["final"].double().reshape(-1, len(self.kinds))
        numbers = [kind_of(fields["task"], self.kinds) for fields in samples.fields]
        return [
            too_long(SCORER) if k < 0 else Outcome(Reason.NOT_APPLICABLE) if n < 0 else outcome_of(float(final[k, n]))
            for k, n in zip(tokens.track.tolist(), numbers, strict=True)
        ]


@part
class scaled_by_difficulty(FieldColumns):
    r"""$A \cdot f(h) \cdot f(g)$ with $f(x) = 2\sigma((x - \bar x)/s)$ over the problems of the step, which is 1 where all are
    alike or nothing is known. $h$ is 1 less the mean cosine of tries and demonstration, by the mean states of the start model,
    and $g$ the demonstration's reward less the tries' mean. Logs both.
    """

    scale: Literal["both", "hardness", "responsiveness", "none"] = "both"
    reward: Reads = "reward"
    demonstration: Reads = "demonstration_reward"
    states: Reads = f"{START}.hidden"
    advantage: Reads = "advantage"
    gives_to: Gives = "advantage"

    shelf = "credit"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        keys = [batch.episodes[e].task.key for e in batch.episode[batch.leaf].tolist()]
        place = {key: n for n, key in enumerate(dict.fromkeys(keys))}
        problem_K = torch.tensor([place[key] for key in keys], device=batch.seg.device)
        told_K, own_K = (batch.tracks_of([role]) & ~batch.failed_K for role in (GIVEN, "policy"))

        def mean(x_K: Tensor, of_K: Tensor) -> Tensor:
            """[Q] of each problem, over the tracks `of_K` that have a value; NaN without one."""
            return gather_up(torch.where(of_K, x_K.double(), torch.nan), problem_K, len(place), "mean")

        state_K = unit(mean_states(batch, batch[self.states].double()))
        there = torch.stack([mean(x, told_K) for x in state_K.T], 1)[problem_K]
        hard = 1 - mean((state_K * unit(there)).sum(1), own_K)
        gap = mean(batch[self.demonstration], told_K) - mean(batch[self.reward], own_K)
        play.log(hardness=float(hard.nanmean().nan_to_num()), reward_gap=float(gap.nanmean().nan_to_num()))
        factor = torch.ones_like(gap)
        for name, x in (("hardness", hard), ("responsiveness", gap)):
            factor = factor * sigmoid_score(x) if self.scale in (name, "both") else factor
        column = batch.cols[self.advantage]
        by_S = batch.down(factor[problem_K], "track").to(column.value.dtype)
        return batch.with_cols({self.gives_to: Column(column.level, column.value * by_S, column.reason)})


def sigmoid_score(x: Tensor) -> Tensor:
    r"""$2\sigma((x - \bar x)/s)$ over the values that there are; 1 where they are alike, and for NaN.

    >>> sigmoid_score(torch.tensor([1.0, 3.0, float("nan")]))  # standard scores -1 and 1
    tensor([0.5379, 1.4621, 1.0000])
    """
    known = x[~x.isnan()]
    spread = known.std(correction=0) if len(known) else x.new_zeros(())
    score = (x - known.mean()) / spread if spread > 0 else torch.zeros_like(x)
    return 2 * torch.sigmoid(score.nan_to_num(0.0))


def mean_states(batch: Batch, state_S: Tensor) -> Tensor:
    """[K, E] the mean over each track's steps."""
    step, track = batch.track_steps
    total = state_S.new_zeros(batch.K, state_S.shape[1]).index_add_(0, track, state_S[step])
    return total / torch.bincount(track, minlength=batch.K).clamp(min=1)[:, None]


def unit(x: Tensor) -> Tensor:
    return torch.nn.functional.normalize(x, dim=1)
