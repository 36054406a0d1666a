"""A track as people read it: views, texts, each step in the colour of its advantage, its columns beside it.

Numbers have keys under `rollout/STEP/TRACK/...` and `rollout/STEP/row/...`; those of a batch that broke its step begin with
`fault`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.levels import starts
from guerdon.display.report.examples import StoredBatch, step_advantages
from guerdon.display.report.shown_numbers import ShownNumber, key_of, show
from guerdon.display.report.troubles import ErrorText, error_text
from guerdon.display.report.views import view_text

STEPS_SHOWN = 600  # of one segment, each with its own colour; what follows is coloured as one
REASONS = {
    Reason.NOT_APPLICABLE: "not applicable",
    Reason.FAILED: "failed",
    Reason.TIMED_OUT: "timed out",
    Reason.VALUE: "no value",
}
ENDS = {
    End.DONE: "ended by itself",
    End.CUT: "cut short by a limit",
    End.FAILED: "failed",
    End.STOPPED: "stopped at a stop string",
}


@dataclass(frozen=True)
class ColouredText:
    """A stretch of text in the colour of its advantage, with its advantage and log-prob to be read on pointing at it.

    `tone` is its class in the style, `depth` how strong the colour is. `text` is None for an action that ends the text.
    """

    text: str | None
    tone: str
    depth: str
    title: str
    keys: list[str]


@dataclass(frozen=True)
class ActedSegment:
    """A role's view and its text.

    Where a step is a character, `text` has a stretch for each.
    Otherwise it is one stretch, and `strip` has a cell for each step.
    """

    view: str
    text: list[ColouredText]
    strip: list[ColouredText] | None
    steps_more: ShownNumber | None


@dataclass(frozen=True)
class ColumnEntry:
    """One column's word about a track: a number, or the reason why there is none."""

    name: str
    number: ShownNumber | None
    reason: str
    reason_tone: str
    error: ErrorText | None
    detail: str


@dataclass(frozen=True)
class RolloutView:
    """One track. `role` is empty where there is only one."""

    label: str
    role: str
    end: str
    length: ShownNumber
    unit: str  # what it is a length in
    segments: list[ActedSegment]
    answer: str
    error: ErrorText | None
    columns: list[ColumnEntry]


@dataclass(frozen=True)
class RolloutGroup:
    """The tracks of one batch. `largest` is the largest advantage in it, to either side; None where it has none."""

    step: ShownNumber
    is_fault: bool
    largest: ShownNumber | None
    rollouts: list[RolloutView]


def rollout_group(stored: StoredBatch, chosen: Sequence[tuple[str, int]]) -> RolloutGroup:
    """Some tracks of a batch, each under a label."""
    colours = _Colours(stored)
    spelled = _spelled(stored.batch)
    rollouts = [_rollout(colours, label, track, spelled) for label, track in chosen]
    largest = None if colours.largest is None else ShownNumber(colours.key("largest"), show(colours.largest))
    step = ShownNumber(colours.key("step"), show(stored.step, "count"))
    return RolloutGroup(step, stored.is_fault, largest, rollouts)


class _Colours:
    """The advantages and log-probs of a batch's steps, and the colours that come of them."""

    def __init__(self, stored: StoredBatch) -> None:
        self.batch, self.begin = stored.batch, key_of("fault" if stored.is_fault else "rollout", stored.step)
        advantage = step_advantages(stored.batch)
        self.advantage = None if advantage is None else advantage.double()
        self.logp = stored.batch.logp.double()
        self.largest: float | None = None
        if advantage is not None and bool((~torch.isnan(advantage)).any()):
            self.largest = float(advantage[~torch.isnan(advantage)].abs().max())

    def key(self, *parts: str | int) -> str:
        """Of a number of this batch."""
        return key_of(self.begin, *parts)

    def steps(self, rows: range, texts: Sequence[str | None]) -> list[ColouredText]:
        """One stretch a step."""
        logps = self.logp[rows.start : rows.stop].tolist()
        advantages = [None] * len(rows)
        if self.advantage is not None:
            advantages = self.advantage[rows.start : rows.stop].tolist()
        return [
            self._coloured(text, "", _if_finite(advantage), _if_finite(logp), "row", row)
            for text, advantage, logp, row in zip(texts, advantages, logps, rows, strict=True)
        ]

    def together(self, rows: range, text: str, what: str, named: int) -> ColouredText:
        """Several steps as one stretch, by their means. `named` is the row that its keys name."""
        advantage = None if self.advantage is None else _mean(self.advantage[rows.start : rows.stop])
        return self._coloured(text, "mean ", advantage, _mean(self.logp[rows.start : rows.stop]), what, named)

    def _coloured(
        self, text: str | None, lead: str, advantage: float | None, logp: float | None, what: str, row: int
    ) -> ColouredText:
        tone = "none" if advantage is None else "pos" if advantage > 0 else "neg" if advantage < 0 else "nil"
        depth = abs(advantage) / self.largest if advantage and self.largest else 0.0
        words = [
            f"{lead}advantage {'none' if advantage is None else show(advantage, 'signed')}",
            f"{lead}log-prob {'none' if logp is None else show(logp)}",
        ]
        numbers = {"advantage": advantage, "logp": logp}
        keys = [self.key(what, f"{name}@{row}") for name, value in numbers.items() if value is not None]
        return ColouredText(text, tone, f"{0.12 + 0.58 * depth:.2f}" if depth else "", ", ".join(words), keys)


def _if_finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _mean(values: Tensor) -> float | None:
    valued = values[~torch.isnan(values)]
    return float(valued.mean()) if len(valued) else None


def _rollout(colours: _Colours, label: str, track: int, spelled: dict[int, bool]) -> RolloutView:
    batch = colours.batch
    segments = batch.path_seg[batch.path_track == track].tolist()
    episode = batch.episodes[int(batch.episode[segments[-1]])]
    last = episode.segments[int(batch.place[segments[-1]])]
    role = batch.roles[int(batch.role_K[track])] if len(batch.roles) > 1 else ""
    length = sum(int(batch.length[g]) for g in segments)
    error = episode.info.get("error")
    return RolloutView(
        label,
        role,
        ENDS[last.end],
        ShownNumber(colours.key(track, "length"), show(length, "count")),
        _unit(batch, [episode.segments[int(batch.place[g])].text for g in segments], length),
        [_segment(colours, g, spelled[int(batch.role[g])]) for g in segments],
        episode.task.answer,
        error_text(str(error), "no message") if "error" in episode.info else None,
        [_column(colours, name, column, track) for name, column in batch.cols.items() if column.value.dim() == 1],
    )


def _unit(batch: Batch, texts: Sequence[str], length: int) -> str:
    """What a step of a track is, in the word for one or more: a token of a text, or an action."""
    is_text = batch.action.dim() == 1 and not batch.action.is_floating_point() and any(texts)
    return f"{'token' if is_text else 'action'}{'s' * (length != 1)}"


def _segment(colours: _Colours, g: int, is_spelled: bool) -> ActedSegment:
    batch = colours.batch
    segment = batch.episodes[int(batch.episode[g])].segments[int(batch.place[g])]
    begin = int(starts(batch.length)[g])
    rows = range(begin, begin + int(batch.length[g]))
    shown, rest = rows[:STEPS_SHOWN], rows[STEPS_SHOWN:]
    if is_spelled:
        text = colours.steps(shown, [*segment.text, None][: len(shown)])
        if rest:
            text.append(colours.together(rest, segment.text[STEPS_SHOWN:], "rest", begin))
        return ActedSegment(view_text(segment.view), text, None, None)
    more = ShownNumber(colours.key("rest", f"steps@{begin}"), show(len(rest), "count")) if rest else None
    whole = colours.together(rows, segment.text, "whole", begin)
    return ActedSegment(view_text(segment.view), [whole], colours.steps(shown, [""] * len(shown)), more)


def _column(colours: _Colours, name: str, column: Column, track: int) -> ColumnEntry:
    """Its number about a track, or the mean over the track's steps or segments, or why there is none."""
    if column.level == "track":
        value, reason = float(column.value[track]), Reason(int(column.reason[track]))
        detail = column.detail.get(track)
    else:
        means = colours.batch.up(column.value.double(), "track", of=column.level, by="mean")
        value, reason, detail = float(means[track]), _worst_reason(colours.batch, column, track), None
    number = None if math.isnan(value) else ShownNumber(colours.key(track, name), show(value))
    error, rest = split_detail(detail)
    tone = reason.name.lower().replace("_", "-")
    return ColumnEntry(name, number, REASONS[reason], tone, error_text(error, "no message") if error else None, rest)


def split_detail(detail: Any) -> tuple[str, str]:
    """The error in a column's detail, and the rest of it as JSON."""
    error = str(detail["error"]) if isinstance(detail, dict) and "error" in detail else ""
    rest = {n: v for n, v in detail.items() if n != "error"} if isinstance(detail, dict) else detail
    return error, json.dumps(rest, ensure_ascii=False) if rest else ""


def _worst_reason(batch: Batch, column: Column, track: int) -> Reason:
    worst = float(batch.up(column.reason.double(), "track", of=column.level, by="max")[track])
    return Reason.NOT_APPLICABLE if math.isnan(worst) else Reason(int(worst))


def _spelled(batch: Batch) -> dict[int, bool]:
    """By the number of a role: whether every action is one character of the text."""
    whole_numbers = batch.action.dim() == 1 and not batch.action.is_floating_point()
    begin = starts(batch.length).tolist()
    rows = (
        (batch.roles[int(batch.role[g])], _text(batch, g), batch.action[begin[g] : begin[g] + length].tolist())
        for g, length in enumerate(batch.length.tolist())
    )
    fits = spelled_roles(rows) if whole_numbers else {}
    return {number: fits.get(role, whole_numbers) for number, role in enumerate(batch.roles)}


def _text(batch: Batch, g: int) -> str:
    return batch.episodes[int(batch.episode[g])].segments[int(batch.place[g])].text


def spelled_roles(rows: Iterable[tuple[str, str, Sequence[int]]]) -> dict[str, bool]:
    """By role: whether every action is one character of the text, but for an end action after the last. A row is a role's
    text and its actions.

    There is no tokeniser here, so a whole batch is asked: lengths must fit, and an action must mean the same character
    everywhere. Equal lengths alone would be fooled by two-character tokens with an end token behind them.
    """
    fits: dict[str, bool] = {}
    means: dict[tuple[str, int], str] = {}
    for role, text, actions in rows:
        if not fits.setdefault(role, True) or len(actions) - len(text) not in (0, 1):
            fits[role] = False
            continue
        spelled = [*text, ""][: len(actions)]  # "" is the text of an end action
        fits[role] = all(means.setdefault((role, a), c) == c for a, c in zip(actions, spelled, strict=True))
    return fits
