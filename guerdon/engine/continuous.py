"""Continuous batching: requests join while others are being answered, and a row that ends makes room at once.

One prompt is read once for all its tries; a request that goes on from a row that ended (a next turn) reads only what is
new. Every row draws by its own seed. Left out: the arithmetic (`cpu.py`, `cuda.py`), which requests there are
(`batching.py`), what tokens mean (`models/text.py`).

Axes: B rows, n tokens of each.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import torch

from guerdon.core.model import Reply, Request
from guerdon.engine.cpu import CpuDecoding
from guerdon.engine.cuda import cuda_decoding
from guerdon.engine.decoding import Decoding, Prompt, Sampled
from guerdon.models.lm import lm
from guerdon.models.text import Asked


@dataclass
class Row:
    """One completion as it grows."""

    ticket: int
    asked: Asked
    tokens: list[int] = field(default_factory=list)
    logp: list[float] = field(default_factory=list)
    past: int = 0  # tokens of its prompt that were read when it came in
    over: bool = False

    @property
    def longest(self) -> int:
        return len(self.asked.prompt) + self.asked.limit

    @property
    def read(self) -> list[int]:
        """Its tokens that were read: the last one sampled was not."""
        return [*self.asked.prompt, *self.tokens[:-1]]

    def follows(self, other: Row) -> bool:
        """Whether its prompt goes on from what another row read: a next turn does."""
        if not self.asked.goes_on:
            return False
        before = other.read
        return len(self.asked.prompt) > len(before) and self.asked.prompt[: len(before)] == before


def take(rows: Sequence[Row], sampled: Sampled, ends: npt.NDArray[np.int64]) -> None:
    """Write down what was sampled, up to where each row is over."""
    n = len(sampled.token)
    is_end = np.isin(sampled.token, ends)  # [n, B]
    until = np.where(is_end.any(0), is_end.argmax(0) + 1, n + 1).tolist()
    for row, token, logp, end in zip(rows, sampled.token.T.tolist(), sampled.logp.T.tolist(), until, strict=True):
        room = row.asked.limit - len(row.tokens)
        count = min(n, end, room)
        row.over = end <= count or room <= count
        stop = row.asked.stops_after(row.tokens, token[:count])
        if stop is not None:
            count, row.over = stop, True
        row.tokens += token[:count]
        row.logp += logp[:count]


class Continuous:
    """Samples from a language model. `add` takes a request at any time; `step` gives what was finished by it.

    The first places are of rows that are sampled now, those behind them of rows that ended: a next turn may go on there.
    """

    def __init__(self, model: lm, rows: int = 1 << 20) -> None:
        self.model, self.most = model, rows
        net = model.decoder
        self.decoding: Decoding = cuda_decoding(net) if net.device.type == "cuda" else CpuDecoding(net)
        self.ends = np.array(model.ends, np.int64)
        self.waiting: deque[Row] = deque()
        self.live: list[Row] = []  # place b is live[b]'s ...
        self.ended: list[Row] = []  # ... and place len(live) + i is ended[i]'s
        self.places = 0

    def add(self, ticket: int, request: Request) -> None:
        self.waiting.append(Row(ticket, self.model.asked(request)))

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.live)

    def step(self) -> list[tuple[int, Reply]]:
        """Let waiting rows in, or else sample on in every row."""
        done = [row for row in self.waiting if row.asked.limit == 0]
        self.waiting = deque(row for row in self.waiting if row.asked.limit > 0)
        with torch.inference_mode():
            fresh = self._admit()
            if fresh:
                first = len(self.live) - len(fresh)
                logits = self.decoding.read(self._prompts(fresh, first))
                take(fresh, self.decoding.begin(first, logits, [row.asked for row in fresh]), self.ends)
            elif self.live:
                token = np.array([row.tokens[-1] for row in self.live])
                take(self.live, self.decoding.advance(token, [row.asked for row in self.live]), self.ends)
            done += self._leave()
        return [(row.ticket, self.model.reply(row.asked, row.tokens, row.logp)) for row in done]

    # --- rows come and go -----------------------------------------------------------------------------------------

    def _admit(self) -> list[Row]:
        """Take waiting rows in as long as there is room, and give each its place."""
        entering = 0
        longest = max((row.longest for row in self.live), default=0)
        for row in self.waiting:
            longest_now = max(longest, row.longest)
            count = len(self.live) + entering + 1
            if count > 1 and count > min(self.most, self.decoding.room(longest_now)):
                break
            longest, entering = longest_now, entering + 1
        if entering:
            needed = len(self.live) + entering
            most = max(needed, min(needed + len(self.ended), self.most, self.decoding.room(longest)))
            self.places = max(self.places, most)
            self.decoding.reserve(self.places, longest)
            for _ in range(entering):
                self._seat(self.waiting.popleft())
        return self.live[len(self.live) - entering :]

    def _seat(self, row: Row) -> None:
        """Make the first place behind the live rows free for a row, with the past it goes on from if that is there."""
        place = len(self.live)
        found = next((i for i, other in enumerate(self.ended) if row.follows(other)), None)
        if found is not None:
            row.past = len(self.ended[found].read)
            self._swap(place, place + found)
            self.ended[0], self.ended[found] = self.ended[found], self.ended[0]
            self.ended.pop(0)
        elif self.ended:
            moved = self.ended.pop(0)
            behind = place + 1 + len(self.ended)
            if behind < self.places:
                self.decoding.copy(behind, place, len(moved.read))
                self.ended.append(moved)
        self.live.append(row)

    def _leave(self) -> list[Row]:
        """Rows that are over give their place to the last live one and stand behind the live rows from then on."""
        gone = []
        for b in reversed([b for b, row in enumerate(self.live) if row.over]):
            last = len(self.live) - 1
            self._swap(b, last)
            self.live[b], self.live[last] = self.live[last], self.live[b]
            gone.append(self.live.pop())
            self.ended.insert(0, gone[-1])
        return gone[::-1]

    def _swap(self, a: int, b: int) -> None:
        if a != b:
            self.decoding.swap(a, b)

    def _prompts(self, rows: Sequence[Row], first: int) -> list[Prompt]:
        """What is to be read for new rows. Rows with equal prompts share it, and the longest past one of them has."""
        shared: dict[tuple[int, ...], list[int]] = {}
        for b, row in enumerate(rows, start=first):
            shared.setdefault(tuple(row.asked.prompt), []).append(b)
        prompts = []
        for tokens, places in shared.items():
            after = max(places, key=lambda b: self.live[b].past)
            past = self.live[after].past
            prompts.append(Prompt(tokens[past:], places, past, after))
        return prompts
