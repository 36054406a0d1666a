"""A baseline that is played: a greedy try at the same ask.

And how what was played becomes a baseline of what was tried.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.extra_play import check_scores, means, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.part import label, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling
from guerdon.credit.track_steps import to_steps, with_step_column


@part
class greedy_baseline(FieldColumns):
    r"""$A = r(x, y) - r(x, y_{greedy})$: the reward of the greedy answer to the same prompt is the baseline (ReMax, Li et
    al. 2023, arXiv:2310.10505).

    `score` is the stage that gave the reward (`score(...)`, `verified(...)`); it scores the greedy tries too. Every ask of
    the batch is played once more at temperature 0, all roles alike, and that counts in the budget as any other try.

    *Assumes* a reward that judges a track by itself: one that compares the tries of a group has nothing to compare the
    greedy one with. Unbiased: the greedy answer knows nothing of what was sampled. A deterministic environment is not
    needed. `NAME/greedy` is the mean greedy reward, `NAME/no_baseline` the share of tracks whose greedy try has no value.

    A track without a value has no advantage, nor has one whose greedy try failed.

    >>> import guerdon as gd
    >>> stage = gd.credit.greedy_baseline(gd.rewards.verified(gd.tasks.successor()))
    >>> stage.needs, stage.gives
    (('correct',), ('advantage',))
    """

    score: Any
    gives_to: Gives = "advantage"

    def __post_init__(self) -> None:
        check_scores([self.score], label(self))

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        column = batch.cols[self.needs[0]]
        asks = sampled_asks(batch)
        cold = [a.but(n=1, sampling=(a.sampling or Sampling()).but(temperature=0.0)) for a in asks.values()]
        greedy = play_scored(cold, [self.score], play)
        place = torch.full((batch.size("ask"),), -1, dtype=torch.long)
        place[list(asks)] = torch.arange(len(asks))
        base = Column("track", *values_of(batch, batch.role_K, place[batch.ask[batch.leaf]], greedy, self.needs[0]))
        valued = ~column.missing
        lost = float((base.missing & valued).sum()) / max(int(valued.sum()), 1)
        mean = float(base.value.nanmean().nan_to_num())
        play.log(**{f"{self.gives_to}/greedy": mean, f"{self.gives_to}/no_baseline": lost})
        return with_step_column(batch, self.gives_to, to_steps(batch, column.value - base.value), column, base)


def sampled_asks(batch: Batch) -> dict[int, Ask]:
    """The asks of a batch by their number, each with the sampling that its tries were made with."""
    asks: dict[int, Ask] = {}
    for episode, number in zip(batch.episodes, batch.ask_E.tolist(), strict=True):
        if number not in asks and episode.segments:
            asks[number] = episode.ask.but(sampling=episode.ask.sampling or episode.segments[0].sampling)
    return asks


def values_of(batch: Batch, role: Tensor, place: Tensor, played: Batch, name: str) -> tuple[Tensor, Tensor]:
    """[N] twice: the mean score of the tracks of a role of `batch` in ask number `place` of what was played (-1: in none),
    and the reason where there is none: the worst that they have, FAILED where nothing came of the ask at all."""
    roles = len(batch.roles)
    known = torch.tensor([batch.roles.index(r) if r in batch.roles else -1 for r in played.roles], dtype=torch.long)
    of = known[played.role_K] if played.K else torch.zeros(0, dtype=torch.long)
    rows = torch.nonzero(of >= 0).flatten()
    key = (played.ask[played.leaf] * roles + of)[rows]
    value, worst = means(played.cols[name], rows, key, max(played.size("ask"), 1) * roles, Reason.FAILED)
    mine, there = place.clamp(min=0) * roles + role, place >= 0
    matched = value[mine].masked_fill(~there, float("nan"))
    reason = worst[mine].masked_fill(~there, float(Reason.NOT_APPLICABLE))
    return matched, reason.masked_fill(~torch.isnan(matched), 0.0).to(torch.int8)
