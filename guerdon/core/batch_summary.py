"""A batch in a few words, and as a table of its first tracks: what a prompt or a notebook shows of it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from guerdon.core.column import Column, Reason
from guerdon.core.html import page, table

if TYPE_CHECKING:
    from guerdon.core.batch import Batch

TRACKS = 10  # shown as rows
FIRST = ("reward", "correct", "advantage")  # columns that a row shows


def in_words(batch: Batch) -> str:
    """The lines of `repr(batch)`."""
    width = max(map(len, batch.cols), default=0)
    lines = [f"  {name:<{width}}  {column.in_words}" for name, column in batch.cols.items()]
    return "\n".join([f"Batch({_sizes(batch)})", *lines])


def as_html(batch: Batch) -> str:
    columns = [
        (name, column.level, column.mean, len(column.value), int(column.missing.sum()))
        for name, column in batch.cols.items()
    ]
    shown = {name: batch.cols[name] for name in FIRST if name in batch.cols and batch.cols[name].value.dim() == 1}
    values = [_of_tracks(batch, column) for column in shown.values()]
    rows = [(*_said(batch, track), *(of[track] for of in values)) for track in range(batch.K)]
    return page(
        f"Batch: {_sizes(batch)}",
        table(("column", "per", "mean", "count", "missing"), columns) if columns else "",
        table(("episode", "role", "prompt", "completion", *shown), rows, most=TRACKS) if rows else "",
    )


def _sizes(batch: Batch) -> str:
    pairs = f", {len(batch.pairs)} pairs" if batch.pairs is not None else ""
    return f"{len(batch.episodes)} episodes, {batch.G} segments, {batch.K} tracks, {batch.S} steps{pairs}"


def _said(batch: Batch, track: int) -> tuple[Any, ...]:
    leaf = int(batch.leaf[track])
    episode = batch.episodes[int(batch.episode[leaf])]
    last = episode.segments[int(batch.place[leaf])]
    return episode.key, last.role, episode.ask.shown, last.text


def _of_tracks(batch: Batch, column: Column) -> list[Any]:
    """[K] a track's number, the mean over its steps or segments, or why there is none."""
    value, reason = column.value.double(), column.reason.double()
    if column.level != "track":
        value = batch.up(value, "track", of=column.level, by="mean")
        reason = batch.up(reason, "track", of=column.level, by="max").nan_to_num(float(Reason.NOT_APPLICABLE))
    why = [Reason(int(r)).name.lower().replace("_", " ") for r in reason.tolist()]
    return [w if math.isnan(v) else v for v, w in zip(value.tolist(), why, strict=True)]
