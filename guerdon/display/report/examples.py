"""Example rollouts: which stored batches and which of their tracks the report shows.

Leaves out: what is shown of them (`samples.py`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column
from guerdon.core.manifest import Damaged
from guerdon.display.run.curve_titles import RANKS
from guerdon.runs.rollout_files import read_batch
from guerdon.runs.run import Run


@dataclass(frozen=True)
class StoredBatch:
    """A batch of the run folder. `is_fault`: it broke its step."""

    step: int
    is_fault: bool
    batch: Batch


def example_batches(run: Run, note: Callable[[str], None]) -> list[StoredBatch]:
    """Those of the first and the last stored step, and the one that broke the run, if one did. A file that is damaged is noted
    and left out."""
    steps = run.rollout_steps
    files = [(step, False, run.folder.rollouts(step)) for step in dict.fromkeys((*steps[:1], *steps[-1:]))]
    for path in sorted((run.path / "faults").glob("step-*.parquet"))[-1:]:
        step = int(path.stem.removeprefix("step-"))
        if step >= run.steps_done:  # a fault that a later attempt got past is not news
            files.append((step, True, path))
    batches = []
    for step, is_fault, path in files:
        try:
            batches.append(StoredBatch(step, is_fault, read_batch(path, step)))
        except Damaged as error:
            note(str(error))
    return batches


def _advantages(batch: Batch) -> Tensor | None:
    """[S] the advantage of each step; None where the batch has none."""
    column = _advantage_column(batch)
    return None if column is None else batch.down(column.value, column.level)


def _advantage_column(batch: Batch) -> Column | None:
    """`advantage`, or the first column that has the word in its name."""
    named = [n for n, c in batch.cols.items() if "advantage" in n and c.value.dim() == 1]
    return batch.cols[min(named, key=lambda n: n != "advantage")] if named else None


def choose(batch: Batch) -> list[tuple[str, int]]:
    """A best, a middle and a worst track for every role, and one whose score failed, each with its label."""
    chosen: list[tuple[str, int]] = []
    for i in range(len(batch.roles)):
        tracks = torch.nonzero(batch.role_K == i).flatten().tolist()
        chosen += _of_role(batch, tracks) if tracks else []
    return chosen


def _of_role(batch: Batch, tracks: Sequence[int]) -> list[tuple[str, int]]:
    name, score = _ranking(batch, tracks)
    credit = _credit(batch)  # among equals the most surprising ones say most
    order = sorted((k for k in tracks if not math.isnan(score[k])), key=lambda k: (score[k], credit[k]))
    places = (-1, len(order) // 2, 0) if order and score[order[0]] != score[order[-1]] else (0,) if order else ()
    chosen = [(_label(name, score[order[at]], i, len(places)), order[at]) for i, at in enumerate(places)]
    broken = [k for k in tracks if any(c.level == "track" and bool(c.broken[k]) for c in batch.cols.values())]
    chosen += [("a score failed", k) for k in broken[:1]]
    unique = {k: label for label, k in reversed(chosen)}
    return [(label, k) for label, k in chosen if unique.get(k) == label] or [("one track", tracks[0])]


def _label(name: str, value: float, place: int, places: int) -> str:
    """The label of a track, the best coming first: right or wrong, or its place by another column."""
    if name == "correct" and value in (0.0, 1.0):
        kind = "right" if value else "wrong"
        return f"every try is {kind}" if places == 1 else f"another {kind} try" if place == 1 else f"a {kind} try"
    return f"all alike in {name}" if places == 1 else f"{('highest', 'middle', 'lowest')[place]} {name}"


def _ranking(batch: Batch, tracks: Sequence[int]) -> tuple[str, list[float]]:
    """The column that ranks these tracks, and its number for every track of the batch."""
    plain = [n for n, c in batch.cols.items() if c.level == "track" and c.value.dim() == 1]
    for name in sorted(plain, key=lambda n: RANKS.index(n) if n in RANKS else len(RANKS)):
        value: list[float] = batch[name].tolist()
        if any(not math.isnan(value[k]) for k in tracks):
            return name, value
    credit = _credit(batch)
    return ("advantage", credit) if any(credit) else ("score", [math.nan] * batch.K)


def _credit(batch: Batch) -> list[float]:
    """[K] the mean advantage of each track's steps; 0 where there is none."""
    shown = _advantages(batch)
    means: list[float] = [0.0] * batch.K if shown is None else batch.up(shown, "track", by="mean").nan_to_num().tolist()
    return means
