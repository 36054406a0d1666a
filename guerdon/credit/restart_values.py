"""Values by playing on: tries that start again in the middle of a track say what its beginning was worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, play_scored
from guerdon.core.field_columns import FieldColumns, Gives
from guerdon.core.levels import gather_up, starts
from guerdon.core.part import knob, label, part
from guerdon.core.play import Play
from guerdon.core.task import Ask
from guerdon.credit.greedy import sampled_asks, values_of
from guerdon.credit.track_steps import with_step_column


@dataclass(frozen=True)
class Places:
    """Where tracks are started again, P of them, in the order of their tracks and along each."""

    track: Tensor  # [P]
    step: Tensor  # [P] the first step that is played anew
    asks: list[Ask]


@part
class restarts(FieldColumns):
    r"""$A_t = \hat V(s_{j+1}) - \hat V(s_j)$ for the steps between two places of a track, and $r - \hat V(s_j)$ after the
    last, with $\hat V(s_j)$ the mean score of `tries` that go on from there (VinePPO, Kazemnejad et al. 2024,
    arXiv:2410.01679).

    Places are the beginnings of a track's segments and, with `every`, each so many steps inside them. `score` is the stage
    that gave the reward; it scores the new tries too. They count in the budget: `tries` for each place of each track.

    *Assumes* an environment that does the same again for the same actions, and tracks that do not branch. Unbiased, for
    the new tries know nothing of what the track did after they left it; the gains of a track's places add up to $r -
    \hat V(s_0)$. A try that goes on has the whole limit of tokens before it, a little more than the track had left.

    Tracks without a reward are not played on and have no advantage; nor have the steps on either side of a place none of
    whose tries has a score. `NAME/places` is logged, and column `value` is $\hat V$ at each step's place.

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

    def __post_init__(self) -> None:
        check_scores([self.score], label(self))

    @property
    def needs(self) -> tuple[str, ...]:
        return (str(self.score.gives[0]),)

    def __call__(self, batch: Batch, play: Play) -> Batch:
        if bool((batch.shared > 1).any()):
            raise UserError("restarts branches tracks itself: play them in an environment that does not")
        column = batch.cols[self.needs[0]]
        places = self._places(batch, column)
        played = play_scored(places.asks, [self.score], play)
        role_P, place_P = batch.role_K[places.track], torch.arange(len(places.asks))
        value_P, reason_P = values_of(batch, role_P, place_P, played, self.needs[0])
        after_P = column.value[places.track].clone()  # of the last place: the track's own reward
        same = places.track[1:] == places.track[:-1]
        after_P[:-1] = torch.where(same, value_P[1:], after_P[:-1])
        play.log(**{f"{self.gives_to}/places": float(len(value_P))})
        place_S = _place_of_steps(batch, places)
        because = _worst(batch, places, reason_P)
        batch = with_step_column(batch, self.gives_to, _at(after_P - value_P, place_S), column, because)
        return with_step_column(batch, self.values_to, _at(value_P, place_S), column, because)

    def _places(self, batch: Batch, column: Column) -> Places:
        asks, begin = sampled_asks(batch), starts(batch.length).tolist()
        track, step, restart_asks = [], [], []
        wanted = (~column.missing).tolist()
        for k, g in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
            length, e, place = int(batch.length[g]), int(batch.episode[g]), int(batch.place[g])
            if not wanted[k] or length == 0:
                continue
            episode = batch.episodes[e]
            for at in range(episode.segments[place].given, length, self.every or length):
                track.append(k)
                step.append(begin[g] + at)
                ask = asks[int(batch.ask_E[e])]
                restart_asks.append(ask.but(n=self.tries, prefix=episode.prefix(place, at)))
        return Places(torch.tensor(track, dtype=torch.long), torch.tensor(step, dtype=torch.long), restart_asks)


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


def _at(x_P: Tensor, place_S: Tensor) -> Tensor:
    if not len(x_P):
        return torch.full((len(place_S),), float("nan"))
    return torch.where(place_S >= 0, x_P[place_S.clamp(min=0)], float("nan"))
