"""Decoding on a CPU: keys and values of past tokens, one stretch of memory for each row, and one token a row at a time.

Rows of different lengths decode together, each masked to its own length.
Moving a row is copying one.
Sizes are padded to multiples of 16 wherever a shape could change how a sum is rounded,
so what a row computes does not depend on the others.
A row draws with random numbers of its own, from its seed.

Axes: L layers, B rows, h heads, kv key-value heads, T tokens, D width of a head, V vocabulary.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from guerdon.core.levels import expand
from guerdon.engine.decoding import Prompt, Sampled, batches
from guerdon.models.attention import Rotating, Runs, Turn, ceil
from guerdon.models.config import Rope
from guerdon.models.decoder import Decoder
from guerdon.models.ops import Rotation
from guerdon.models.sampling import choose, distribution
from guerdon.models.text import TokenRequest

CACHE_BYTES = 4 << 30  # the most memory for keys and values
ROWS = 256  # sampled at a time: more than a CPU gains anything from


class CpuDecoding:
    """A `Decoding` that keeps its rows in stretches of memory, and steps by one token."""

    def __init__(self, net: Decoder) -> None:
        self.net = net
        with torch.no_grad():
            self.weights = net.layer_weights()
        self.cache = RowCache(net)
        self.draws: list[random.Random] = []  # of every row

    def room(self, longest: int) -> int:
        c = self.net.config
        token_bytes = 2 * c.layers * c.kv_heads * c.head_dim * self.cache.dtype.itemsize
        return max(1, min(ROWS, CACHE_BYTES // (longest * token_bytes)))

    def reserve(self, live: int, ended: int, entering: int, longest: int) -> int:
        stay = max(0, min(ended, self.room(longest) - live - entering))
        rows = live + entering + stay
        self.cache.reserve(rows, longest)
        self.draws += [random.Random(0) for _ in range(rows - len(self.draws))]
        return stay

    def swap(self, a: int, b: int) -> None:
        self.cache.swap(a, b)
        self.draws[a], self.draws[b] = self.draws[b], self.draws[a]

    def copy(self, to: int, row: int, tokens: int) -> None:
        self.cache.copy(to, row, tokens)

    def read(self, prompts: Sequence[Prompt]) -> Tensor:
        logits = torch.empty(sum(len(p.rows) for p in prompts), self.net.config.vocab, dtype=self.net.dtype)
        first = min(row for p in prompts for row in p.rows)
        for some in batches(prompts):
            reading = Reading(self.cache, some)
            tokens = torch.tensor([token for p in some for token in p.tokens])
            hidden = self.net(tokens, reading, self.weights)
            last = self.net.logits(hidden[_padded(reading.last)])[: len(some)]
            source = [i for i, p in enumerate(some) for _ in p.rows]
            logits[[row - first for p in some for row in p.rows]] = last[source]
        return logits

    def begin(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        for row, r in enumerate(requests, start=first):
            self.draws[row] = random.Random(r.request.seed)
        return self._sample(first, logits, requests)

    def advance(self, token: npt.NDArray[np.int64], requests: Sequence[TokenRequest]) -> Sampled:
        live = len(requests)
        tokens = F.pad(torch.from_numpy(token), (0, self.cache.extend(live).rows - live))
        hidden = self.net(tokens, self.cache, self.weights)
        self.cache.length[:live] += 1
        return self._sample(0, self.net.logits(hidden)[:live], requests)

    def _sample(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        logp = distribution(logits, [r.sampling for r in requests])
        chosen = choose(logp, [draw.random() for draw in self.draws[first : first + len(requests)]])
        return Sampled(chosen.numpy()[None], logp.gather(1, chosen[:, None]).numpy().T)


class RowCache:
    """Keys and values of rows; both their number and their length grow when asked. A `Memory` that takes a token a row.

    They are kept, and attended to, in float32 at least: so does the learner (`models/attention.py`)."""

    def __init__(self, net: Decoder) -> None:
        c = net.config
        self.dtype = torch.promote_types(net.dtype, torch.float32)
        self.keys = torch.zeros(c.layers, 0, c.kv_heads, 0, c.head_dim, dtype=self.dtype)  # [L, B, kv, T, D]
        self.values = self.keys.clone()
        self.length = torch.zeros(0, dtype=torch.long)  # [B]
        self.rows = 0  # that the next token is for, padding included
        self.longest = 0
        self._mask = torch.zeros(0)
        self._slot = self.length

    def reserve(self, rows: int, capacity: int) -> None:
        """Have room for so many rows of so many tokens."""
        L, B, kv, T, D = self.keys.shape
        rows, capacity = max(B, ceil(rows)), max(T, ceil(capacity + 1))  # one more: padding rows write past their end
        if (rows, capacity) == (B, T):
            return
        for name in ("keys", "values"):
            # zeros, for what is masked still takes part in the sums: as 0 times itself
            grown = torch.zeros(L, rows, kv, capacity, D, dtype=self.dtype)
            grown[:, :B, :, :T] = getattr(self, name)
            setattr(self, name, grown)
        self.length = F.pad(self.length, (0, rows - B))

    def copy(self, to: int, row: int, tokens: int) -> None:
        """Put the first tokens of a row into another's place."""
        T = tokens
        for kept in (self.keys, self.values):
            kept[:, to, :, :T] = kept[:, row, :, :T]
        self.length[to] = T

    def swap(self, a: int, b: int) -> None:
        """Two rows change places."""
        T = int(torch.maximum(self.length[a], self.length[b]))
        for kept in (self.keys, self.values):
            kept[:, [a, b], :, :T] = kept[:, [b, a], :, :T]
        self.length[[a, b]] = self.length[[b, a]]

    # --- one more token for every row -----------------------------------------------------------------------------

    def extend(self, live: int) -> RowCache:
        """Get ready for a token of each of the first `live` rows; what stands behind them pads."""
        self.rows = ceil(live)
        self.longest = ceil(int(self.length[:live].max()) + 1)
        position = self.position
        kv, capacity = self.keys.shape[2:4]
        lane = torch.arange(self.rows * kv)  # one for each row and key head
        self._slot = lane * capacity + position.repeat_interleave(kv)
        self._mask = torch.zeros(self.rows, 1, 1, self.longest, dtype=self.dtype)
        self._mask.masked_fill_((torch.arange(self.longest) > position[:, None])[:, None, None], float("-inf"))
        return self

    @property
    def position(self) -> Tensor:
        return self.length[: self.rows]

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        return net.rotations(self.position)

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        q, k, v = (each.to(self.dtype) for each in turn(qkv))
        B, h, D = q.shape
        kv, T = k.shape[1], self.longest
        keys, values = self.keys[layer, :B], self.values[layer, :B]
        keys.view(-1, D).index_copy_(0, self._slot, k.reshape(-1, D))
        values.view(-1, D).index_copy_(0, self._slot, v.reshape(-1, D))
        mask = self._mask
        if window:
            far = torch.arange(T) <= self.position[:, None] - window
            mask = mask.masked_fill(far[:, None, None], float("-inf"))
        grouped = q.reshape(B, kv, h // kv, D)  # the heads that share a key stand as so many queries on it
        seen = F.scaled_dot_product_attention(grouped, keys[:, :, :T], values[:, :, :T], mask, scale=scale)
        return seen.view(B, h, D).to(qkv.dtype)


class Reading:
    """A `Memory` that reads prompts and leaves them in the rows of a cache."""

    def __init__(self, cache: RowCache, prompts: Sequence[Prompt]) -> None:
        self.cache = cache
        self.length = [len(p.tokens) for p in prompts]
        pasts = [p for p in prompts if p.past]
        place = {id(p): run for run, p in enumerate(pasts)}
        parents = [-1] * len(pasts) + [place.get(id(p), -1) for p in prompts]
        self.runs = Runs.of([p.past for p in pasts] + self.length, parents, torch.device("cpu"), silent=len(pasts))
        self.pasts = [(p.after, p.past) for p in pasts]
        for p in prompts:
            for row in p.rows:
                if p.past and row != p.after:
                    cache.copy(row, p.after, p.past)
            cache.length[torch.tensor(p.rows)] = p.past + len(p.tokens)
        where = [
            (row, p.past, first, len(p.tokens)) for p, first in zip(prompts, self._first, strict=True) for row in p.rows
        ]
        row, past, first, count = torch.tensor(where).T
        column = expand(torch.arange(len(where)), torch.zeros_like(count), count)
        self.row = torch.repeat_interleave(row, count)  # where in the cache ...
        self.column = torch.repeat_interleave(past, count) + column
        self.source = torch.repeat_interleave(first, count) + column  # ... stands which of the tokens read

    @property
    def _first(self) -> list[int]:
        return [0, *accumulate(self.length)][:-1]

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        return self.runs.rotations(net)

    @property
    def last(self) -> Tensor:
        """[prompts] where each prompt's last token stands among those read."""
        return torch.tensor(list(accumulate(self.length))) - 1

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        q, k, v = (each.to(self.cache.dtype) for each in turn(qkv))
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        keys[self.row, :, self.column] = k[self.source]
        values[self.row, :, self.column] = v[self.source]
        if self.pasts:
            k, v = (
                torch.cat([*(kept[row, :, :past].transpose(0, 1) for row, past in self.pasts), new])
                for kept, new in ((keys, k), (values, v))
            )
        return self.runs.attention(q, k, v, scale, window).to(qkv.dtype)


def _padded(index: Tensor) -> Tensor:
    """As many rows as a product needs for its rounding not to depend on their number."""
    return F.pad(index, (0, ceil(len(index)) - len(index)))
