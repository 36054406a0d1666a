"""What each token attends to: a decoder runs over a flat row of tokens, and its memory gives what each attends to.

`Runs` is the memory of training and of reading prompts: stretches of tokens, each after an earlier stretch or none.
A prompt that several answers follow, or the trunk of a tree, therefore stands in the row once.
Leaves out: what keeps keys and values between calls (`engine/cpu.py`, `engine/cuda.py`).

Axes: F tokens, R runs, Q tokens of a run, T tokens it sees, h heads, kv key-value heads, D width of a head.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from guerdon.models.config import Rope
from guerdon.models.ops import Rotation, rms_norm, rotate
from guerdon.models.run_tiles import Seen, ranges, seen_by

MULTIPLE = 16  # padded lengths: equal tails make equal rounding, whatever a run is padded to
SLACK = 0.15  # share of a padded block that may be padding
SMALL, LARGE = 1 << 16, 1 << 23  # pairs of tokens in a block: padding is never minded below, no run is added above
LONG = 512  # tokens of a run without a past from which a mask costs more than it saves


class Turn(NamedTuple):
    """What happens to queries and keys before they meet: a norm head by head where a model has it, and the rotation."""

    heads: int
    kv_heads: int
    at: Rotation
    q_norm: Tensor | None
    k_norm: Tensor | None
    eps: float
    plus_one: bool

    def __call__(self, qkv: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """[F, h + 2 kv, D] to [F, h, D], [F, kv, D], [F, kv, D]."""
        h, kv = self.heads, self.kv_heads
        qk, v = torch.split(
            qkv, [h + kv, kv], dim=1
        )  # whose gradient is one tensor; that of slices is several, mostly zeros
        if self.q_norm is not None and self.k_norm is not None:
            q, k = torch.split(qk, [h, kv], dim=1)
            normed = (
                rms_norm(q, self.q_norm, self.eps, self.plus_one),
                rms_norm(k, self.k_norm, self.eps, self.plus_one),
            )
            qk = torch.cat(normed, dim=1)
        q, k = torch.split(rotate(qk, self.at), [h, kv], dim=1)
        return q, k, v


class Rotating(Protocol):
    """A decoder, as a memory sees it."""

    def rotations(self, position: Tensor) -> Mapping[Rope, Rotation]: ...


class Memory(Protocol):
    """What a decoder's attention looks at."""

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        """The angles of the tokens that are being read."""

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        """[F, h, D] what the queries see, of a layer's [F, h + 2 kv, D]; a `window` of 0 is all."""


class Pick:
    """x[index], for many x: its gradient on a GPU is added up in a fixed order, which is worked out once.

    `own` are the places without padding, where there is padding: it picks any row, and nothing comes back from it. (All
    of it picks one row, whose sum would be as long as all padding together.)
    """

    def __init__(self, index: Tensor, own: Tensor | None = None) -> None:
        self.index = index
        self.own = torch.arange(index.numel(), device=index.device) if own is None else own
        self.shape = index.shape
        self._uses: tuple[Tensor, Tensor] | None = None

    def __call__(self, x: Tensor) -> Tensor:
        if x.is_cuda and torch.is_grad_enabled() and x.requires_grad:
            picked: Tensor = _Picked.apply(x, self)  # type: ignore[no-untyped-call]
            return picked
        return x.index_select(0, self.index.flatten()).view(*self.shape, *x.shape[1:])

    def uses(self, rows: int) -> tuple[Tensor, Tensor]:
        """The places that each of so many rows is picked for, one row's after another's, and where each row's begin."""
        if self._uses is None:
            ordered, order = torch.sort(self.index.flatten()[self.own], stable=True)
            every = torch.arange(rows + 1, device=order.device)
            self._uses = self.own[order], torch.searchsorted(ordered, every)
        return self._uses


class _Picked(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, pick: Pick) -> Tensor:
        ctx.pick, ctx.shape = pick, x.shape
        return x.index_select(0, pick.index.flatten()).view(*pick.shape, *x.shape[1:])

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        from guerdon.models.kernels.pick import sum_uses

        rows = ctx.shape[0]
        flat = gradient.reshape(ctx.pick.index.numel(), -1)
        return sum_uses(flat, *ctx.pick.uses(rows)).view(ctx.shape), None


class Block:
    """Runs of about one length, side by side: where their tokens stand in the row, padded with any of them."""

    def __init__(self, query: Pick, key: Pick, offset: Tensor, causal: bool) -> None:
        self.query = query  # [R, Q]
        self.key = key  # [R, T]
        self.offset = offset  # [R] how many tokens a run sees before its first
        self.causal = causal  # long runs without a past: no mask need be written down
        self._masks: dict[int, Tensor] = {}

    def attention(self, q: Tensor, k_v: Tensor, scale: float, window: int) -> Tensor:
        """[R * Q, h, D], padding and all, of [F, h, D] and of [F, 2 kv, D], keys and then values."""
        R, Q = self.query.shape
        h, kv, D = q.shape[1], k_v.shape[1] // 2, q.shape[2]
        keys, values = torch.split(self.key(k_v).transpose(1, 2), kv, dim=1)
        queries = self.query(q)  # [R, Q, h, D]
        if self.causal and not window:
            queries = queries.transpose(1, 2)
            seen = F.scaled_dot_product_attention(queries, keys, values, is_causal=True, scale=scale, enable_gqa=True)
            return seen.transpose(1, 2).reshape(R * Q, h, D)
        group = h // kv  # heads that share a key stand as so many queries on it
        queries = queries.view(R, Q, kv, group, D).permute(0, 2, 3, 1, 4).reshape(R, kv, group * Q, D)
        mask = self._mask(window, group, q.dtype)
        seen = F.scaled_dot_product_attention(queries, keys, values, mask, scale=scale)
        return seen.view(R, kv, group, Q, D).permute(0, 3, 1, 2, 4).reshape(R * Q, h, D)

    def _mask(self, window: int, group: int, dtype: torch.dtype) -> Tensor:
        """[R, 1, group Q, T] 0 where a query may look, -inf where not: the same for every head of a group."""
        if window not in self._masks:
            device = self.offset.device
            column = torch.arange(self.key.shape[1], device=device)
            last = (torch.arange(self.query.shape[1], device=device) + self.offset[:, None])[..., None]
            hidden = column > last
            if window:
                hidden |= column <= last - window
            mask = torch.zeros(hidden.shape, dtype=dtype, device=device).masked_fill_(hidden, float("-inf"))
            self._masks[window] = mask.repeat(1, group, 1)[:, None]
        return self._masks[window]


@dataclass(frozen=True)
class Runs:
    """R runs in a row of tokens. Run r has `length[r]` tokens and sees, before them, all that run `parent[r]` saw and
    has itself (-1: nothing). Parents come first. The first `silent` runs are looked at and ask nothing: they have keys
    and values, and no queries."""

    length: npt.NDArray[np.int64]  # [R]
    parent: npt.NDArray[np.int64]  # [R]
    device: torch.device
    silent: int = 0

    @classmethod
    def of(cls, length: Sequence[int], parent: Sequence[int], device: torch.device, silent: int = 0) -> Runs:
        return cls(np.array(length, np.int64), np.array(parent, np.int64), device, silent)

    @classmethod
    def apart(cls, length: Sequence[int], device: torch.device) -> Runs:
        """Runs that have nothing to do with each other."""
        return cls.of(length, [-1] * len(length), device)

    @cached_property
    def start(self) -> npt.NDArray[np.int64]:
        start: npt.NDArray[np.int64] = np.cumsum(self.length) - self.length
        return start

    @cached_property
    def before(self) -> npt.NDArray[np.int64]:
        """[R] tokens a run sees before its own."""
        length, seen = self.length.tolist(), [0] * len(self.length)
        for r, p in enumerate(self.parent.tolist()):
            if p >= 0:
                seen[r] = seen[p] + length[p]
        return np.array(seen, np.int64)

    @cached_property
    def position(self) -> Tensor:
        """[F] of the tokens that ask."""
        offset = np.repeat(self.before - self.start, self.length)
        return self._moved((offset + np.arange(len(offset)))[self._known :])

    def rotations(self, net: Rotating) -> Mapping[Rope, Rotation]:
        return net.rotations(self.position)

    @property
    def _known(self) -> int:
        """Tokens of the silent runs."""
        return int(self.length[: self.silent].sum())

    def keys(self, runs: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        """Where in the row stand the tokens that each run's last token sees, one run's after another's."""
        total = (self.length + self.before)[runs]
        first = np.cumsum(total) - total
        places = np.empty(total.sum(), np.int64)
        while len(runs):  # up from all of them at once
            places[ranges(first + self.before[runs], self.length[runs])] = ranges(self.start[runs], self.length[runs])
            follows = self.parent[runs] >= 0
            runs, first = self.parent[runs[follows]], first[follows]
        return places

    def attend(self, layer: int, qkv: Tensor, turn: Turn, scale: float, window: int) -> Tensor:
        q, k, v = turn(qkv)
        return self.attention(q, k, v, scale, window)

    def attention(self, q: Tensor, k: Tensor, v: Tensor, scale: float, window: int) -> Tensor:
        if q.is_cuda and q.dtype in (torch.bfloat16, torch.float16):
            return self._flash(q, k, v, scale, window)
        if q.is_cuda and q.dtype == torch.float32:
            from guerdon.models.kernels.run_attention import run_attention

            return run_attention(q, k, v, self.seen, scale, window)
        if not q.is_cuda and q.dtype == torch.bfloat16:  # whose gradient takes a CPU longer than all products of a step
            return self.attention(q.float(), k.float(), v.float(), scale, window).to(q.dtype)
        k_v = torch.cat([k, v], dim=1)
        return self._back(torch.cat([block.attention(q, k_v, scale, window) for block in self._blocks]))

    @cached_property
    def seen(self) -> Seen:
        """Who sees whom, as the float32 kernels read it."""
        return seen_by(self.length, self.parent, self.start, self.before, self.silent, self.keys, self.device)

    @cached_property
    def _blocks(self) -> list[Block]:
        blocks = []
        for rows, causal in _alike(self.length.tolist(), self.before.tolist(), self.silent):
            runs = np.array(rows, np.int64)
            length, total = self.length[runs], (self.length + self.before)[runs]
            wide, far = ceil(int(length.max())), ceil(int(total.max()))
            query, key = np.zeros((len(runs), wide), np.int64), np.zeros((len(runs), far), np.int64)
            asks, seen = np.arange(wide) < length[:, None], np.arange(far) < total[:, None]
            query[asks] = ranges(self.start[runs] - self._known, length)
            key[seen] = self.keys(runs)
            picks = [
                Pick(self._moved(where), self._moved(np.flatnonzero(own)))
                for where, own in ((query, asks), (key, seen))
            ]
            blocks.append(Block(picks[0], picks[1], self._moved(self.before[runs]), causal))
        return blocks

    def _moved(self, numbers: npt.NDArray[Any]) -> Tensor:
        return torch.from_numpy(numbers).to(self.device)

    @cached_property
    def _back(self) -> Pick:
        """[F] where each token that asks stands in the blocks, one after the other."""
        asked = [block.query for block in self._blocks]
        token = torch.cat([each.index.flatten()[each.own] for each in asked])
        first = accumulate((each.index.numel() for each in asked), initial=0)
        place = torch.cat([each.own + at for each, at in zip(asked, first, strict=False)])
        return Pick(torch.empty_like(place).scatter_(0, token, place))

    @cached_property
    def _flash_lengths(self) -> tuple[Tensor, Tensor, Pick, int, int]:
        """What a variable-length kernel asks for: bounds of the queries, of the keys, which keys, and the longest."""
        length, total = self.length[self.silent :], (self.length + self.before)[self.silent :]
        bounds = [np.concatenate([[0], np.cumsum(x)]).astype(np.int32) for x in (length, total)]
        key = self.keys(np.arange(self.silent, len(self.length)))
        asked, seen = (self._moved(each) for each in bounds)
        return asked, seen, Pick(self._moved(key)), int(length.max()), int(total.max())

    def _flash(self, q: Tensor, k: Tensor, v: Tensor, scale: float, window: int) -> Tensor:
        q_bounds, k_bounds, key, longest_q, longest_k = self._flash_lengths
        if self.before.any():
            k, v = key(k), key(v)
        # torch's public door to this kernel has changed its arguments from release to release; this one has not
        seen: Tensor = torch.ops.aten._flash_attention_forward(
            q, k, v, q_bounds, k_bounds, longest_q, longest_k, 0.0, True, False,
            scale=scale, window_size_left=window - 1 if window else -1, window_size_right=0 if window else -1,
        )[0]  # fmt: skip
        return seen


def _alike(length: Sequence[int], before: Sequence[int], silent: int) -> list[tuple[list[int], bool]]:
    """Split runs into blocks whose padding and masks stay small, and say which of them are long and without a past.

    Longest first; a block ends when another run would make it waste too much. Which kind a run is depends on it alone.
    """
    total = [a + b for a, b in zip(length, before, strict=True)]
    long = [a >= LONG and not b for a, b in zip(length, before, strict=True)]
    asking = [r for r in range(silent, len(length)) if length[r]]
    order = sorted(asking, key=lambda r: (-long[r], -length[r], -total[r]))
    blocks: list[tuple[list[int], bool]] = []
    wide = far = used = 0
    for r in order:
        size, far_now = length[r] * total[r], max(far, total[r])
        cost = (len(blocks[-1][0]) + 1) * wide * far_now if blocks else 0
        wasteful = cost > SMALL and (used + size < (1 - SLACK) * cost or cost > LARGE)
        if not blocks or wasteful or blocks[-1][1] != long[r]:
            blocks.append(([], long[r]))
            wide, far_now, used = length[r], total[r], 0
        blocks[-1][0].append(r)
        far, used = far_now, used + size
    return blocks


def ceil(n: int) -> int:
    """The next padded length."""
    return -(-n // MULTIPLE) * MULTIPLE
