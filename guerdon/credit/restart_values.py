"""Values and baselines that are sampled: Monte Carlo restarts in the middle of a track, and a greedy try at the same ask.

The places of a track are a chain, a tree of width 1 (`tree.py`), whose last node is where the track ended.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, means, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.levels import gather_up, starts
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play
from guerdon.core.task import Ask, Sampling
from guerdon.credit.track_steps import to_steps, with_step_column
from guerdon.credit.tree import Tree


@dataclass(frozen=True)
class Places:
    """Where tracks are started again, P of them, in the order of their tracks and along each."""

    track: Tensor  # [P]
    step: Tensor  # [P] the first step of the rollouts
    ask: Tensor  # [P] which of the asks is played from there
    asks: list[Ask]


@part
class restarts(FieldColumns):
    r"""$A_t = \hat V(s_{j+1}) - \hat V(s_j)$ for the steps between two places of a track, and $r - \hat V(s_j)$ after the
    last, with $\hat V(s_j)$ the mean score of `tries` rollouts from there (VinePPO, Kazemnejad et al. 2024,
    arXiv:2410.01679).

    Places are the beginnings of a track's segments and, with `every`, each so many steps inside them; with `below` before each
    so many steps that were sampled with a probability under it, where something was chosen (SPO-chain, Guo et al. 2025,
    arXiv:2505.23564: `below=0.9, every=5`); with `lines` after each so many line ends, the steps that have a number in that
    column (`line_ends` gives it). `score` is the stage that gave the reward; it scores the new tries too. They count in the
    budget: `tries` for each place of each track, but the start of an ask is played once for all of its tracks.

    *Assumes* an environment that does the same again for the same actions, and tracks that do not branch. Unbiased, for
    the new tries know nothing of what the track did after they left it; the gains of a track's places add up to $r -
    \hat V(s_0)$. A rollout has the whole token limit, slightly more than the track had left.

    Tracks without a reward get no rollouts and no advantage; nor have the steps on either side of a place none of
    whose tries has a score. `NAME/places` is logged, and column `value` is $\hat V$ at each step's place.

    Args:
        score: the stage that gave the reward.
        tries: rollouts from each place.
        every: steps between places inside a segment; 0 for none.
        gives_to: column of the advantage.
        values_to: column of the estimated values.
        below: count only steps sampled with a probability below this; 0 counts all.
        lines: column whose steps are line ends; "" for none.

    >>> import guerdon as gd
    >>> stage = gd.credit.restarts(gd.rewards.verified(gd.tasks.successor()), tries=4, every=16)
    >>> stage.needs, stage.gives
    (('correct',), ('advantage', 'value'))
    """

    score: Any
    tries: int = knob(default=9, ge=1)
    every: int = knob(default=0, ge=0)
    gives_to: Gives = "advantage"
    values_to: Gives = "value"
    below: float = knob(default=0.0, ge=0.0, le=1.0)
    lines: str = ""

    def __post_init__(self) -> None:
        check_scores([self.score], label(self))
        if (self.below or self.lines) and not self.every:
            raise UserError("restarts takes each so many unlikely steps or lines: say how many, every=1 or more")
        if self.below and self.lines:
            raise UserError("restarts cuts at unlikely steps (below=...) or at line ends (lines=...): leave one out")

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]), *([self.lines] if self.lines else []))

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if bool((batch.shared > 1).any()):
            raise UserError("restarts branches tracks itself: play them in an environment that does not")
        column = batch.cols[self.needs[0]]
        places = self._places(batch, column)
        played = play_scored(places.asks, [self.score], play)
        value_P, reason_P = values_of(batch, batch.role_K[places.track], places.ask, played, self.needs[0])
        play.log(**{f"{self.gives_to}/places": float(len(value_P))})
        tree = _chains(batch, places, value_P, column.value)
        because, kind = _worst(batch, places, reason_P), column.value.dtype
        batch = with_step_column(batch, self.gives_to, tree.gained().to(kind), column, because)
        return with_step_column(batch, self.values_to, tree.begun().to(kind), column, because)

    def _places(self, batch: Batch, column: Column) -> Places:
        asks, begin, cuts = sampled_asks(batch), starts(batch.length).tolist(), self._cuts(batch)
        track, step, asked, restart_asks = [], [], [], []
        starting: dict[int, int] = {}  # the asks whose start is played already
        wanted = (~column.missing).tolist()
        for k, g in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
            length, e, place = int(batch.length[g]), int(batch.episode[g]), int(batch.place[g])
            if not wanted[k] or length == 0:
                continue
            episode, number = batch.episodes[e], int(batch.ask_E[e])
            for at in self._inside(episode.segments[place].given, length, cuts[begin[g] : begin[g] + length]):
                is_start = place == 0 and at == 0
                if not is_start or number not in starting:
                    restart_asks.append(asks[number].but(n=self.tries, prefix=episode.prefix(place, at)))
                played_as = len(restart_asks) - 1
                track.append(k)
                step.append(begin[g] + at)
                asked.append(starting.setdefault(number, played_as) if is_start else played_as)
        numbers = torch.tensor([track, step, asked], dtype=torch.long)
        return Places(numbers[0], numbers[1], numbers[2], restart_asks)

    def _cuts(self, batch: Batch) -> list[bool]:
        """[S] the steps that count: those taken with a small probability, those that end a line, or all."""
        if self.below:
            chosen: list[bool] = (batch.logp < math.log(self.below)).tolist()  # what was recited has none
            return chosen
        ends: list[bool] = (~batch.cols[self.lines].missing).tolist() if self.lines else [True] * batch.S
        return ends

    def _inside(self, given: int, length: int, cuts: Sequence[bool]) -> list[int]:
        """How many actions of a segment stand before each of its places."""
        counted = [at for at in range(given, length) if cuts[at]]
        if not self.every:
            return [given] if given < length else []
        ended = [at + 1 for at in counted[self.every - 1 :: self.every]]
        chosen = counted[self.every :: self.every]  # the first of them lies behind the segment's beginning
        return [at for at in (given, *(ended if self.lines else chosen)) if at < length]


def _chains(batch: Batch, places: Places, value_P: Tensor, reward_K: Tensor) -> Tree:
    """A track's places one after the other, and then its end, worth what it got; its steps lead to the next of them."""
    size = len(value_P)
    last = torch.ones(size, dtype=torch.bool)
    last[:-1] = places.track[1:] != places.track[:-1]
    following = torch.where(last, size + places.track, torch.arange(size) + 1)  # [P]
    above = torch.full((size + batch.K,), -1, dtype=torch.long)
    above[following] = torch.arange(size)
    place_S = _place_of_steps(batch, places)
    node_S = torch.where(place_S >= 0, following[place_S.clamp(min=0)], -1) if size else place_S
    return Tree(above, torch.cat([value_P, reward_K]).double(), node_S)


def _worst(batch: Batch, places: Places, reason_P: Tensor) -> Column:
    """The worst reason among a track's places."""
    reason = gather_up(reason_P.double(), places.track, batch.K, "max").nan_to_num(0.0)
    return Column("track", torch.zeros(batch.K).masked_fill(reason > 0, float("nan")), reason.to(torch.int8))


def _place_of_steps(batch: Batch, places: Places) -> Tensor:
    """[S] the place that each step lies behind, in its own segment; -1 where there is none."""
    if not len(places.step):
        return torch.full((batch.S,), -1, dtype=torch.long)
    order = torch.argsort(places.step)
    at = torch.searchsorted(places.step[order], torch.arange(batch.S), right=True) - 1
    place = order[at.clamp(min=0)]
    same = (at >= 0) & (batch.seg[places.step[place]] == batch.seg)
    return torch.where(same, place, -1)


@part
class greedy_baseline(FieldColumns):
    r"""$A = r(x, y) - r(x, y_{greedy})$: the reward of the greedy answer to the same prompt is the baseline (ReMax, Li et
    al. 2023, arXiv:2310.10505).

    `score` is the stage that gave the reward (`score(...)`, `verified(...)`); it scores the greedy tries too. Every ask
    of the batch is played again at temperature 0, in all roles, and that counts in the budget as any other try.

    *Assumes* a reward that judges a track by itself: one that compares the tries of a group has nothing to compare the
    greedy one with. Unbiased: the greedy answer knows nothing of what was sampled. A deterministic environment is not
    needed. `NAME/greedy` is the mean greedy reward, `NAME/no_baseline` the share of tracks whose greedy try has no value.

    A track without a value has no advantage, nor has one whose greedy try failed.

    Args:
        score: the stage that gave the reward.
        gives_to: column of the advantage.

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
