"""Rotary positions: `rotate` with gradients for training, and `rotate_and_store`, all that decoding does to q, k and v.

Heads are split in halves, the first turned against the second (Hugging Face's order; Meta's interleaves).
Turning is done in float32 and rounded once.
Leaves out: how angles are made (frequencies, scaling), who hands out slots.

Axes: M rows of any kind, B rows being decoded, H or h query heads, kv key heads, D width of a head, P positions.
In the kernels HALF is D / 2 and C the power of two that holds it.
"""

from __future__ import annotations

from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from guerdon.models.kernels.jit import in_place, kernel, laid, power_of_two, warps

BLOCK = 1024  # pairs of numbers that a program turns


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """x [M, H, D] by angles [M, D / 2]: [M, H, D], contiguous. All, and the gradient, may lie in any way; a slice of heads is
    read where it lies."""
    M, _, D = x.shape
    cos, sin = laid("cos", cos, M, D // 2), laid("sin", sin, M, D // 2)
    out: Tensor = _Rotate.apply(x, cos, sin)  # type: ignore[no-untyped-call]
    return out


class _Rotate(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turn(x, cos, sin, back=False)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, out_grad: Tensor) -> tuple[Tensor, None, None]:
        return _turn(out_grad, *ctx.saved_tensors, back=True), None, None


def _turn(x: Tensor, cos: Tensor, sin: Tensor, *, back: bool) -> Tensor:
    x = x if x.stride(2) == 1 else x.contiguous()
    M, H, D = x.shape
    out = torch.empty((M, H, D), dtype=x.dtype, device=x.device)
    C = power_of_two(D // 2)
    R = min(power_of_two(H), max(1, BLOCK // C))
    _rotate[(M, -(-H // R))](
        x, cos, sin, out, x.stride(0), x.stride(1), H, HALF=D // 2, BACK=back, R=R, C=C, num_warps=warps(R * C)
    )
    return out


def rotate_and_store(
    qkv: Tensor,
    cos: Tensor,
    sin: Tensor,
    position: Tensor,
    keys: Tensor,
    values: Tensor,
    slot: Tensor,
    q_norm: Tensor | None,
    k_norm: Tensor | None,
    eps: float,
    plus_one: bool,
    h: int,
    kv: int,
) -> Tensor:
    """Turned queries [B, h, D] of qkv [B, h + 2 kv, D]; turned keys and plain values go to the cache [slots, kv, D].

    A row's angles are at `position` [B] of the tables [P, D / 2], and its place in the cache is `slot` [B]. A row whose slot
    is negative stores nothing, and its queries are zeros: one at its end may stand at position P, of which there is no
    angle. Weights `q_norm` and `k_norm` [D] ask for the norm of each head before it is turned (Qwen 3; Gemma 3 with
    `plus_one`). The cache must be contiguous, for it is written where it lies; all else may lie in any way.
    """
    B, D = qkv.shape[0], qkv.shape[2]
    qkv = laid("qkv", qkv, B, h + 2 * kv, D)
    cos, sin = laid("cos", cos, len(cos), D // 2), laid("sin", sin, len(cos), D // 2)
    position, slot = laid("position", position, B), laid("slot", slot, B)
    q_norm, k_norm = (None if w is None else laid("the weight of a norm", w, D) for w in (q_norm, k_norm))
    in_place("the cache of keys", keys, len(keys), kv, D)
    in_place("the cache of values", values, len(keys), kv, D)
    q = torch.empty((B, h, D), dtype=qkv.dtype, device=qkv.device)
    unused = qkv  # stands where there is no weight, and is never read there
    C = power_of_two(D // 2)
    R = min(power_of_two(h + 2 * kv), max(1, BLOCK // C))
    _rotate_and_store[(B, -(-(h + 2 * kv) // R))](
        qkv, cos, sin, position, keys, values, slot, unused if q_norm is None else q_norm,
        unused if k_norm is None else k_norm, q, eps, h, kv, Q_NORM=q_norm is not None, K_NORM=k_norm is not None,
        PLUS_ONE=plus_one, HALF=D // 2, R=R, C=C, num_warps=warps(R * C),
    )  # fmt: skip
    return q


@kernel
def _rotate(
    x: tl.tensor, cos: tl.tensor, sin: tl.tensor, out: tl.tensor, row_stride: tl.tensor, head_stride: tl.tensor,
    H: tl.tensor, HALF: tl.constexpr, BACK: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * R + tl.arange(0, R)[:, None]
    pair = tl.arange(0, C)[None, :]
    inside = (head < H) & (pair < HALF)
    source = x + row * row_stride + head.to(tl.int64) * head_stride + pair
    a = tl.load(source, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(source + HALF, mask=inside, other=0.0).to(tl.float32)
    c = tl.load(cos + row * HALF + pair, mask=pair < HALF, other=0.0).to(tl.float32)
    s = tl.load(sin + row * HALF + pair, mask=pair < HALF, other=0.0).to(tl.float32)
    if BACK:
        s = -s
    target = out + (row * H + head) * 2 * HALF + pair
    tl.store(target, (a * c - b * s).to(out.dtype.element_ty), mask=inside)
    tl.store(target + HALF, (b * c + a * s).to(out.dtype.element_ty), mask=inside)


@kernel
def _rotate_and_store(
    qkv: tl.tensor, cos: tl.tensor, sin: tl.tensor, position: tl.tensor, keys: tl.tensor, values: tl.tensor,
    slot: tl.tensor, q_norm: tl.tensor, k_norm: tl.tensor, q: tl.tensor, eps: tl.tensor, h: tl.tensor, kv: tl.tensor,
    Q_NORM: tl.constexpr, K_NORM: tl.constexpr, PLUS_ONE: tl.constexpr, HALF: tl.constexpr, R: tl.constexpr,
    C: tl.constexpr,
) -> None:  # fmt: skip
    """Some heads of a row, whichever they are: queries, keys and values differ in what is done with them, not in how."""
    row = tl.program_id(0).to(tl.int64)
    head = tl.program_id(1) * R + tl.arange(0, R)[:, None]
    pair = tl.arange(0, C)[None, :]
    inside = (head < h + 2 * kv) & (pair < HALF)
    is_q, is_k, is_v = head < h, (head >= h) & (head < h + kv), head >= h + kv
    dtype = qkv.dtype.element_ty
    source = qkv + (row * (h + 2 * kv) + head) * 2 * HALF + pair
    a = tl.load(source, mask=inside, other=0.0).to(tl.float32)
    b = tl.load(source + HALF, mask=inside, other=0.0).to(tl.float32)
    place = tl.load(slot + row).to(tl.int64)
    goes_on = place >= 0
    kept = inside & goes_on
    target = values + (place * kv + head - h - kv) * 2 * HALF + pair
    tl.store(target, a.to(values.dtype.element_ty), mask=kept & is_v)
    tl.store(target + HALF, b.to(values.dtype.element_ty), mask=kept & is_v)
    if Q_NORM:
        a, b = _head_norm(a, b, q_norm, eps, pair, is_q, dtype, PLUS_ONE, HALF)
    if K_NORM:
        a, b = _head_norm(a, b, k_norm, eps, pair, is_k, dtype, PLUS_ONE, HALF)
    angle = tl.load(position + row).to(tl.int64) * HALF + pair
    c = tl.load(cos + angle, mask=goes_on & (pair < HALF), other=0.0).to(tl.float32)
    s = tl.load(sin + angle, mask=goes_on & (pair < HALF), other=0.0).to(tl.float32)
    first, second = a * c - b * s, b * c + a * s
    target = q + (row * h + head) * 2 * HALF + pair
    tl.store(target, first.to(q.dtype.element_ty), mask=inside & is_q)
    tl.store(target + HALF, second.to(q.dtype.element_ty), mask=inside & is_q)
    target = keys + (place * kv + head - h) * 2 * HALF + pair
    tl.store(target, first.to(keys.dtype.element_ty), mask=kept & is_k)
    tl.store(target + HALF, second.to(keys.dtype.element_ty), mask=kept & is_k)


@kernel
def _head_norm(
    a: tl.tensor, b: tl.tensor, weight: tl.tensor, eps: tl.tensor, pair: tl.tensor, here: tl.tensor,
    dtype: tl.constexpr, PLUS_ONE: tl.constexpr, HALF: tl.constexpr,
) -> tl.tensor:  # fmt: skip
    """Both halves of some heads over their common root mean square, rounded where Hugging Face rounds (see `norm.py`)."""
    scale = tl.rsqrt((tl.sum(a * a, 1) + tl.sum(b * b, 1)) / (2 * HALF) + eps)[:, None]
    wa = tl.load(weight + pair, mask=pair < HALF, other=0.0).to(tl.float32)
    wb = tl.load(weight + HALF + pair, mask=pair < HALF, other=0.0).to(tl.float32)
    if PLUS_ONE:
        x, y = a * scale * (1.0 + wa), b * scale * (1.0 + wb)
    else:
        x, y = (a * scale).to(dtype).to(tl.float32) * wa, (b * scale).to(dtype).to(tl.float32) * wb
    return tl.where(here, x.to(dtype).to(tl.float32), a), tl.where(here, y.to(dtype).to(tl.float32), b)
