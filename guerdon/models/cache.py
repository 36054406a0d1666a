"""Keys and values of past tokens, so that decoding adds a token to every row at the cost of one token a row.

Memory is set aside once, for the longest that a row may grow. Every row has a length of its own: rows of different
prompts decode together, and what lies beyond a row's length is masked. A prompt is read once and copied to all rows that
start with it. Rows that finish are dropped by moving the last rows into their places: dropping one costs copying one.

Axes: L layers, B rows, P prompts, h heads, kv key-value heads, T tokens, D width of a head.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor


class Memory(Protocol):
    """What a decoder's attention looks at besides the tokens it is given."""

    def begin(self, tokens: int) -> Tensor:
        """The positions of the next `tokens` tokens, [T] or [B, T]; called once before the layers."""

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """[B, h, T, D] what the queries see; keys and values are remembered."""


class KVCache:
    """A `Memory` that takes one token a row at a time. Its past comes from `prompts`."""

    def __init__(
        self, layers: int, rows: int, heads: int, capacity: int, width: int, dtype: torch.dtype, device: torch.device
    ) -> None:
        # zeros, for what is masked still takes part in the sums: as 0 times itself
        self.keys = torch.zeros(layers, rows, heads, capacity, width, dtype=dtype, device=device)  # [L, B, kv, T, D]
        self.values = torch.zeros_like(self.keys)
        self.mask = torch.full((rows, capacity), float("-inf"), dtype=dtype, device=device)  # [B, T] 0: can be seen
        self.length = torch.zeros(rows, dtype=torch.long, device=device)  # [B]
        self.row = torch.arange(rows, device=device)  # [B]
        self.slot = self.row  # [B * kv] where the token now being added goes, in a layer's [B * kv * T, D]
        self.longest = 0

    def begin(self, tokens: int) -> Tensor:
        assert tokens == 1 and self.longest, "a cache takes prompts first, then one token a row"
        positions = self.length
        self.mask[self.row, positions] = 0.0
        heads, capacity = self.keys.shape[2:4]
        lane = torch.arange(len(self.row) * heads, device=self.row.device)  # one for each row and head
        self.slot = lane * capacity + positions.repeat_interleave(heads)
        self.length = positions + 1
        self.longest += 1
        return positions[:, None]

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        keys, values = self.keys[layer], self.values[layer]
        B, h, _, D = q.shape
        keys.view(-1, D).index_copy_(0, self.slot, k.reshape(-1, D))
        values.view(-1, D).index_copy_(0, self.slot, v.reshape(-1, D))
        kv, T = k.shape[1], self.longest
        grouped = q.reshape(B, kv, h // kv, D)  # the heads that share a key stand as so many queries on it
        mask = self.mask[:, None, None, :T]
        return F.scaled_dot_product_attention(grouped, keys[:, :, :T], values[:, :, :T], mask).reshape(B, h, 1, D)

    def prompts(self, lengths: Sequence[int], rows: Sequence[int], source: Sequence[int]) -> Prompts:
        """Where to read P prompts of these lengths into: `rows[i]` of the cache starts with prompt `source[i]`."""
        return Prompts(self, *(torch.tensor(x, device=self.row.device) for x in (lengths, rows, source)))

    def keep(self, rows: Sequence[int]) -> None:
        """Drop all rows but these, in this order. Rows that already stand where they go are not copied."""
        moves = [(to, row) for to, row in enumerate(rows) if to != row]
        T = self.longest
        if moves:
            to, old = torch.tensor(moves, device=self.row.device).T
            for kept in (self.keys[:, :, :, :T], self.values[:, :, :, :T]):
                kept[:, to] = kept[:, old]
            self.mask[to], self.length[to] = self.mask[old], self.length[old]
        n = len(rows)
        self.keys, self.values = self.keys[:, :n], self.values[:, :n]
        self.mask, self.length, self.row = self.mask[:n], self.length[:n], self.row[:n]
        self.longest = int(self.length.max()) if n else 0


class Prompts:
    """A `Memory` that reads whole prompts, padded on the right, and leaves them in the rows of a cache."""

    def __init__(self, cache: KVCache, lengths: Tensor, rows: Tensor, source: Tensor) -> None:
        self.cache, self.lengths, self.rows, self.source = cache, lengths, rows, source

    def begin(self, tokens: int) -> Tensor:
        cache, length = self.cache, self.lengths[self.source]
        column = torch.arange(tokens, device=length.device)
        shown = torch.where(column < length[:, None], 0.0, float("-inf"))
        cache.mask[self.rows, :tokens] = shown.to(cache.mask.dtype)
        cache.length[self.rows] = length
        cache.longest = max(cache.longest, int(self.lengths.max()))
        return column

    def attend(self, layer: int, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        T = k.shape[2]
        self.cache.keys[layer][self.rows, :, :T] = k[self.source]
        self.cache.values[layer][self.rows, :, :T] = v[self.source]
        return causal_attention(q, k, v)


def causal_attention(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """[B, h, T, D]; `k` and `v` may have fewer heads, each serving so many neighbouring ones of `q`."""
    B, h, T, D = q.shape
    kv = k.shape[1]
    if kv != h:
        k, v = (x[:, :, None].expand(B, kv, h // kv, T, D).reshape(B, h, T, D) for x in (k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=True)
