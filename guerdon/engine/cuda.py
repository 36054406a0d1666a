"""Decoding on a GPU: keys and values in pages, a captured graph for each size of batch, no waiting for the host.

A round of several tokens runs without the host looking: the graph draws the tokens,
feeds them back and notes them down; the host reads a round's tokens at once and trims rows that ended in it.
A draw depends on the row's seed and on the token's position alone,
and what a row's numbers round to on the row alone: neither rounds nor company change a sample.
Leaves out: which rows there are (`continuous.py`), who owns a page (`pages.py`), the kernels (`models/kernels`).

Axes: L layers, B rows, N pages of a row, kv key-value heads, D width of a head, V vocabulary, F tokens of prompts.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate, chain
from typing import NamedTuple, cast

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from guerdon.engine.decoding import Prompt, Sampled, batches
from guerdon.engine.gpu_memory import cache_bytes
from guerdon.engine.pages import Pages
from guerdon.models.attention import Rotating, Runs, Turn
from guerdon.models.config import Rope
from guerdon.models.decoder import Decoder, LayerWeights
from guerdon.models.ops import Rotation
from guerdon.models.sampling import distribution
from guerdon.models.text import TokenRequest

PAGE = 64  # tokens; a multiple of what the attention kernel reads at a time
ROUND = 16  # tokens of a row between two looks of the host
ROWS = 4096  # sampled at a time, at most ...
FEWEST = 16  # ... and at least: fewer cost no less
SHORT, LONGER = 1024, 4  # graphs are for rows of at most so many tokens, so many times as many, and so on


class CudaDecoding:
    """A `Decoding` in pages. It outlives a run of `play`: graphs and memory are kept, `clear` forgets the rows."""

    def __init__(self, net: Decoder) -> None:
        c = net.config
        self.net = cast(Decoder, weakref.proxy(net))  # who keeps it by its net must not keep the net by it
        self.device = net.device
        self.pages = Pages(PAGE)
        self.keys = torch.zeros(c.layers, 0, c.kv_heads, c.head_dim, dtype=net.dtype, device=net.device)
        self.values = self.keys.clone()
        self.length = np.zeros(0, np.int64)  # [B] processed tokens
        self.asked: list[_Asked] = []  # [B]
        self.moved = True  # rows came, went or changed places since their positions were copied to the device
        with torch.no_grad():
            self.weights = self._weights()
        # of the rows, as copied to the device
        self.live, self.stop, self.cut, self.longest = 0, np.zeros(0, np.int64), False, 0
        self.state = _State(0, 0, self.device)
        self.angles = self.net.rotations(torch.arange(0, device=self.device))  # of every position there is room for
        self.graphs: dict[tuple[int, int], Callable[[], None]] = {}
        self.page_bytes = 2 * PAGE * c.layers * c.kv_heads * c.head_dim * net.dtype.itemsize
        self.most_pages = cache_bytes(self.device) // self.page_bytes

    def _weights(self) -> list[LayerWeights]:
        with torch.no_grad():
            return self.net.layer_weights()

    def clear(self) -> None:
        """Forget all rows. Weights that are recomputed each time (adapters) are copied to where the graphs expect them."""
        self.pages.clear()
        self.moved = True
        fresh = self._weights()
        changed = [
            (mine, given)
            for kept, now in zip(self.weights, fresh, strict=True)
            for mine, given in zip(kept, now, strict=True)
            if mine is not given
        ]
        if any(mine is None or given is None or isinstance(mine, nn.Parameter) for mine, given in changed):
            self.weights = fresh  # an adapter came or went: what was kept is the net's own
            self.graphs.clear()
            return
        with torch.no_grad():
            for mine, given in changed:
                assert mine is not None and given is not None
                mine.copy_(given)

    # --- places ---------------------------------------------------------------------------------------------------

    def room(self, longest: int) -> int:
        return max(1, min(ROWS, self.most_pages // (self.pages.needed(longest) + 1)))

    def reserve(self, live: int, ended: int, entering: int, longest: int) -> int:
        """Memory grows to what is asked, never shrinks; graphs contain its address and are captured again."""
        self.pages.trim(self.length.tolist())  # rows that continue are given the rest again
        self.moved = True
        needed = (live + entering) * (self.pages.needed(longest) + 1)  # one more for a row that makes way for another
        stay = sum(total <= self.most_pages - needed for total in accumulate(self.pages.sizes(live, ended)))
        self.pages.drop(live + stay)
        rows, count = live + entering + stay, needed + sum(self.pages.sizes(live, stay))
        if count > self.pages.count:
            self.graphs.clear()  # first: memory may run out before all of it has grown
            for name in ("keys", "values"):
                old: Tensor = getattr(self, name)
                grown = torch.zeros(len(old), count * PAGE, *old.shape[2:], dtype=old.dtype, device=old.device)
                grown[:, : old.shape[1]] = old[:, : count * PAGE]
                setattr(self, name, grown)
        self.pages.reserve(rows, count)
        self.length = np.pad(self.length, (0, max(0, rows - len(self.length))))
        self.asked += [_Asked(0, 0, 0.0, False)] * (rows - len(self.asked))
        width = self.pages.needed(longest)
        if bucket(rows) > self.state.rows or width > self.state.width:
            self.graphs.clear()
            state = _State(max(bucket(rows), self.state.rows), max(bucket(width), self.state.width), self.device)
            self.angles = self.net.rotations(torch.arange(state.width * PAGE, device=self.device))
            self.state = state
        return stay

    def swap(self, a: int, b: int) -> None:
        self.moved = True
        self.pages.swap(a, b)
        self.length[a], self.length[b] = self.length[b], self.length[a]
        self.asked[a], self.asked[b] = self.asked[b], self.asked[a]

    def copy(self, to: int, row: int, tokens: int) -> None:
        self.moved = True
        self._copy_pages([self.pages.share(to, row, tokens)])
        self.length[to] = tokens

    def _copy_pages(self, moves: Sequence[tuple[int, int] | None]) -> None:
        copies = [move for move in moves if move is not None]
        if copies:
            source, target = torch.tensor(copies, device=self.device).T
            for kept in (self.keys, self.values):
                paged = kept.view(len(kept), -1, PAGE, *kept.shape[2:])
                paged[:, target] = paged[:, source]

    # --- prompts --------------------------------------------------------------------------------------------------

    def read(self, prompts: Sequence[Prompt]) -> Tensor:
        self.moved = True
        first = min(row for p in prompts for row in p.rows)
        rows = sum(len(p.rows) for p in prompts)
        logits = torch.empty(rows, self.net.config.vocab, dtype=self.net.dtype, device=self.device)
        for some in batches(prompts):
            reading = _Reading(self, some)
            tokens = torch.tensor([token for p in some for token in p.tokens], device=self.device)
            hidden = self.net(tokens, reading, self.weights)
            moves = []
            for p in some:
                total = p.past + len(p.tokens)
                for row in p.rows:
                    self.length[row] = total
                    if row != reading.leader[id(p)]:
                        moves.append(self.pages.share(row, reading.leader[id(p)], total))
            self._copy_pages(moves)
            last = self.net.logits(hidden[torch.tensor(reading.last, device=self.device)])
            source = torch.tensor([i for i, p in enumerate(some) for _ in p.rows], device=self.device)
            logits[torch.tensor([row - first for p in some for row in p.rows], device=self.device)] = last[source]
        return logits

    def slots(self, row: int, start: int, end: int) -> npt.NDArray[np.int64]:
        """Where a row's tokens from `start` to `end` are kept."""
        n = np.arange(start, end)
        return np.array(self.pages.rows[row], np.int64)[n // PAGE] * PAGE + n % PAGE

    def begin(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        self.enter(first, requests)
        return self.draw(first, logits, requests)

    def enter(self, first: int, requests: Sequence[TokenRequest]) -> None:
        self.asked[first : first + len(requests)] = map(_Asked.of, requests)

    def draw(self, first: int, logits: Tensor, requests: Sequence[TokenRequest]) -> Sampled:
        from guerdon.models.kernels.sample import sample, vocabulary_splits

        heat = [float(r.sampling.temperature) for r in requests]
        if any(r.sampling.cuts for r in requests):
            logits = distribution(logits, [r.sampling for r in requests])
            heat = [h and 1.0 for h in heat]  # it is tempered already
        seed = torch.tensor([signed(r.request.seed) for r in requests], device=self.device)
        at = torch.from_numpy(self.length[first : first + len(requests)].astype(np.int32)).to(self.device)
        temperature = torch.tensor(heat, device=self.device)
        token, logp = sample(logits, seed, at, temperature, vocabulary_splits(logits.shape[1]))
        return Sampled(token.cpu().numpy()[None], logp.cpu().numpy()[None])

    # --- rounds ---------------------------------------------------------------------------------------------------

    def advance(self, token: npt.NDArray[np.int64], requests: Sequence[TokenRequest]) -> Sampled:
        live = len(requests)
        if self.moved or live != self.live:
            self._tell(token)
        if self.cut:
            return self.draw(0, self.extend(token), requests)
        self.state.tick.zero_()
        count = int(min(ROUND, (self.stop - self.length[:live]).max()))
        run = self._graph(min(bucket(live), self.state.rows), self.longest)
        for _ in range(count):
            run()
        self.length[:live] = np.minimum(self.length[:live] + count, self.stop)
        self.moved = False
        return self.state.sampled(count, live)

    def extend(self, token: npt.NDArray[np.int64]) -> Tensor:
        live = len(token)
        if self.moved or live != self.live:
            self._tell(token)
        rows = min(bucket(live), self.state.rows)
        hidden = self.net(self.state.token[:rows], _Extending(self, rows, self.longest), self.weights)
        self.length[:live] += 1
        self.moved = True  # a token that is drawn outside of the graph is not where the next round looks for it
        return self.net.logits(hidden[:live])

    def _tell(self, token: npt.NDArray[np.int64]) -> None:
        """Copy the position of every row to the device, and give each all the pages it may need: until a row comes or goes,
        the device continues without the host."""
        self.live = len(token)
        stop, seed, temperature, cuts = zip(*self.asked[: self.live], strict=True)
        self.stop, self.cut = np.array(stop), any(cuts)
        self.longest = min(longest_bucket(int(self.stop.max())), self.state.width * PAGE)
        self.pages.grow_all(stop)
        numbers = np.stack([token, self.length[: self.live], self.stop, np.array(seed)])
        self.state.load(numbers, self.pages.rows[: self.live], temperature)

    def _graph(self, rows: int, longest: int) -> Callable[[], None]:
        """One token for each of so many rows of at most so many tokens, as one launch."""
        if (rows, longest) not in self.graphs:
            body = _Token(self, rows, longest)
            self.graphs[rows, longest] = body if self.device.type != "cuda" else captured(body, self.state)
        return self.graphs[rows, longest]


KEPT: weakref.WeakKeyDictionary[Decoder, CudaDecoding] = weakref.WeakKeyDictionary()


def cuda_decoding(net: Decoder) -> CudaDecoding:
    """The decoding of a net, kept from one `play` to the next with its memory and its graphs."""
    if net not in KEPT or KEPT[net].device != net.device:
        KEPT[net] = CudaDecoding(net)
    KEPT[net].clear()
    return KEPT[net]


class _Asked(NamedTuple):
    """What the device must know of a row's request."""

    stop: int  # tokens it may have in all
    seed: int
    temperature: float
    cuts: bool

    @classmethod
    def of(cls, r: TokenRequest) -> _Asked:
        how = r.sampling
        return cls(len(r.prompt) + r.limit, signed(r.request.seed), float(how.temperature), how.cuts)


class _State:
    """What a graph reads and writes, at addresses that stay. Rows beyond those that are live stand still."""

    def __init__(self, rows: int, width: int, device: torch.device) -> None:
        self.rows, self.width = rows, width
        self.numbers = torch.zeros(4, rows, dtype=torch.int64, device=device)
        self.token, self.position, self.stop, self.seed = self.numbers
        self.temperature = torch.zeros(rows, dtype=torch.float32, device=device)
        self.table = torch.zeros(rows, width, dtype=torch.int32, device=device)
        self.tick = torch.zeros(1, dtype=torch.int64, device=device)
        self.tokens = torch.zeros(ROUND, rows, dtype=torch.int64, device=device)
        self.logps = torch.zeros(ROUND, rows, dtype=torch.float32, device=device)

    def load(self, numbers: npt.NDArray[np.int64], pages: Sequence[list[int]], temperature: Sequence[float]) -> None:
        """Copy the state of every live row to the device: [4, live] its token, position, stop and seed."""
        live = len(pages)
        owned = np.fromiter(map(len, pages), np.int64, live)
        table = np.zeros((live, self.width), np.int32)
        table[np.arange(self.width) < owned[:, None]] = np.fromiter(chain.from_iterable(pages), np.int32, owned.sum())
        self.numbers.copy_(torch.from_numpy(np.pad(numbers, ((0, 0), (0, self.rows - live)))))
        self.table[:live].copy_(torch.from_numpy(table))
        self.temperature[:live].copy_(torch.tensor(temperature))

    def sampled(self, count: int, live: int) -> Sampled:
        return Sampled(self.tokens[:count, :live].cpu().numpy(), self.logps[:count, :live].cpu().numpy())


class _Extending:
    """A `Memory` that takes one token of each of the first rows."""

    def __init__(self, decoding: CudaDecoding, rows: int, longest: int) -> None:
        from guerdon.models.kernels.row_places import places

        state = decoding.state
        self.decoding, self.longest = decoding, longest
        self.position, self.table = state.position[:rows], state.table[:rows]
        self.slot, self.length = places(self.position, state.stop[:rows], self.table, PAGE)

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        """Of all positions: each row looks up its own."""
        return self.decoding.angles

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        from guerdon.models.kernels.paged_attention import paged_attention
        from guerdon.models.kernels.rope import rotate_and_store

        keys, values = self.decoding.keys[layer], self.decoding.values[layer]
        q = rotate_and_store(
            qkv, turn.at.cos, turn.at.sin, self.position, keys, values, self.slot,
            turn.q_norm, turn.k_norm, turn.eps, turn.plus_one, turn.heads, turn.kv_heads,
        )  # fmt: skip
        return paged_attention(q, keys, values, self.table, self.length, PAGE, scale, window, self.longest)


class _Token:
    """One token of every row: the body of a graph."""

    def __init__(self, decoding: CudaDecoding, rows: int, longest: int) -> None:
        self.decoding, self.rows, self.longest = decoding, rows, longest

    def __call__(self) -> None:
        from guerdon.models.kernels.row_places import note
        from guerdon.models.kernels.sample import sample, vocabulary_splits

        decoding, rows = self.decoding, self.rows
        state, net = decoding.state, decoding.net
        memory = _Extending(decoding, rows, self.longest)
        logits = net.logits(net(state.token[:rows], memory, decoding.weights))
        after = state.position[:rows] + 1
        parts = vocabulary_splits(logits.shape[1])
        token, logp = sample(logits, state.seed[:rows], after, state.temperature[:rows], parts)
        note(token, logp, state.tick, state.tokens, state.logps, state.token, state.position, state.stop)
        state.tick += 1


class _Reading:
    """A `Memory` that reads prompts into the pages of one row each; others with the same prompt share them after."""

    def __init__(self, decoding: CudaDecoding, prompts: Sequence[Prompt]) -> None:
        self.decoding = decoding
        self.leader = {id(p): p.after if p.past else p.rows[0] for p in prompts}
        pasts = [p for p in prompts if p.past]
        length = [len(p.tokens) for p in prompts]
        self.last = [end - 1 for end in accumulate(length)]
        new, known = [], []
        for p in prompts:
            row, total = self.leader[id(p)], p.past + len(p.tokens)
            decoding.pages.cut(row, p.past)
            decoding.pages.grow(row, total)
            new.append(decoding.slots(row, p.past, total))
            if p.past:
                known.append(decoding.slots(row, 0, p.past))
        place = {id(p): run for run, p in enumerate(pasts)}
        parents = [-1] * len(pasts) + [place.get(id(p), -1) for p in prompts]
        self.runs = Runs.of([p.past for p in pasts] + length, parents, decoding.device, silent=len(pasts))
        self.slot = torch.from_numpy(np.concatenate(new)).to(decoding.device)
        self.known = torch.from_numpy(np.concatenate(known)).to(decoding.device) if known else None

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        return self.runs.rotations(net)

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        q, k, v = turn(qkv)
        keys, values = self.decoding.keys[layer], self.decoding.values[layer]
        keys.index_copy_(0, self.slot, k)
        values.index_copy_(0, self.slot, v)
        if self.known is not None:
            k, v = torch.cat([keys[self.known], k]), torch.cat([values[self.known], v])
        return self.runs.attention(q, k, v, scale, window)


def captured(body: Callable[[], None], state: _State) -> Callable[[], None]:
    """A graph of what `body` does. Run first outside of it, so that kernels are compiled; what that changed is put back."""
    before = [t.clone() for t in (state.token, state.position, state.tick)]
    stream = torch.cuda.Stream()  # type: ignore[no-untyped-call]
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        body()
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        body()
    for now, was in zip((state.token, state.position, state.tick), before, strict=True):
        now.copy_(was)
    return graph.replay


def bucket(rows: int) -> int:
    """The sizes there are graphs for: powers of two, and half-way between them."""
    size = FEWEST
    while size < rows:
        size = size * 3 // 2 if size & (size - 1) == 0 and size * 3 // 2 >= rows else 1 << size.bit_length()
    return size


def longest_bucket(tokens: int) -> int:
    """The lengths there are graphs for: few, for a graph takes time to make and memory to keep, and what is longer than the
    rows costs them little."""
    size = SHORT
    while size < tokens:
        size *= LONGER
    return size


def signed(seed: int) -> int:
    """The same 64 bits as a signed number, which is what torch has."""
    seed &= (1 << 64) - 1
    return seed - (1 << 64) if seed >> 63 else seed
