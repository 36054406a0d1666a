"""Example rollouts: which tracks of the first and last stored steps to show, and every number that stands beside them."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.levels import starts
from guerdon.store.checksums import Damaged
from guerdon.store.report.markup import key_of
from guerdon.store.report.views import told
from guerdon.store.rollout_files import read_batch
from guerdon.store.run import Run

STEPS_SHOWN = 600  # of one segment, each with its own colour; what follows is coloured as one
RANKS = ("reward", "correct")  # the columns that say which track is better, the first that has values


@dataclass(frozen=True)
class Entry:
    """One column's word about a track. `key` names its number; without one, `reason` says why there is none."""

    name: str
    key: str | None
    reason: str
    error: str = ""
    detail: str = ""


@dataclass(frozen=True)
class Piece:
    """One segment: what was shown, what was said, and the rows of its steps. `chars` is whether a step is a character."""

    view: str
    text: str
    rows: range
    chars: bool
    segment: Segment


@dataclass(frozen=True)
class Example:
    """One track to show. Numbers are under `rollout/STEP/TRACK/...` and `rollout/STEP/row/...`."""

    step: int
    stored: str  # "rollouts" or "faults"
    track: int
    label: str
    role: str
    episode: Episode
    pieces: list[Piece]
    entries: list[Entry]

    @property
    def group(self) -> str:
        """What the keys of this batch's numbers start with."""
        return key_of("rollout" if self.stored == "rollouts" else "fault", self.step)


def find_examples(run: Run, values: dict[str, float], note: Callable[[str], None]) -> list[Example]:
    """Tracks of the first and the last stored step, and of the batch that broke the run, if one did. A file that is damaged is
    noted and left out."""
    steps = run.rollout_steps
    chosen = [(step, "rollouts", run.folder.rollouts(step)) for step in dict.fromkeys((*steps[:1], *steps[-1:]))]
    for path in sorted((run.path / "faults").glob("step-*.parquet"))[-1:]:
        step = int(path.stem.removeprefix("step-"))
        if step >= run.steps_done:  # a fault that a later attempt got past is no news
            chosen.append((step, "faults", path))
    found: list[Example] = []
    for step, stored, path in chosen:
        try:
            found += _of_batch(read_batch(path, step), step, stored, values)
        except Damaged as error:
            note(str(error))
    return found


def _of_batch(batch: Batch, step: int, stored: str, values: dict[str, float]) -> list[Example]:
    advantage = advantage_column(batch)
    shown = _shown_steps(batch, advantage)
    chars = _spelled(batch)
    made = []
    for label, k in choose(batch):
        segments = batch.path_seg[batch.path_track == k].tolist()
        episode = batch.episodes[int(batch.episode[segments[-1]])]
        pieces = [_piece(batch, episode, g, chars) for g in segments]
        role = batch.roles[int(batch.role_K[k])]
        example = Example(step, stored, k, label, role if len(batch.roles) > 1 else "", episode, pieces, [])
        example.entries.extend(_entries(batch, k, example, values))
        _row_numbers(batch, example, shown, values)
        values[key_of(example.group, "step")] = step
        made.append(example)
    if made and shown is not None and bool((~torch.isnan(shown)).any()):
        values[key_of(made[0].group, "largest")] = float(shown[~torch.isnan(shown)].abs().max())
    return made


def advantage_column(batch: Batch) -> Column | None:
    """`advantage`, or the first column that has the word in its name."""
    named = [n for n, c in batch.cols.items() if "advantage" in n and c.value.dim() == 1]
    return batch.cols[min(named, key=lambda n: n != "advantage")] if named else None


def _shown_steps(batch: Batch, column: Column | None) -> Tensor | None:
    """[S] the number that colours each step."""
    if column is None:
        return None
    return batch.down(column.value, column.level)


# --- which tracks ---------------------------------------------------------------------------------------------------


def choose(batch: Batch) -> list[tuple[str, int]]:
    """A best, a middle and a worst track for every role, and one whose score failed, each with what it stands for."""
    found: list[tuple[str, int]] = []
    for i in range(len(batch.roles)):
        tracks = torch.nonzero(batch.role_K == i).flatten().tolist()
        found += _of_role(batch, tracks) if tracks else []
    return found


def _of_role(batch: Batch, tracks: Sequence[int]) -> list[tuple[str, int]]:
    name, score = _ranking(batch, tracks)
    credit = _credit(batch)  # among equals the most surprising ones say most
    order = sorted((k for k in tracks if not math.isnan(score[k])), key=lambda k: (score[k], credit[k]))
    found: list[tuple[str, int]] = []
    if order and score[order[0]] == score[order[-1]]:
        found = [(f"all alike in {name}", order[0])]
    elif order:
        found = [(f"best {name}", order[-1]), (f"middle {name}", order[len(order) // 2]), (f"worst {name}", order[0])]
    broken = [k for k in tracks if any(c.level == "track" and bool(c.broken[k]) for c in batch.cols.values())]
    found += [("a score failed", k) for k in broken[:1]]
    unique = {k: label for label, k in reversed(found)}
    return [(label, k) for label, k in found if unique.get(k) == label] or [("one track", tracks[0])]


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
    shown = _shown_steps(batch, advantage_column(batch))
    found: list[float] = [0.0] * batch.K if shown is None else batch.up(shown, "track", by="mean").nan_to_num().tolist()
    return found


# --- what is said about them ----------------------------------------------------------------------------------------


def _piece(batch: Batch, episode: Episode, g: int, chars: dict[int, bool]) -> Piece:
    segment = episode.segments[int(batch.place[g])]
    begin = int(starts(batch.length)[g])
    steps = range(begin, begin + int(batch.length[g]))
    return Piece(told(segment.view), segment.text, steps, chars[int(batch.role[g])], segment)


def _spelled(batch: Batch) -> dict[int, bool]:
    """By role: whether every action is one character of the text, but for an end action after the last.

    The store has no tokeniser, so it asks the whole batch: lengths must fit, and an action must mean the same character
    everywhere. Equal lengths alone would be fooled by two-character tokens with an end token behind them.
    """
    fits = dict.fromkeys(range(len(batch.roles)), batch.action.dim() == 1 and not batch.action.is_floating_point())
    means: dict[tuple[int, int], str] = {}
    begin = starts(batch.length).tolist()
    for g, length in enumerate(batch.length.tolist()):
        role = int(batch.role[g])
        text = batch.episodes[int(batch.episode[g])].segments[int(batch.place[g])].text
        if not fits[role] or length - len(text) not in (0, 1):
            fits[role] = False
            continue
        spelled = [*text, ""][:length]  # "" is what an end action says
        actions = batch.action[begin[g] : begin[g] + length].tolist()
        fits[role] = all(means.setdefault((role, a), c) == c for a, c in zip(actions, spelled, strict=True))
    return fits


def _entries(batch: Batch, k: int, example: Example, values: dict[str, float]) -> list[Entry]:
    """Every column's word about a track: its number, or the mean over its steps or segments, or why there is none."""
    made = []
    for name, column in batch.cols.items():
        if column.value.dim() != 1:
            continue
        if column.level == "track":
            number, reason, detail = float(column.value[k]), Reason(int(column.reason[k])), column.detail.get(k)
        else:
            number = float(batch.up(column.value.double(), "track", of=column.level, by="mean")[k])
            reason, detail = _worst_reason(batch, column, k), None
        key = key_of(example.group, k, name)
        if not math.isnan(number):
            values[key] = number
        made.append(_entry(name, None if math.isnan(number) else key, reason, detail))
    values[key_of(example.group, k, "length")] = sum(len(p.rows) for p in example.pieces)
    return made


def _worst_reason(batch: Batch, column: Column, k: int) -> Reason:
    worst = float(batch.up(column.reason.double(), "track", of=column.level, by="max")[k])
    return Reason.NOT_APPLICABLE if math.isnan(worst) else Reason(int(worst))


def _entry(name: str, key: str | None, reason: Reason, detail: Any) -> Entry:
    error = str(detail["error"]) if isinstance(detail, dict) and "error" in detail else ""
    rest = {n: v for n, v in detail.items() if n != "error"} if isinstance(detail, dict) else detail
    return Entry(name, key, reason.name, error, json.dumps(rest, ensure_ascii=False) if rest else "")


def _row_numbers(batch: Batch, example: Example, shown: Tensor | None, values: dict[str, float]) -> None:
    """The advantage and log-prob of each step shown on its own, and the means over those that are shown together."""
    for piece in example.pieces:
        parts = {"advantage": shown, "logp": batch.logp}
        for name, tensor in parts.items():
            if tensor is None:
                continue
            numbers = tensor.double()[piece.rows.start : piece.rows.stop]
            for row, number in zip(piece.rows[:STEPS_SHOWN], numbers.tolist(), strict=False):
                if math.isfinite(number):
                    values[key_of(example.group, "row", f"{name}@{row}")] = number
            for what, some in (("whole", numbers), ("rest", numbers[STEPS_SHOWN:])):
                valued = some[~torch.isnan(some)]
                if len(valued):
                    values[key_of(example.group, what, f"{name}@{piece.rows.start}")] = float(valued.mean())
        if len(piece.rows) > STEPS_SHOWN:
            values[key_of(example.group, "rest", f"steps@{piece.rows.start}")] = len(piece.rows) - STEPS_SHOWN
