"""LaSeR: GRPO that also learns to say, in the probability of one token after its answer, whether the answer is right.

Paper: Yang et al. 2025 (arXiv:2510.14943); code: RUCBM/LaSeR, verl/workers/actor/dp_actor.py, lines 547-575, and verl/trainer/
ppo/ray_trainer.py, lines 1347-1452. After the end of a try a set token z has the log-prob log pi(z), and the try's own score is
r_s = beta (log pi(z) - c), c being what the start model gave it, or a constant. Beside GRPO's loss, alpha times the squared gap
of r_s to the reward is learned, right and wrong tries weighing the same in a step. Tries that were cut have no end and no
score. After a warm-up advantages are (1 - tau) A + tau A_s, where A_s standardises r_s between 0 and 1 in the group, if it
spreads by more than a threshold there. The score costs one more token to read, and none to write. Different: the mean of the
gap is over tries that ended, the code's over all. Leaves out: weighing votes by r_s at test time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.field_columns import FieldColumns
from guerdon.core.field_columns import Needs as Column
from guerdon.core.levels import moments
from guerdon.core.model import NEXT
from guerdon.core.needs import Needs
from guerdon.core.part import knob, part
from guerdon.core.play import Play
from guerdon.core.recipe import Recipe, recipe
from guerdon.losses.reduce import reduce_tracks
from guerdon.losses.signs import finished, was_cut
from guerdon.losses.terms import Term, on
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo

WEIGHT = "verdict_weight"


@recipe("laser", family="self_reward", paper="arXiv:2510.14943", on=grpo, needs=Needs(text=True))
def laser(
    base: Recipe,
    *,
    token: str = "?",  # whose probability after the end is the score; the code takes one that is never said
    align: float = 0.1,  # weight of the gap between score and reward (alpha); the released scripts
    scale: float = 0.1,  # of the log-ratio (beta); the released scripts
    constant: float | None = None,  # c, -23 in the scripts; where it is None, what the start model gives the token
    own: float = 0.1,  # the share of the own score in advantages (tau); the released scripts
    warm_up: int = 200,  # steps before it has one; the released scripts
    spread: float = 0.1,  # the deviation of a group's scores above which they are used; the released scripts
) -> Recipe:
    """GRPO that learns to score its own tries by one token after their end."""
    (credit,), (learner,) = base.stages.credit, base.stages.learners
    learner.loss += on(finished(), last_token(token, scale, constant, credit.reward), weight=align, name="self")
    base.models.setdefault("reference", snapshot("policy"))
    return base.but(before={"learn": own_scores(token, scale, constant, credit.reward, own, warm_up, spread)})


class LastToken(FieldColumns):
    """What reads the score of a track, r_s."""

    token: str
    scale: float
    constant: float | None
    reward: Column

    @property
    def read(self) -> str:
        return f"{NEXT}{self.token}"

    @property
    def needs(self) -> tuple[str, ...]:
        return (self.reward, *([f"reference.{self.read}"] if self.constant is None else []))

    def own(self, logp: Tensor, batch: Batch) -> Tensor:
        """[K] the score of each track, from the log-prob of the token after its end."""
        return self.scale * (logp - (batch[f"reference.{self.read}"] if self.constant is None else self.constant))


@part
class last_token(LastToken, Term):
    r"""$w\,(\beta(\log\pi(z \mid x, y) - c) - r)^2$, the mean over tracks, with the weight $w$ of the column that `own_scores`
    gives. Notes `accuracy`: how often the score is on the reward's side of 1/2 (arXiv:2510.14943).
    Assumes, where $c$ is a `constant`, that the start model gives the token the same log-prob after every solution; biased by
    as much as it does not.

    >>> last_token("?", 0.1, -23.0, "correct").wants
    ('next:?',)
    """

    token: str
    scale: float = knob(default=0.1, gt=0.0)
    constant: float | None = None
    reward: Column = "reward"

    @property
    def needs(self) -> tuple[str, ...]:
        return (*super().needs, WEIGHT)

    @property
    def wants(self) -> tuple[str, ...]:
        return (self.read,)

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        score, reward = self.own(live[self.read].double(), batch), batch[self.reward].double()
        right = ((score > 0.5) == (reward > 0.5)).double()
        loss = reduce_tracks(batch[WEIGHT] * (score - reward) ** 2, batch)
        return loss, {"accuracy": reduce_tracks(right, batch).detach()}


@part
class own_scores(LastToken):
    """Column `verdict_weight`: n / (2 m) for the m of n ended tries that are right, or wrong, as it is; 0 for those that were
    cut. From step `warm_up` on it takes a share `own` of the advantage for the standardised scores, in groups where they
    spread. Logs `own_share`, the share of tries whose advantage has one.

    >>> own_scores("?", 0.1, -23.0, "correct").needs
    ('correct', 'advantage', 'policy.next:?')
    """

    token: str
    scale: float = knob(default=0.1, gt=0.0)
    constant: float | None = None
    reward: Column = "reward"
    own_weight: float = knob(default=0.1, ge=0.0, le=1.0)
    warm_up: int = knob(default=200, ge=0)
    spread: float = knob(default=0.1, ge=0.0)

    gives = (WEIGHT, "advantage")
    shelf = "select"

    @property
    def needs(self) -> tuple[str, ...]:
        return (*super().needs, "advantage", f"policy.{self.read}")

    def __call__(self, batch: Batch, play: Play) -> Batch:
        reward = batch[self.reward]
        ended = ~was_cut(batch)
        counts, right = ended & ~reward.isnan(), reward > 0.5
        alike = torch.where(right, (counts & right).sum(), (counts & ~right).sum())
        weight = torch.where(counts, counts.sum() / (2 * alike), 0.0)
        batch = batch.put(WEIGHT, "track", weight)
        if play.step < self.warm_up or not self.own_weight:
            return batch
        score = torch.where(ended, self.own(batch[f"policy.{self.read}"], batch).clamp(0.0, 1.0), 0.0)
        group, size = batch.group("task")
        _, mean, deviation = moments(score, group, size)
        used = deviation[group] > self.spread
        standing = torch.where(used, (score - mean[group]) / deviation[group], 0.0)
        play.log(own_share=float(used.double().mean()) if batch.K else 0.0)
        column, share = batch.cols["advantage"], self.own_weight * batch.down(used.double(), of="track")
        value = (1 - share) * column.value + self.own_weight * batch.down(standing, of="track")
        return batch.with_cols({"advantage": dataclasses.replace(column, value=value.to(column.value))})
