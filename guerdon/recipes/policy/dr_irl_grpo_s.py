"""DR-IRL with GRPO-S: a reward for every kind of problem, learned from demonstrations, and GRPO that pays difficult ones more.

Paper: Cheng et al. 2025, Inverse reinforcement learning with dynamic reward scaling (arXiv:2503.18991), read in its abstracts.
For each kind (of harm, theirs) a reward is raised on demonstrations and lowered on the policy's tries; GRPO's rewards are
scaled by difficulty, data hardness (similarity to the demonstration) times responsiveness (the gap between rewards of
demonstration and tries). Demonstrations are the data's solutions (`--solution`, else `--answer`), kinds those of `--kind`, of a
mixture, or of messages on `notes`. Ours, for no formula could be read: a reward is one output of a scorer, taught by
`discriminator` in each step before its use; hardness is 1 less the cosine of mean states of the start model; a factor is 2
sigmoid of a standard score among the step's problems, and multiplies advantages, for what all tries at a problem share is lost
where rewards are divided by their spread.
Leaves out: how they write demonstrations, and that all kinds have as many (repeat rows).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn.functional import normalize

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.field_columns import FieldColumns
from guerdon.core.learn import Learn
from guerdon.core.levels import gather_up
from guerdon.core.model import Model
from guerdon.core.needs import Needs
from guerdon.core.optim import adam
from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.core.task import Task, kinds_of
from guerdon.envs.contrasting import side_by_side
from guerdon.losses.reward_modelling import discriminator
from guerdon.models.value_head import head
from guerdon.recipes.house.grpo import grpo
from guerdon.recipes.house.recited import demonstration
from guerdon.recipes.process.second_models import begun, scorer_beside
from guerdon.rewards.asking.samples import Samples
from guerdon.rewards.formula.scores import Outcome, outcome_of
from guerdon.rewards.model.model_reading import ModelLeaf, sample_tokens, too_long
from guerdon.rewards.stage.score_stages import score
from guerdon.select.second_roles import follow_up
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
    learned = learned_reward(kinds)
    base.stages = [
        truth,
        follow_up(side_by_side(role=GIVEN), demonstration(task), per="ask"),
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
    return tuple(KINDS) if task.get("train", 0).meta.get("kind") in KINDS else tuple(kinds_of(task))


def kind_of(task: Task, kinds: Sequence[str]) -> int:
    """The number of a problem's kind; 0 where there is one alone, -1 where it is none of them."""
    name = task.meta["kind"] if task.meta.get("kind") in kinds else task.kind
    return 0 if len(kinds) == 1 else kinds.index(name) if name in kinds else -1


@part
class two_sides(FieldColumns):
    """Of each track `demonstrated`, 1 or 0; `kind`, the number of its problem's kind; `evened`, a weight by which a kind's
    demonstrations weigh as much as its tries. There is none where a kind has one side alone, or is unknown."""

    kinds: tuple[str, ...]

    gives = ("demonstrated", "kind", "evened")
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        told_K = batch.tracks_of([GIVEN])
        number = [kind_of(batch.episodes[e].task, self.kinds) for e in batch.episode[batch.leaf].tolist()]
        kind_K = torch.tensor(number, device=told_K.device)
        used_K = (told_K | batch.tracks_of(["policy"])) & ~batch.failed_K & (kind_K >= 0)
        alike = used_K & (kind_K == kind_K[:, None])  # [K, K]
        of_kind, own_side = alike.sum(1), (alike & (told_K == told_K[:, None])).sum(1)
        used_K &= own_side < of_kind
        reason = torch.where(used_K, 0, int(Reason.NOT_APPLICABLE)).to(torch.int8)
        values = zip(self.gives, (told_K, kind_K, of_kind / (2 * own_side)), strict=True)
        cols = {name: Column("track", torch.where(used_K, x.float(), torch.nan), reason) for name, x in values}
        return batch.with_cols(cols)


@part
class learned_reward(ModelLeaf):
    """The scorer's output for the kind of a sample's problem: the log-odds that it is a demonstration."""

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
    r"""$A f(h) f(g)$ with $f(x) = 2\sigma((x - \bar x)/s)$ over the step's problems, 1 where nothing is known. $h$ is 1 less
    the mean cosine of tries and demonstration, $g$ the demonstration's reward less the tries' mean. Logs both."""

    scale: Literal["both", "hardness", "responsiveness", "none"] = "both"

    needs, gives = ("reward", "demonstration_reward", f"{START}.hidden", "advantage"), ("advantage",)
    shelf = "select"

    def __call__(self, batch: Batch, play: Play) -> Batch:
        keys = [batch.episodes[e].task.key for e in batch.episode[batch.leaf].tolist()]
        place = {key: n for n, key in enumerate(dict.fromkeys(keys))}
        problem_K = torch.tensor([place[key] for key in keys], device=batch.seg.device)

        def mean(x_K: Tensor, role: str) -> Tensor:
            own = torch.where(batch.tracks_of([role]) & ~batch.failed_K, x_K.double(), torch.nan)
            return gather_up(own, problem_K, len(place), "mean")

        reward, told, state, column = (batch.cols[name] for name in self.needs)
        step, track = batch.track_steps
        sums = state.value.new_zeros(batch.K, state.value.shape[1]).index_add_(0, track, state.value[step])
        state_K = normalize(sums.double())
        there_K = torch.stack([mean(x, GIVEN) for x in state_K.T], 1)[problem_K]
        hard = 1 - mean((state_K * normalize(there_K)).sum(1), "policy")
        gap = mean(told.value, GIVEN) - mean(reward.value, "policy")
        play.log(hardness=float(hard.nanmean().nan_to_num()), reward_gap=float(gap.nanmean().nan_to_num()))
        value = column.value
        for name, x in (("hardness", hard), ("responsiveness", gap)):
            if self.scale in (name, "both"):
                value = value * batch.down(sigmoid_score(x)[problem_K], "track").to(value.dtype)
        return batch.with_cols({"advantage": Column(column.level, value, column.reason)})


def sigmoid_score(x: Tensor) -> Tensor:
    r"""$2\sigma((x - \bar x)/s)$ over the values that there are; 1 where they are alike, and for NaN.

    >>> sigmoid_score(torch.tensor([1.0, 3.0, float("nan")]))  # standard scores -1 and 1
    tensor([0.5379, 1.4621, 1.0000])
    """
    gap = x - x.nanmean()
    return 2 * torch.sigmoid((gap / gap.square().nanmean().sqrt().clamp(min=1e-6)).nan_to_num(0.0))
