"""Preferences from what a run stored, as lines that preference trainers read: {"prompt", "chosen", "rejected", "margin"}.

A prompt is a list of messages, and an answer the messages that followed it: TRL's conversational form.
Leaves out: people's preferences (`runs/label_files.py`).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError, unknown
from guerdon.data.trace_files import messages_of
from guerdon.runs.run import Run
from guerdon.runs.whole_files import atomic
from guerdon.select.pairs import ordered_pairs, valued_groups

RANKS = ("reward", "correct")  # the columns that tell which of two tries is better: the first that a run has


@dataclass
class WrittenPairs:
    """How many pairs were written, what told them, and how many there were besides."""

    pairs: int = 0
    told_by: str = "the run's own pairs"
    twice: int = 0  # the same texts again, or two that are equal
    apart: int = 0  # tries that were not shown the same


def export_pairs(run: str | Path | Run, path: str | Path, by: str | None = None, least: float = 0.0) -> WrittenPairs:
    """Write pairs of a better and a worse answer to the same prompt from a run's stored rollouts.

    They are those that the run learned from, where it learned from pairs. Elsewhere, or where `by` names a column, they are the
    best and the worst try at each prompt of each step by that column, `least` apart. Failed tries are left out.
    """
    stored = run if isinstance(run, Run) else Run(run)
    if not stored.rollout_steps:
        raise UserError(f"{stored.folder.named} holds no rollouts: train with --rollouts-every 1")
    written = WrittenPairs()
    lines: dict[str, float | None] = {}
    for _, batch in stored.batches():
        for row, margin in _rows(batch, by, least, written):
            key = json.dumps(row, ensure_ascii=False)
            if key in lines or row["chosen"] == row["rejected"]:
                written.twice += 1
            else:
                lines[key] = margin
    written.pairs = len(lines)
    if not lines:
        raise UserError(f"{stored.folder.named} has no two tries at a prompt that {written.told_by} tells apart")
    with atomic(Path(path)) as file:
        file.write_text("".join(_line(key, margin) for key, margin in lines.items()), encoding="utf-8", newline="\n")
    return written


def _line(key: str, margin: float | None) -> str:
    return json.dumps({**json.loads(key), **({} if margin is None else {"margin": margin})}, ensure_ascii=False) + "\n"


def _rows(
    batch: Batch, by: str | None, least: float, written: WrittenPairs
) -> Iterator[tuple[dict[str, Any], float | None]]:
    """Each pair's texts, and how much better the better one is, where that is known."""
    failed = batch.failed_K.tolist()
    for better, worse, margin in _pairs(batch, by, least, written):
        if failed[better] or failed[worse]:
            continue
        (prompt, chosen), (other, rejected) = _said(batch, better), _said(batch, worse)
        if prompt != other:
            written.apart += 1
        else:
            yield {"prompt": prompt, "chosen": chosen, "rejected": rejected}, margin


def _pairs(
    batch: Batch, by: str | None, least: float, written: WrittenPairs
) -> Iterator[tuple[int, int, float | None]]:
    if by is None and batch.pairs is not None:
        pairs = batch.pairs
        for i, j, margin, label in zip(*(x.tolist() for x in vars(pairs).values()), strict=True):
            if label != 0.5:
                yield (i, j, margin or None) if label > 0.5 else (j, i, margin or None)
        return
    known = [name for name, column in batch.cols.items() if column.level == "track"]
    column = next((name for name in RANKS if name in known), "") if by is None else by
    if not column:
        raise UserError(
            "the run has no pairs, and no reward by which to make some: --by COLUMN names what orders its tries"
        )
    if column not in known:
        raise unknown("column to order tries by", column, known)
    written.told_by = column
    value, missing = batch.cols[column].value.tolist(), batch.cols[column].missing.tolist()
    for tracks in valued_groups(batch, "ask", missing):
        for i, j in ordered_pairs(tracks, value, "extremes", least):
            yield i, j, value[i] - value[j]


def _said(batch: Batch, track: int) -> tuple[list[Any], list[Any]]:
    """A track's messages: what it was shown first, and all that followed."""
    path = batch.path_seg[batch.path_track == track].tolist()
    episode = batch.episodes[int(batch.episode[path[0]])]
    messages = messages_of(episode, [episode.segments[int(batch.place[g])] for g in path])
    first = next((n for n, each in enumerate(messages) if each["role"] == "assistant"), len(messages))
    return messages[:first], messages[first:]
