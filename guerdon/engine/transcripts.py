"""Transcripts of rows: the tokens sampled so far and their log-probs, a line for each row in tables that grow.

All rows are written to at once, a round of tokens at a time.
Python looks only at rows that end, or may end at a stop string.
Leaves out: which rows there are (`continuous.py`).

Axes: B rows, n tokens of a round.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from guerdon.engine.decoding import Sampled
from guerdon.models.text import Floats, Ints, TokenRequest


class Transcripts:
    """Lines, handed out by `open` and given back by `close`."""

    def __init__(self, ends: Sequence[int]) -> None:
        self.ends = np.array(ends, np.int64)
        self.token: Ints = np.zeros((0, 0), np.int64)
        self.logp: Floats = np.zeros((0, 0), np.float32)
        self.count, self.limit = np.zeros(0, np.int64), np.zeros(0, np.int64)
        self.free: list[int] = []
        self.stopping = 0  # open rows that may end at a stop string

    def open(self, ticket: int, request: TokenRequest) -> TranscriptRow:
        lines, width = self.token.shape
        if not self.free or request.limit > width:
            more = max(lines, 64) if not self.free else 0
            wider = max(request.limit - width, 0)
            self.token = np.pad(self.token, ((0, more), (0, wider)))
            self.logp = np.pad(self.logp, ((0, more), (0, wider)))
            self.count, self.limit = np.pad(self.count, (0, more)), np.pad(self.limit, (0, more))
            self.free += range(lines + more - 1, lines - 1, -1)
        line = self.free.pop()
        self.stopping += request.stops_after is not None
        self.count[line], self.limit[line] = 0, request.limit
        return TranscriptRow(ticket, request, self, line)

    def close(self, row: TranscriptRow) -> tuple[Ints, Floats]:
        """The final tokens of a row."""
        self.free.append(row.line)
        self.stopping -= row.request.stops_after is not None
        count = self.count[row.line]
        return self.token[row.line, :count].copy(), self.logp[row.line, :count].copy()

    def said(self, rows: Sequence[TranscriptRow]) -> tuple[Ints, Floats, Ints]:
        """What rows have generated so far, tokens and log-probs one row after the other, and [B] how many each."""
        lines = _lines(rows)
        count = self.count[lines]
        place, at = np.nonzero(np.arange(self.token.shape[1]) < count[:, None])
        return self.token[lines[place], at], self.logp[lines[place], at], count

    def latest(self, rows: Sequence[TranscriptRow]) -> Ints:
        """[B] the last token of each."""
        lines = _lines(rows)
        return self.token[lines, self.count[lines] - 1]

    def take(self, rows: Sequence[TranscriptRow], sampled: Sampled) -> None:
        """Write down what was sampled, up to where each row is over."""
        lines, n = _lines(rows), len(sampled.token)
        is_end = np.isin(sampled.token, self.ends)  # [n, B]
        until = np.where(is_end.any(0), is_end.argmax(0) + 1, n + 1)
        before = self.count[lines]
        room = self.limit[lines] - before
        count = np.minimum(np.minimum(n, until), room)
        over = (until <= count) | (room <= count)
        for b, row in enumerate(rows if self.stopping else ()):
            if row.request.stops_after is not None:
                earlier = self.token[lines[b], : before[b]].tolist()
                stop = row.request.stops_after(earlier, sampled.token[: count[b], b].tolist())
                if stop is not None:
                    count[b], over[b] = stop, True
        place, at = np.nonzero(np.arange(n) < count[:, None])
        self.token[lines[place], before[place] + at] = sampled.token[at, place]
        self.logp[lines[place], before[place] + at] = sampled.logp[at, place]
        self.count[lines] = before + count
        for b in np.flatnonzero(over).tolist():
            rows[b].over = True


@dataclass(eq=False)
class TranscriptRow:
    """One completion as it grows."""

    ticket: int
    request: TokenRequest
    transcripts: Transcripts
    line: int
    past: int = 0  # tokens of its prompt that were read when it came in
    over: bool = False

    @property
    def tokens(self) -> list[int]:
        """Its generated tokens so far."""
        tokens: list[int] = self.transcripts.token[self.line, : self.transcripts.count[self.line]].tolist()
        return tokens

    @property
    def longest(self) -> int:
        return len(self.request.prompt) + self.request.limit

    def ended(self) -> EndedRow:
        """What is left of it in the cache: the last token sampled was not read."""
        said = self.transcripts.token[self.line, : max(0, self.transcripts.count[self.line] - 1)].copy()
        return EndedRow(self.request.prompt, said, self.request.pictures)


@dataclass(eq=False)
class EndedRow:
    """The tokens that a row had read when it ended. A next turn continues from there."""

    prompt: tuple[int, ...]
    said: Ints
    pictures: tuple[str, ...]

    @property
    def size(self) -> int:
        return len(self.prompt) + len(self.said)

    @cached_property
    def read(self) -> tuple[int, ...]:
        return (*self.prompt, *self.said.tolist())

    def goes_on_in(self, request: TokenRequest) -> bool:
        if not request.goes_on:
            return False
        if request.pictures[: len(self.pictures)] != self.pictures:
            return False
        return len(request.prompt) > self.size and request.prompt[: len(self.read)] == self.read


def _lines(rows: Sequence[TranscriptRow]) -> Ints:
    return np.fromiter((row.line for row in rows), np.int64, len(rows))
