"""Continuous batching: requests join while others are being answered, and a row that ends makes room at once.

One prompt is read once for all its tries; a request that continues a row that ended (a next turn) reads only what
is new.
Every row draws by its own seed.
Leaves out: the arithmetic (`cpu.py`, `cuda.py`), which requests there are (`batching.py`),
the generated tokens (`transcripts.py`), what tokens mean (`models/text.py`).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence

import torch

from guerdon.core.model import Reply, Request
from guerdon.engine.cpu import CpuDecoding
from guerdon.engine.cuda import cuda_decoding
from guerdon.engine.decoding import Decoding, Prompt
from guerdon.engine.guided import GuidedDecoding, Guides
from guerdon.engine.transcripts import EndedRow, TranscriptRow, Transcripts
from guerdon.models.language_model import lm
from guerdon.models.text import TokenRequest


class Continuous:
    """Samples from a language model. `add` takes a request at any time; `step` gives what was finished by it.

    The first places are of rows that are sampled now, those behind them of rows that ended: a next turn may continue there.
    """

    def __init__(self, model: lm, guides: Guides = (), rows: int = 1 << 20) -> None:
        self.model, self.most = model, rows
        net = model.decoder
        self.decoding: Decoding
        if guides:
            self.decoding = GuidedDecoding(model, guides)
        else:
            self.decoding = cuda_decoding(net) if net.device.type == "cuda" else CpuDecoding(net)
        self.transcripts = Transcripts(model.ends)
        self.waiting: deque[TranscriptRow] = deque()
        self.live: list[TranscriptRow] = []  # place b is live[b]'s ...
        self.ended: list[EndedRow] = []  # ... and place len(live) + i is ended[i]'s
        self.places = 0
        self.keeps = True  # whether what ended rows have read is kept for next turns

    def add(self, ticket: int, request: Request) -> None:
        asked = self.model.token_request(request)
        if isinstance(self.decoding, GuidedDecoding):
            asked = self.decoding.fitting(asked)
        self.waiting.append(self.transcripts.open(ticket, asked))

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.live)

    def step(self) -> list[tuple[int, Reply]]:
        """`go_on`, and the replies of the rows that were finished by it."""
        done = self.go_on()
        replies = self.model.replies([(row.request, *self.transcripts.close(row)) for row in done])
        return [(row.ticket, reply) for row, reply in zip(done, replies, strict=True)]

    def enter(self, requests: Sequence[TokenRequest]) -> list[TranscriptRow]:
        """Requests that none continues, one row each: nothing of a row is kept for a next turn, and each keeps its line
        until the end, so that `transcripts` has what all generated. To be followed by `go_on` while this is busy."""
        rows = [self.transcripts.open(ticket, request) for ticket, request in enumerate(requests)]
        self.waiting.extend(rows)
        self.keeps = False
        return rows

    def go_on(self) -> list[TranscriptRow]:
        """Let waiting rows in, or else sample on in every row. The rows that were finished by it."""
        done = [row for row in self.waiting if row.request.limit == 0]
        self.waiting = deque(row for row in self.waiting if row.request.limit > 0)
        with torch.inference_mode():
            fresh = self._admit()
            if fresh:
                first = len(self.live) - len(fresh)
                prompts = self._prompts(fresh, first)
                self.model.meter.read += sum(len(prompt.tokens) for prompt in prompts)
                logits = self.decoding.read(prompts)
                self.transcripts.take(fresh, self.decoding.begin(first, logits, [row.request for row in fresh]))
            elif self.live:
                token = self.transcripts.latest(self.live)
                self.transcripts.take(self.live, self.decoding.advance(token, [row.request for row in self.live]))
            done += self._leave()
        return done

    # --- rows come and go -----------------------------------------------------------------------------------------

    def _admit(self) -> list[TranscriptRow]:
        """Take waiting rows in as long as there is room, and give each its place. Where not all can come, those that continue
        a row that ended come first: its cache is kept for them, but not for long."""
        if not self.waiting:
            return []
        entering, longest = self._entering()
        if entering < len(self.waiting):
            self.waiting = deque(sorted(self.waiting, key=lambda row: not row.request.goes_on))
            entering, longest = self._entering()
        if entering:
            live = len(self.live)
            ended = max(0, min(len(self.ended), self.most - live - entering))
            stay = self.decoding.reserve(live, ended, entering, longest)
            del self.ended[stay:]
            self.places = live + entering + stay
            for _ in range(entering):
                self._seat(self.waiting.popleft())
        return self.live[len(self.live) - entering :]

    def _entering(self) -> tuple[int, int]:
        """How many of the waiting rows there is room for, and the length of the longest row then."""
        entering = 0
        longest = max((row.longest for row in self.live), default=0)
        rooms: dict[int, int] = {}  # how many rows of that length there may be
        for row in self.waiting:
            longest_now = max(longest, row.longest)
            if longest_now not in rooms:
                rooms[longest_now] = min(self.most, self.decoding.room(longest_now))
            count = len(self.live) + entering + 1
            if count > 1 and count > rooms[longest_now]:
                break
            longest, entering = longest_now, entering + 1
        return entering, longest

    def _seat(self, row: TranscriptRow) -> None:
        """Make the first place behind the live rows free for a row, with the cache it continues from if that is there."""
        place = len(self.live)
        at = self._past_of(row.request)
        if at is not None:
            row.past = self.ended[at].size
            self._swap(place, place + at)
            self.ended[0], self.ended[at] = self.ended[at], self.ended[0]
            self.ended.pop(0)
        elif self.ended:
            moved = self.ended.pop(0)
            behind = place + 1 + len(self.ended)
            if behind < self.places:
                self.decoding.copy(behind, place, moved.size)
                self.ended.append(moved)
        self.live.append(row)

    def _past_of(self, request: TokenRequest) -> int | None:
        """Which of the rows that ended a request continues."""
        if not request.goes_on:
            return None
        return next((i for i, other in enumerate(self.ended) if other.goes_on_in(request)), None)

    def _leave(self) -> list[TranscriptRow]:
        """Rows that are over give their place to the last live one and stand behind the live rows from then on."""
        gone = []
        for b in reversed([b for b, row in enumerate(self.live) if row.over]):
            last = len(self.live) - 1
            self._swap(b, last)
            self.live[b], self.live[last] = self.live[last], self.live[b]
            gone.append(self.live.pop())
            if self.keeps:
                self.ended.insert(0, gone[-1].ended())
        return gone[::-1]

    def _swap(self, a: int, b: int) -> None:
        if a != b:
            self.decoding.swap(a, b)

    def _prompts(self, rows: Sequence[TranscriptRow], first: int) -> list[Prompt]:
        """What is to be read for new rows. Rows with equal prompts share it, and the longest past one of them has."""
        shared: dict[tuple[tuple[int, ...], tuple[str, ...], bool], list[int]] = {}
        for b, row in enumerate(rows, start=first):
            shared.setdefault((row.request.prompt, row.request.pictures, row.request.goes_on), []).append(b)
        prompts = []
        for (tokens, _, goes_on), places in shared.items():
            after = max(places, key=lambda b: self.live[b].past)
            past = self.live[after].past
            prompts.append(Prompt(tokens[past:], places, past, after, goes_on))
        return prompts
