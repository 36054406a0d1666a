"""Playing inside a stage: ask, join what was played to the batch, and read its score.

Greedy baselines, restarts, asking again, hints, rewritten problems and follow-ups use it.
All sample through `play`, so what they sample counts in the run's budget.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.pack import cat, pack
from guerdon.core.part import label
from guerdon.core.play import Env, Play
from guerdon.core.task import Ask


def play_scored(asks: Sequence[Ask], scores: Sequence[Any], play: Play, env: Env | None = None) -> Batch:
    """New tries at asks, with the columns that the scoring stages give them."""
    batch = pack(play(asks, env)) if asks else pack([])
    for stage in scores:
        batch = stage(batch, play)
    return batch


def play_more(
    batch: Batch, asks: Sequence[Ask], scores: Sequence[Any], play: Play, env: Env | None = None
) -> tuple[Batch, int]:
    """The batch with new tries behind its own, and the number that the first of the asks has there. A column of the one
    is *not applicable* to the other, unless both have it."""
    more, asked = play_scored(asks, scores, play, env), batch.size("ask")
    if more.episodes:
        return cat([batch, more]), asked
    lacking = [(n, c) for n, c in more.cols.items() if n not in batch.cols]
    return batch.with_cols({n: Column.empty(c.level, batch.size(c.level), like=c.value) for n, c in lacking}), asked


def asks_of(batch: Batch) -> dict[int, Ask]:
    """The asks of a batch by their number."""
    return {number: episode.ask for number, episode in zip(batch.ask_E.tolist(), batch.episodes, strict=True)}


def means(column: Column, rows: Tensor, key: Tensor, size: int, nothing: Reason) -> tuple[Tensor, Tensor]:
    """[size] twice: the mean of a column over the rows of each key, and the worst of their reasons for having none;
    `nothing` where there is no row."""
    value = gather_up(column.value[rows], key, size, "mean")
    worst = gather_up(column.reason[rows].double(), key, size, "max").nan_to_num(float(nothing))
    return value, worst.clamp(min=float(Reason.NOT_APPLICABLE))


def check_scores(scores: Sequence[Any], who: str) -> None:
    """Refuse scoring stages that could not score by themselves what a stage plays."""
    for stage in scores:
        if stage.needs:
            raise UserError(
                f"{who} scores what it plays itself, and {label(stage)} needs {', '.join(stage.needs)}: use score(...)"
            )
