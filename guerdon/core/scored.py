"""What every stage needs that plays and scores for itself: to ask, to join what came of it, to tell what follows what.

Greedy baselines, restarts, asking again, hints, rewritten problems and follow-ups are uses of it. All sample through `play`,
so what they sample counts in the run's budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.pack import cat, pack, places
from guerdon.core.part import label
from guerdon.core.play import Env, Play
from guerdon.core.task import Ask

FOLLOWS = "follows"  # in an ask's note: the tracks it follows, each as `links` names it


def play_scored(
    asks: Sequence[Ask],
    scores: Sequence[Any],
    play: Play,
    env: Env | None = None,
    seats: Mapping[str, str] | None = None,
) -> Batch:
    """New tries at asks, with the columns that the scoring stages give them."""
    batch = pack(play(asks, env, seats)) if asks else pack([])
    for stage in scores:
        batch = stage(batch, play)
    return batch


def play_more(
    batch: Batch, asks: Sequence[Ask], scores: Sequence[Any], play: Play, env: Env | None = None
) -> tuple[Batch, int]:
    """The batch with new tries behind its own, and the number that the first of the asks has there. What a column says of
    the one is *not applicable* to the other, unless both have it."""
    more, asked = play_scored(asks, scores, play, env), batch.size("ask")
    if more.episodes:
        return cat([batch, more]), asked
    lacking = {n: c for n, c in more.cols.items() if n not in batch.cols}
    return batch.with_cols(
        {n: Column.empty(c.level, batch.size(c.level), like=c.value) for n, c in lacking.items()}
    ), asked


def asks_of(batch: Batch) -> dict[int, Ask]:
    """The asks of a batch by their number."""
    return {number: episode.ask for number, episode in zip(batch.ask_E.tolist(), batch.episodes, strict=True)}


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
    found = value[mine].masked_fill(~there, float("nan"))
    reason = worst[mine].masked_fill(~there, float(Reason.NOT_APPLICABLE))
    return found, reason.masked_fill(~torch.isnan(found), 0.0).to(torch.int8)


def means(column: Column, rows: Tensor, key: Tensor, size: int, nothing: Reason) -> tuple[Tensor, Tensor]:
    """[size] twice: the mean of a column over the rows of each key, and the worst of their reasons for having none;
    `nothing` where there is no row."""
    value = gather_up(column.value[rows], key, size, "mean")
    worst = gather_up(column.reason[rows].double(), key, size, "max").nan_to_num(float(nothing))
    return value, worst.clamp(min=float(Reason.NOT_APPLICABLE))


def links(batch: Batch) -> list[list[Any]]:
    """[K] each track by a name that outlives the batch: its episode's key, the number of its last segment there once the
    batch is joined with others, and how many segments there were."""
    place, size = places(batch), torch.bincount(batch.episode, minlength=len(batch.episodes)).tolist()
    ends = zip(batch.episode[batch.leaf].tolist(), batch.leaf.tolist(), strict=True)
    return [[batch.episodes[e].key, place[g], size[e]] for e, g in ends]


def followed(batch: Batch) -> tuple[Tensor, Tensor]:
    """[F] twice: a track that follows another, and the other, where both are in the batch."""
    track = {(e.key, p): k for k, (e, p) in enumerate(_ends(batch))}
    size = {episode.key: len(episode.segments) for episode in batch.episodes}
    late, early = [], []
    for k, (episode, _) in enumerate(_ends(batch)):
        for key, place, segments in episode.ask.note.get(FOLLOWS, ()):
            if size.get(key, segments) < segments:
                raise UserError(
                    f"what follows episode {key} cannot be told since tracks of it were taken away: ask before"
                )
            if (key, place) in track:
                late.append(k)
                early.append(track[key, place])
    return torch.tensor(late, dtype=torch.long), torch.tensor(early, dtype=torch.long)


def _ends(batch: Batch) -> list[tuple[Any, int]]:
    """[K] each track's episode, and the number of its last segment there."""
    rows = zip(batch.episode[batch.leaf].tolist(), batch.place[batch.leaf].tolist(), strict=True)
    return [(batch.episodes[e], place) for e, place in rows]


def check_scores(scores: Sequence[Any], who: str) -> None:
    """Refuse scoring stages that could not score by themselves what a stage plays."""
    for stage in scores:
        if stage.needs:
            raise UserError(
                f"{who} scores what it plays itself, and {label(stage)} needs {', '.join(stage.needs)}: use score(...)"
            )


def given_by(scores: Sequence[Any]) -> tuple[str, ...]:
    """The columns that scoring stages give."""
    return tuple(name for stage in scores for name in stage.gives)
