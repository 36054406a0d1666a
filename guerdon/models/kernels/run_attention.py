"""Attention over runs of tokens of any lengths, with gradients, in float32: three kernels, whatever the runs are.

A run of tokens sees itself, each token up to its own, and the runs it follows, whole (`attention.Runs`). Which keys those
are is a list of places, so that a prompt that many answers follow is read where it lies, and never copied. The result
of a query depends on its own keys alone; gradients are added up in the order of the lists: both the same to the last bit
every time.
Leaves out: half precision, where torch's flash attention is faster.

Axes: F tokens that ask, T tokens that are seen, h query heads, kv key heads, D width of a head, R runs.
In the kernels G is the queries that share a key head, C the power of two that holds D.
"""

from __future__ import annotations

from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from guerdon.models.kernels.jit import kernel, laid, power_of_two
from guerdon.models.run_tiles import TILE, Seen

LOG2E = 1.4426950408889634


def run_attention(q: Tensor, k: Tensor, v: Tensor, seen: Seen, scale: float, window: int) -> Tensor:
    """[F, h, D] what queries [F, h, D] see of keys and values [T, kv, D]. All, and the gradient, may lie in any way."""
    T, kv, D = k.shape
    if v.shape != k.shape or q.shape[2] != D or q.shape[1] % kv or len(q) != T - seen.silent:
        raise ValueError(f"queries {tuple(q.shape)} cannot see keys {tuple(k.shape)} and values {tuple(v.shape)}")
    laid("position", seen.position, T)
    out: Tensor = _Attention.apply(q, k, v, seen, scale, window)  # type: ignore[no-untyped-call]
    return out


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, q: Tensor, k: Tensor, v: Tensor, seen: Seen, scale: float, window: int) -> Tensor:
        q, k, v = q.contiguous(), k.contiguous(), v.contiguous()
        F, h, D = q.shape
        out, lse = torch.empty_like(q), torch.empty((F, h), dtype=torch.float32, device=q.device)
        _see[(len(seen.query_tiles), h)](
            q, k, v, out, lse, seen.query_tiles, seen.keys, seen.position, scale * LOG2E, window, seen.silent, h,
            k.shape[1], D=D, C=_width(D), B=TILE, num_warps=4, num_stages=2,
        )  # fmt: skip
        ctx.save_for_backward(q, k, v, out, lse)
        ctx.rest = seen, scale, window
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, out_grad: Tensor) -> tuple[Tensor | None, ...]:
        q, k, v, out, lse = ctx.saved_tensors
        seen, scale, window = ctx.rest
        out_grad = out_grad.contiguous()
        (F, h, D), kv = q.shape, k.shape[1]
        q_grad, k_grad, v_grad = torch.empty_like(q), torch.empty_like(k), torch.empty_like(v)
        along = torch.empty((F, h), dtype=torch.float32, device=q.device)
        shape: dict[str, Any] = {"D": D, "C": _width(D), "B": TILE, "num_warps": 4, "num_stages": 2}
        _query_grad[(len(seen.query_tiles), h)](
            q, k, v, out, lse, out_grad, q_grad, along, seen.query_tiles, seen.keys, seen.position, scale, scale * LOG2E,
            window, seen.silent, h, kv, **shape,
        )  # fmt: skip
        _key_grad[(len(seen.key_tiles), kv)](
            q, k, v, lse, out_grad, along, k_grad, v_grad, seen.key_tiles, seen.queries, seen.position, scale,
            scale * LOG2E, window, seen.silent, h, kv, G=h // kv, **shape,
        )  # fmt: skip
        return q_grad, k_grad, v_grad, None, None, None


def _width(D: int) -> int:
    return max(16, power_of_two(D))


@kernel
def _see(
    q: tl.tensor, k: tl.tensor, v: tl.tensor, out: tl.tensor, lse: tl.tensor, tiles: tl.tensor, keys: tl.tensor,
    position: tl.tensor, sharp: tl.tensor, window: tl.tensor, silent: tl.tensor, h: tl.tensor, kv: tl.tensor,
    D: tl.constexpr, C: tl.constexpr, B: tl.constexpr,
) -> None:  # fmt: skip
    """Online softmax in powers of two of a tile of queries of one head over the keys that their run sees."""
    tile, head = tl.program_id(0), tl.program_id(1)
    shared = head // (h // kv)
    first, count = tl.load(tiles + tile * 4), tl.load(tiles + tile * 4 + 1)
    list_at, entries = tl.load(tiles + tile * 4 + 2), tl.load(tiles + tile * 4 + 3)
    row, d = tl.arange(0, B), tl.arange(0, C)
    token = (first + row).to(tl.int64)
    asks = row < count
    at = ((token - silent) * h + head)[:, None] * D + d[None, :]
    inside = asks[:, None] & (d[None, :] < D)
    query = tl.load(q + at, mask=inside, other=0.0)
    here = tl.load(position + token, mask=asks, other=0)
    most = tl.full((B,), float("-inf"), tl.float32)
    mass, total = tl.zeros((B,), tl.float32), tl.zeros((B, C), tl.float32)
    for start in range(0, entries, B):
        listed = start + tl.arange(0, B)
        there = listed < entries
        place = tl.load(keys + list_at + listed, mask=there, other=0).to(tl.int64)
        spot = (place * kv + shared)[:, None] * D + d[None, :]
        whole = there[:, None] & (d[None, :] < D)
        key = tl.load(k + spot, mask=whole, other=0.0)
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * sharp
        ago = here[:, None] - tl.load(position + place, mask=there, other=0)[None, :]
        visible = there[None, :] & (ago >= 0) & ((window == 0) | (ago < window))
        score = tl.where(visible, score, float("-inf"))
        top = tl.maximum(most, tl.max(score, 1))
        base = tl.where(
            top == float("-inf"), 0.0, top
        )  # a row of the padding, or a block beyond the window, has no key
        fade, p = tl.exp2(most - base), tl.exp2(score - base[:, None])
        value = tl.load(v + spot, mask=whole, other=0.0)
        total = total * fade[:, None] + tl.dot(p, value, input_precision="ieee")
        mass = mass * fade + tl.sum(p, 1)
        most = top
    some = tl.where(mass > 0, mass, 1.0)
    tl.store(out + at, total / some[:, None], mask=inside)
    tl.store(lse + (token - silent) * h + head, most + tl.log2(some), mask=asks)


@kernel
def _query_grad(
    q: tl.tensor, k: tl.tensor, v: tl.tensor, out: tl.tensor, lse: tl.tensor, out_grad: tl.tensor, q_grad: tl.tensor,
    along: tl.tensor, tiles: tl.tensor, keys: tl.tensor, position: tl.tensor, scale: tl.tensor, sharp: tl.tensor,
    window: tl.tensor, silent: tl.tensor, h: tl.tensor, kv: tl.tensor, D: tl.constexpr, C: tl.constexpr, B: tl.constexpr,
) -> None:  # fmt: skip
    """With p the softmax, s the scores and a = out · dout: ds = p (dout v' - a), dq = scale ds k. Writes a down too."""
    tile, head = tl.program_id(0), tl.program_id(1)
    shared = head // (h // kv)
    first, count = tl.load(tiles + tile * 4), tl.load(tiles + tile * 4 + 1)
    list_at, entries = tl.load(tiles + tile * 4 + 2), tl.load(tiles + tile * 4 + 3)
    row, d = tl.arange(0, B), tl.arange(0, C)
    token = (first + row).to(tl.int64)
    asks = row < count
    at = ((token - silent) * h + head)[:, None] * D + d[None, :]
    inside = asks[:, None] & (d[None, :] < D)
    query, grad = tl.load(q + at, mask=inside, other=0.0), tl.load(out_grad + at, mask=inside, other=0.0)
    a = tl.sum(grad * tl.load(out + at, mask=inside, other=0.0), 1)
    tl.store(along + (token - silent) * h + head, a, mask=asks)
    norm = tl.load(lse + (token - silent) * h + head, mask=asks, other=0.0)
    here = tl.load(position + token, mask=asks, other=0)
    total = tl.zeros((B, C), tl.float32)
    for start in range(0, entries, B):
        listed = start + tl.arange(0, B)
        there = listed < entries
        place = tl.load(keys + list_at + listed, mask=there, other=0).to(tl.int64)
        spot = (place * kv + shared)[:, None] * D + d[None, :]
        whole = there[:, None] & (d[None, :] < D)
        key, value = tl.load(k + spot, mask=whole, other=0.0), tl.load(v + spot, mask=whole, other=0.0)
        ago = here[:, None] - tl.load(position + place, mask=there, other=0)[None, :]
        visible = asks[:, None] & there[None, :] & (ago >= 0) & ((window == 0) | (ago < window))
        score = tl.dot(query, tl.trans(key), input_precision="ieee") * sharp
        p = tl.where(visible, tl.exp2(score - norm[:, None]), 0.0)
        ds = p * (tl.dot(grad, tl.trans(value), input_precision="ieee") - a[:, None])
        total += tl.dot(ds, key, input_precision="ieee")
    tl.store(q_grad + at, total * scale, mask=inside)


@kernel
def _key_grad(
    q: tl.tensor, k: tl.tensor, v: tl.tensor, lse: tl.tensor, out_grad: tl.tensor, along: tl.tensor, k_grad: tl.tensor,
    v_grad: tl.tensor, tiles: tl.tensor, queries: tl.tensor, position: tl.tensor, scale: tl.tensor, sharp: tl.tensor,
    window: tl.tensor, silent: tl.tensor, h: tl.tensor, kv: tl.tensor, G: tl.constexpr, D: tl.constexpr,
    C: tl.constexpr, B: tl.constexpr,
) -> None:  # fmt: skip
    """dv = p' dout and dk = scale ds' q, over all queries that see the keys of a tile, one head of the group after another."""
    tile, shared = tl.program_id(0), tl.program_id(1)
    first, count = tl.load(tiles + tile * 4), tl.load(tiles + tile * 4 + 1)
    list_at, entries = tl.load(tiles + tile * 4 + 2), tl.load(tiles + tile * 4 + 3)
    row, d = tl.arange(0, B), tl.arange(0, C)
    token = (first + row).to(tl.int64)
    kept = row < count
    spot = (token * kv + shared)[:, None] * D + d[None, :]
    inside = kept[:, None] & (d[None, :] < D)
    key, value = tl.load(k + spot, mask=inside, other=0.0), tl.load(v + spot, mask=inside, other=0.0)
    here = tl.load(position + token, mask=kept, other=0)
    key_total, value_total = tl.zeros((B, C), tl.float32), tl.zeros((B, C), tl.float32)
    for start in range(0, entries, B):
        listed = start + tl.arange(0, B)
        there = listed < entries
        place = tl.load(queries + list_at + listed, mask=there, other=0).to(tl.int64)
        ago = tl.load(position + place, mask=there, other=0)[None, :] - here[:, None]
        visible = kept[:, None] & there[None, :] & (ago >= 0) & ((window == 0) | (ago < window))
        for member in range(G):
            asked = (place - silent) * h + shared * G + member
            at = asked[:, None] * D + d[None, :]
            whole = there[:, None] & (d[None, :] < D)
            query, grad = tl.load(q + at, mask=whole, other=0.0), tl.load(out_grad + at, mask=whole, other=0.0)
            norm, a = tl.load(lse + asked, mask=there, other=0.0), tl.load(along + asked, mask=there, other=0.0)
            score = tl.dot(key, tl.trans(query), input_precision="ieee") * sharp
            p = tl.where(visible, tl.exp2(score - norm[None, :]), 0.0)  # [keys, queries]
            value_total += tl.dot(p, grad, input_precision="ieee")
            ds = p * (tl.dot(value, tl.trans(grad), input_precision="ieee") - a[None, :])
            key_total += tl.dot(ds, query, input_precision="ieee")
    tl.store(k_grad + spot, key_total * scale, mask=inside)
    tl.store(v_grad + spot, value_total, mask=inside)
