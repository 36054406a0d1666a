"""Sampling from a model that runs through `transformers`: rows padded in front, with that library's memory of past tokens.

Rows that end are dropped.
Waiting requests join when they are at least as many as the rows that are left;
all are then read again, so that no request is read more than about twice.
What an architecture can do is tried once on a few tokens: one that cannot pad in front is sampled row by row,
one whose memory changes the numbers reads everything again for each token.
Leaves out: what tokens mean (`models/text.py`), models of our own (`continuous.py`).

Axes: B rows, T tokens of a padded row, V vocabulary.
"""

from __future__ import annotations

import inspect
import random
import weakref
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from guerdon.core.model import Reply, Request
from guerdon.engine.decoding import Sampled
from guerdon.engine.transcripts import TranscriptRow, Transcripts
from guerdon.models.foreign_model import foreign
from guerdon.models.sampling import choose, distribution

MEMORIES = ("past_key_values", "cache_params")  # what models call their memory
UNABLE = (TypeError, ValueError, RuntimeError, AttributeError, LookupError, NotImplementedError)
NEAR = {torch.float32: 1e-3, torch.float64: 1e-6}  # logits that are the same but for rounding, in standard deviations
NEAR_HALF = 0.1


class Able(NamedTuple):
    """What an architecture was seen to do right."""

    pad: bool  # rows of different lengths side by side
    remember: bool


class LogitsReader:
    """The logits after rows of tokens, which grow by a token at a time."""

    def __init__(self, net: Any, remember: bool = True) -> None:
        self.net, self.remember = net, remember
        self.takes = set(inspect.signature(net.forward).parameters)
        self.device = next(net.parameters()).device
        self.token = torch.zeros(0, 0, dtype=torch.long)  # [B, T]
        self.mask = self.token
        self.memory: tuple[str, Any] | None = None

    def read(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """[B, V] after whole rows."""
        longest = max(map(len, rows))
        token, mask = np.zeros((2, len(rows), longest), np.int64)
        for b, row in enumerate(rows):
            token[b, longest - len(row) :] = row
            mask[b, longest - len(row) :] = 1
        self.token, self.mask = (torch.from_numpy(x).to(self.device) for x in (token, mask))
        self.memory = None
        return self._forward(self.token)

    def go_on(self, token: Sequence[int]) -> Tensor:
        """[B, V] after one more token of each."""
        new = torch.tensor(token, device=self.device)[:, None]
        self.token = torch.cat([self.token, new], 1)
        self.mask = torch.cat([self.mask, torch.ones_like(new)], 1)
        return self._forward(self.token if self.memory is None else new)

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all other rows."""
        index = torch.tensor(rows, dtype=torch.long, device=self.device)
        self.token, self.mask = self.token[index], self.mask[index]
        if self.memory is not None:
            self.memory[1].reorder_cache(index)

    def _forward(self, token: Tensor) -> Tensor:
        given: dict[str, Any] = {"attention_mask": self.mask, "use_cache": self.remember}
        if "position_ids" in self.takes:
            given["position_ids"] = (self.mask.cumsum(1) - 1).clamp(min=0)[:, -token.shape[1] :]
        if "logits_to_keep" in self.takes:
            given["logits_to_keep"] = 1
        if self.memory is not None:
            given[self.memory[0]] = self.memory[1]
            if self.memory[0] == "cache_params":  # a state has no places: nothing of the past is left to be masked
                del given["attention_mask"]
        out = self.net(token, **given)
        memories = [(name, out[name]) for name in MEMORIES if self.remember and out.get(name) is not None]
        self.memory = memories[0] if memories else None
        logits: Tensor = out.logits[:, -1]
        return logits


class ForeignSampler:
    """Samples from a `foreign` model. `add` takes a request at any time; `step` gives what was finished by it."""

    def __init__(self, model: foreign) -> None:
        self.model = model
        able = able_of(model.weights)
        self.most = model.rows if able.pad else 1
        self.reader = LogitsReader(model.weights, able.remember)
        self.transcripts = Transcripts(model.ends)
        self.waiting: deque[TranscriptRow] = deque()
        self.live: list[TranscriptRow] = []
        self.draws: dict[int, random.Random] = {}  # by ticket

    def add(self, ticket: int, request: Request) -> None:
        self.waiting.append(self.transcripts.open(ticket, self.model.token_request(request)))
        self.draws[ticket] = random.Random(request.seed)

    @property
    def busy(self) -> bool:
        return bool(self.waiting or self.live)

    def step(self) -> list[tuple[int, Reply]]:
        """Sample a token in every row, after letting waiting rows in if it is time."""
        done = [row for row in self.waiting if row.request.limit == 0]
        self.waiting = deque(row for row in self.waiting if row.request.limit > 0)
        with torch.no_grad():
            if self.waiting and len(self.live) <= min(len(self.waiting), self.most // 2):
                while self.waiting and len(self.live) < self.most:
                    self.live.append(self.waiting.popleft())
                    self.model.meter.read += len(self.live[-1].request.prompt)
                self._sample(self.reader.read([[*row.request.prompt, *row.tokens] for row in self.live]))
            elif self.live:
                self._sample(self.reader.go_on(self.transcripts.latest(self.live).tolist()))
            left = [b for b, row in enumerate(self.live) if not row.over]
            done += [row for row in self.live if row.over]
            if left and len(left) < len(self.live):
                self.reader.keep(left)
        self.live = [self.live[b] for b in left]
        for row in done:
            del self.draws[row.ticket]
        replies = self.model.replies([(row.request, *self.transcripts.close(row)) for row in done])
        return [(row.ticket, reply) for row, reply in zip(done, replies, strict=True)]

    def _sample(self, logits: Tensor) -> None:
        logp = distribution(logits, [row.request.sampling for row in self.live])
        chosen = choose(logp, [self.draws[row.ticket].random() for row in self.live])
        chosen_logp = logp.gather(1, chosen[:, None]).cpu().numpy().T
        self.transcripts.take(self.live, Sampled(chosen.cpu().numpy()[None], chosen_logp))


# --- what an architecture can do ------------------------------------------------------------------------------------------

_tried: weakref.WeakKeyDictionary[nn.Module, Able] = weakref.WeakKeyDictionary()


def able_of(net: nn.Module) -> Able:
    """Tried once for each model: the same rows alone and whole, together, and with memory."""
    if net not in _tried:
        with torch.no_grad():
            pad = _same(net, [[1, 2, 3, 4, 5], [3, 4]], remember=False)
            remember = _same(net, [[1, 2, 3, 4, 5], [3, 4]] if pad else [[1, 2, 3]], remember=True)
        _tried[net] = Able(pad, remember)
    return _tried[net]


def _same(net: Any, rows: list[list[int]], remember: bool) -> bool:
    """Whether rows that grow together by a token, and lose the first of them, give the logits of each row alone."""
    more = [6, 7][: len(rows)]
    expected = [LogitsReader(net, False).read([[*row, token]])[0] for row, token in zip(rows, more, strict=True)]
    try:
        reader = LogitsReader(net, remember)
        reader.read(rows)
        logits = reader.go_on(more)
        if len(rows) > 1:
            reader.keep([1])
            expected.append(LogitsReader(net, False).read([[*rows[1], more[1], 1]])[0])
            logits = torch.cat([logits, reader.go_on([1])])
    except UNABLE:
        return False
    gap = (logits.float() - torch.stack(expected).float()).abs().amax()
    return bool(gap <= NEAR.get(logits.dtype, NEAR_HALF) * expected[0].float().std())
