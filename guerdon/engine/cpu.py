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
from dataclasses import dataclass
from itertools import accumulate

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

from guerdon.core.levels import expand
from guerdon.engine.decoding import Prompt, Sampled, batches
from guerdon.models.attention import Rotating, Runs, Turn, ceil
from guerdon.models.config import DecoderConfig, Rope
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
        self.enter(first, requests)
        return self.draw(first, logits, requests)

    def enter(self, first: int, requests: Sequence[TokenRequest]) -> None:
        for row, r in enumerate(requests, start=first):
            self.draws[row] = random.Random(r.request.seed)

    def advance(self, token: npt.NDArray[np.int64], requests: Sequence[TokenRequest]) -> Sampled:
        return self.draw(0, self.extend(token), requests)

    def extend(self, token: npt.NDArray[np.int64]) -> Tensor:
        live = len(token)
        tokens = F.pad(torch.from_numpy(token), (0, self.cache.extend(live).rows - live))
        hidden = self.net(tokens, self.cache, self.weights)
        self.cache.length[:live] += 1
        return self.net.logits(hidden)[:live]

    def draw(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        logp = distribution(logits, [r.sampling for r in requests])
        chosen = choose(logp, [draw.random() for draw in self.draws[first : first + len(requests)]])
        return Sampled(chosen.numpy()[None], logp.gather(1, chosen[:, None]).numpy().T)


class RowCache:
    """Keys and values of rows; both their number and their length grow when asked. A `Memory` that takes a token a row.

    The first prompt of a conversation is kept once for all its tries, its trunk; a row then holds what follows, and attends
    to both. They are kept, and attended to, in float32 at least: so does the learner (`models/attention.py`)."""

    def __init__(self, net: Decoder) -> None:
        c = net.config
        self.dtype = torch.promote_types(net.dtype, torch.float32)
        self.keys = torch.zeros(c.layers, 0, c.kv_heads, 0, c.head_dim, dtype=self.dtype)  # [L, B, kv, T, D]
        self.values = self.keys.clone()
        self.length = torch.zeros(0, dtype=torch.long)  # [B] tokens a row has read ...
        self.trunk = Trunks(c, self.dtype)
        self.of = torch.zeros(0, dtype=torch.long)  # [B] ... its trunk, or -1 ...
        self.shared = torch.zeros(0, dtype=torch.long)  # [B] ... and how many of the tokens are in that
        self.rows = 0  # that the next token is for, padding included
        self.longest = 0
        self._mask = torch.zeros(0)
        self._slot = self.length
        self._trunk_rows: TrunkRows | None = None

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
        self.length, self.shared = (F.pad(each, (0, rows - B)) for each in (self.length, self.shared))
        self.of = F.pad(self.of, (0, rows - B), value=-1)

    def copy(self, to: int, row: int, tokens: int) -> None:
        """Put the first tokens of a row into another's place."""
        T = max(0, tokens - int(self.shared[row]))
        for kept in (self.keys, self.values):
            kept[:, to, :, :T] = kept[:, row, :, :T]
        self.length[to] = tokens
        self.of[to], self.shared[to] = self.of[row], self.shared[row]

    def swap(self, a: int, b: int) -> None:
        """Two rows change places."""
        T = int((self.length - self.shared)[[a, b]].max())
        for kept in (self.keys, self.values):
            kept[:, [a, b], :, :T] = kept[:, [b, a], :, :T]
        for each in (self.length, self.of, self.shared):
            each[[a, b]] = each[[b, a]]

    def settle(self, row: int) -> None:
        """Have all of a row's keys and values in its own place: a next turn depends on its tokens, not on other rows."""
        T, own = int(self.shared[row]), int(self.length[row] - self.shared[row])
        if T:
            for kept, trunk in ((self.keys, self.trunk.keys), (self.values, self.trunk.values)):
                kept[:, row, :, T : T + own] = kept[:, row, :, :own].clone()
                kept[:, row, :, :T] = trunk[:, self.of[row], :, :T]
        self.of[row], self.shared[row] = -1, 0

    def begin(self, prompt: Prompt) -> int:
        """Make rows ready for a prompt: its trunk, or -1 where it stands in the rows."""
        past, T = prompt.past, prompt.past + len(prompt.tokens)
        if past:
            self.settle(prompt.after)
        rows, self._trunk_rows = torch.tensor(prompt.rows), None
        shares = self.trunk.fit and not prompt.goes_on
        self.of[rows] = -1
        trunk = self.trunk.take(self.of, T) if shares else -1
        for row in prompt.rows:
            if past and row != prompt.after:
                self.copy(row, prompt.after, past)
        self.length[rows], self.of[rows], self.shared[rows] = T, trunk, T if shares else 0
        return trunk

    # --- one more token for every row -----------------------------------------------------------------------------

    def extend(self, live: int) -> RowCache:
        """Get ready for a token of each of the first `live` rows; what stands behind them pads."""
        self.rows = ceil(live)
        of, own = self.of[: self.rows], (self.length - self.shared)[: self.rows]
        self.longest = ceil(int(own[:live].max()) + 1)
        kv, capacity = self.keys.shape[2:4]
        lane = torch.arange(self.rows * kv)  # one for each row and key head
        self._slot = lane * capacity + own.repeat_interleave(kv)
        self._mask = torch.zeros(self.rows, 1, 1, self.longest, dtype=self.dtype)
        self._mask.masked_fill_((torch.arange(self.longest) > own[:, None])[:, None, None], float("-inf"))
        if self._trunk_rows is None or not torch.equal(self._trunk_rows.of, of):
            self._trunk_rows = TrunkRows.of_rows(of.clone(), self.trunk) if bool((of >= 0).any()) else None
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
        seen, total = summed(grouped, keys[:, :, :T], values[:, :, :T], mask, scale)
        if self._trunk_rows is not None:
            before, total_before = self._trunk_rows.attend(
                grouped, self.trunk.keys[layer], self.trunk.values[layer], scale
            )
            seen = torch.lerp(seen, before, torch.sigmoid(total_before - total)[..., None])
        return seen.reshape(B, h, D).to(qkv.dtype)


class Trunks:
    """Keys and values of prompts, each kept once as long as a row follows it."""

    def __init__(self, config: DecoderConfig, dtype: torch.dtype) -> None:
        c = config
        self.keys = torch.zeros(c.layers, 0, c.kv_heads, 0, c.head_dim, dtype=dtype)  # [L, P, kv, T, D]
        self.values = self.keys.clone()
        self.length = torch.zeros(0, dtype=torch.long)  # [P]
        self.fit = not any(map(c.window_of, range(c.layers)))  # a window would hide another part of it from every row

    def take(self, used: Tensor, tokens: int) -> int:
        """A place for a prompt of so many tokens that none of the trunks in use has."""
        P, T = self.keys.shape[1], self.keys.shape[3]
        held = set(used.tolist())
        place = next((p for p in range(P) if p not in held), P)
        more, longer = max(0, place + 1 - P), max(0, ceil(tokens) - T)
        if more or longer:
            self.keys, self.values = (
                F.pad(each, (0, 0, 0, longer, 0, 0, 0, more)) for each in (self.keys, self.values)
            )
            self.length = F.pad(self.length, (0, more))
        self.length[place] = tokens
        return place

    def put(self, layer: int, place: int, keys: Tensor, values: Tensor) -> None:
        """[T, kv, D] of a prompt."""
        for kept, new in ((self.keys, keys), (self.values, values)):
            kept[layer, place, :, : len(new)] = new.transpose(0, 1)
            kept[layer, place, :, len(new) :] = 0.0


@dataclass(frozen=True)
class TrunkRows:
    """Rows by their trunks, so that its keys are read once for all tries at a prompt."""

    of: Tensor  # [B] the trunk of each row, or -1
    member: Tensor  # [P, M] rows of each trunk, padded with any
    back: Tensor  # [B] where each row stands among those
    none: Tensor  # [B, 1, 1] whether it has no trunk
    mask: Tensor  # [P, 1, 1, T]

    @classmethod
    def of_rows(cls, of: Tensor, trunks: Trunks) -> TrunkRows:
        P, T = trunks.keys.shape[1], trunks.keys.shape[3]
        counts = torch.bincount(of[of >= 0], minlength=P)
        most = ceil(int(counts.max()))
        order = torch.argsort(of, stable=True)[int((of < 0).sum()) :]  # rows with a trunk, by trunk
        first = torch.repeat_interleave(torch.cumsum(counts, 0) - counts, counts)
        place = of[order] * most + torch.arange(len(order)) - first
        member = torch.zeros(P * most, dtype=torch.long).index_copy_(0, place, order)
        back = torch.zeros(len(of), dtype=torch.long).index_copy_(0, order, place)
        hidden = torch.arange(T) >= trunks.length.clamp(min=1)[:, None]
        mask = torch.zeros(hidden.shape, dtype=trunks.keys.dtype).masked_fill_(hidden, float("-inf"))
        return cls(of, member.view(P, most), back, (of < 0)[:, None, None], mask[:, None, None])

    def attend(self, q: Tensor, keys: Tensor, values: Tensor, scale: float) -> tuple[Tensor, Tensor]:
        """[B, kv, g, D] what queries see of their trunks, and [B, kv, g] the logarithm of the sum of the exponentials."""
        P, M = self.member.shape
        _, kv, g, D = q.shape
        asked = q.index_select(0, self.member.flatten()).view(P, M, kv, g, D).transpose(1, 2).reshape(P, kv, M * g, D)
        seen, total = summed(asked, keys, values, self.mask, scale)
        seen, total = (
            each.view(P, kv, M, g, -1).transpose(1, 2).reshape(P * M, kv, g, -1).index_select(0, self.back)
            for each in (seen, total)
        )
        return seen, total.squeeze(-1).masked_fill_(self.none, float("-inf"))


def summed(q: Tensor, keys: Tensor, values: Tensor, mask: Tensor, scale: float) -> tuple[Tensor, Tensor]:
    """Attention, and the logarithm of the sum of its exponentials, with which parts of it are put together."""
    seen, total = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(
        q, keys, values, 0.0, False, attn_mask=mask, scale=scale
    )
    return seen, total


class Reading:
    """A `Memory` that reads prompts and leaves them in the rows of a cache, or in trunks of theirs."""

    def __init__(self, cache: RowCache, prompts: Sequence[Prompt]) -> None:
        self.cache = cache
        self.length = [len(p.tokens) for p in prompts]
        pasts = [p for p in prompts if p.past]
        place = {id(p): run for run, p in enumerate(pasts)}
        parents = [-1] * len(pasts) + [place.get(id(p), -1) for p in prompts]
        self.runs = Runs.of([p.past for p in pasts] + self.length, parents, torch.device("cpu"), silent=len(pasts))
        self.pasts = [(p.after, p.past) for p in pasts]
        first = [0, *accumulate(self.length)]
        trunks = [cache.begin(p) for p in prompts]
        self.trunks = [(t, slice(*first[i : i + 2])) for i, t in enumerate(trunks) if t >= 0]
        where = [
            (row, p.past, at, len(p.tokens))
            for p, at, trunk in zip(prompts, first, trunks, strict=False)
            for row in p.rows
            if trunk < 0
        ]
        row, past, start, count = torch.tensor(where, dtype=torch.long).reshape(-1, 4).T
        column = expand(torch.arange(len(where)), torch.zeros_like(count), count)
        self.row = torch.repeat_interleave(row, count)  # where in the cache ...
        self.column = torch.repeat_interleave(past, count) + column
        self.source = torch.repeat_interleave(start, count) + column  # ... stands which of the tokens processed

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        return self.runs.rotations(net)

    @property
    def last(self) -> Tensor:
        """[prompts] where each prompt's last token stands among those read."""
        return torch.tensor(list(accumulate(self.length))) - 1

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        q, k, v = (each.to(self.cache.dtype) for each in turn(qkv))
        keys, values = self.cache.keys[layer], self.cache.values[layer]
        for trunk, read in self.trunks:
            self.cache.trunk.put(layer, trunk, k[read], v[read])
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
