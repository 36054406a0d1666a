"""RMS norm, alone or after adding a residual, with gradients: each reads its inputs once and writes its outputs once.

Rounding is Hugging Face's: Llama and Qwen normalise in float32, round, then multiply by the weight;
Gemma (`plus_one`) multiplies by 1 + weight in float32 and rounds last.
Backward computes the norm again from its input, which costs nothing since that row is in registers anyway.
Leaves out: layer norm, the norm of single heads while decoding (`rope.py`).

Axes: M rows, E width, P programs of the backward pass.
In the kernels R and C are a block's rows and its padded width.
"""

from __future__ import annotations

from typing import Any

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from guerdon.models.kernels.jit import kernel, laid, power_of_two, warps

BLOCK = 1024  # numbers a program holds; narrower rows share a program
PROGRAMS = 1056  # of the backward pass: 8 for each of 132 multiprocessors. Fixed, so that sums are the same everywhere


def rms_norm(x: Tensor, weight: Tensor, eps: float, plus_one: bool) -> Tensor:
    """x [M, E] over its root mean square, times weight [E]: [M, E] of x's type. All, and gradients, may lie in any way."""
    weight = laid("weight", weight, x.shape[1])
    if not torch.is_grad_enabled():  # autograd's bookkeeping takes longer than the launch
        x = x.contiguous()
        out = torch.empty_like(x)
        _run_forward(x, None, weight, x, out, eps, plus_one)
        return out
    normed: Tensor = _Norm.apply(x, weight, eps, plus_one)  # type: ignore[no-untyped-call]
    return normed


def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor, eps: float, plus_one: bool) -> tuple[Tensor, Tensor]:
    """x + residual, and the norm of it: both [M, E]. All, and gradients, may lie in any way."""
    weight, residual = laid("weight", weight, x.shape[1]), laid("residual", residual, *x.shape)
    if not torch.is_grad_enabled():
        x = x.contiguous()
        total, out = torch.empty_like(x), torch.empty_like(x)
        _run_forward(x, residual, weight, total, out, eps, plus_one)
        return total, out
    both: tuple[Tensor, Tensor] = _AddNorm.apply(x, residual, weight, eps, plus_one)  # type: ignore[no-untyped-call]
    return both


class _Norm(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, eps: float, plus_one: bool) -> Tensor:
        x = x.contiguous()
        ctx.save_for_backward(x, weight)
        ctx.rest = eps, plus_one
        out = torch.empty_like(x)
        _run_forward(x, None, weight, x, out, eps, plus_one)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, out_grad: Tensor) -> tuple[Tensor | None, ...]:
        x, weight = ctx.saved_tensors
        x_grad, weight_grad = _run_backward(out_grad, None, x, weight, ctx.needs_input_grad[1], *ctx.rest)
        return x_grad, weight_grad, None, None


class _AddNorm(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, x: Tensor, residual: Tensor, weight: Tensor, eps: float, plus_one: bool
    ) -> tuple[Tensor, Tensor]:
        x = x.contiguous()
        total, out = torch.empty_like(x), torch.empty_like(x)
        _run_forward(x, residual, weight, total, out, eps, plus_one)
        ctx.save_for_backward(total, weight)
        ctx.rest = eps, plus_one
        return total, out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, total_grad: Tensor, out_grad: Tensor) -> tuple[Tensor | None, ...]:
        total, weight = ctx.saved_tensors
        x_grad, weight_grad = _run_backward(out_grad, total_grad, total, weight, ctx.needs_input_grad[2], *ctx.rest)
        return x_grad, x_grad, weight_grad, None, None


def _shape(E: int) -> tuple[int, int]:
    """Rows of a program and their padded width."""
    C = power_of_two(E)
    return max(1, BLOCK // C), C


def _run_forward(
    x: Tensor, residual: Tensor | None, weight: Tensor, total: Tensor, out: Tensor, eps: float, plus_one: bool
) -> None:
    M, E = x.shape
    R, C = _shape(E)
    other = x if residual is None else residual  # never read when there is none
    _forward[(-(-M // R),)](
        x, other, weight, total, out, M, eps, E, PLUS_ONE=plus_one, ADD=residual is not None, R=R, C=C,
        num_warps=warps(R * C),
    )  # fmt: skip


def _run_backward(
    out_grad: Tensor, total_grad: Tensor | None, x: Tensor, weight: Tensor, learn: bool, eps: float, plus_one: bool
) -> tuple[Tensor, Tensor | None]:
    """The gradient of x, and of the weight if it is to `learn`. Every program sums its own rows, and torch sums those."""
    M, E = x.shape
    R, C = _shape(E)
    P = min(-(-M // R), -(-PROGRAMS * BLOCK // (R * C)))  # wide rows take as many warps in fewer programs
    out_grad, x_grad = out_grad.contiguous(), torch.empty_like(x)
    more = out_grad if total_grad is None else total_grad.contiguous()  # never read when there is none
    partial = torch.empty((P, E) if learn else (0, E), dtype=torch.float32, device=x.device)
    _backward[(P,)](
        out_grad, more, x, weight, x_grad, partial, M, eps, E, PLUS_ONE=plus_one, ADD=total_grad is not None,
        LEARN=learn, R=R, C=C, num_warps=warps(R * C),
    )  # fmt: skip
    return x_grad, partial.sum(0).to(weight.dtype) if learn else None


@kernel
def _forward(
    x: tl.tensor, residual: tl.tensor, weight: tl.tensor, total: tl.tensor, out: tl.tensor, M: tl.tensor,
    eps: tl.tensor, E: tl.constexpr, PLUS_ONE: tl.constexpr, ADD: tl.constexpr, R: tl.constexpr, C: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0).to(tl.int64) * R + tl.arange(0, R)
    col = tl.arange(0, C)
    at = row[:, None] * E + col[None, :]
    inside = (row[:, None] < M) & (col[None, :] < E)
    wide = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
    if ADD:
        wide += tl.load(residual + at, mask=inside, other=0.0).to(tl.float32)
        rounded = wide.to(x.dtype.element_ty)  # the norm is of the sum that is kept, as rounded
        tl.store(total + at, rounded, mask=inside)
        wide = rounded.to(tl.float32)
    w = tl.load(weight + col, mask=col < E, other=0.0).to(tl.float32)[None, :]
    unit = wide * tl.rsqrt(tl.sum(wide * wide, 1) / E + eps)[:, None]
    y = unit * (1.0 + w) if PLUS_ONE else unit.to(x.dtype.element_ty).to(tl.float32) * w
    tl.store(out + at, y.to(out.dtype.element_ty), mask=inside)


@kernel
def _backward(
    out_grad: tl.tensor, total_grad: tl.tensor, x: tl.tensor, weight: tl.tensor, x_grad: tl.tensor, partial: tl.tensor,
    M: tl.tensor, eps: tl.tensor, E: tl.constexpr, PLUS_ONE: tl.constexpr, ADD: tl.constexpr, LEARN: tl.constexpr,
    R: tl.constexpr, C: tl.constexpr,
) -> None:  # fmt: skip
    """With u = x r, r = rsqrt(mean x² + eps) and g = dy w: dx = r (g - u mean(g u)) and dw = sum over rows of dy u."""
    col = tl.arange(0, C)
    w = tl.load(weight + col, mask=col < E, other=0.0).to(tl.float32)[None, :]
    if PLUS_ONE:
        w += 1.0
    weight_grad = tl.zeros((R, C), tl.float32)
    for block in range(tl.program_id(0), tl.cdiv(M, R), tl.num_programs(0)):
        row = tl.cast(block, tl.int64) * R + tl.arange(0, R)
        at = row[:, None] * E + col[None, :]
        inside = (row[:, None] < M) & (col[None, :] < E)
        wide = tl.load(x + at, mask=inside, other=0.0).to(tl.float32)
        dy = tl.load(out_grad + at, mask=inside, other=0.0).to(tl.float32)
        scale = tl.rsqrt(tl.sum(wide * wide, 1) / E + eps)[:, None]
        unit = wide * scale
        g = dy * w
        dx = scale * (g - unit * (tl.sum(g * unit, 1) / E)[:, None])
        if ADD:
            dx += tl.load(total_grad + at, mask=inside, other=0.0).to(tl.float32)
        tl.store(x_grad + at, dx.to(x_grad.dtype.element_ty), mask=inside)
        if LEARN:
            weight_grad += dy * (unit if PLUS_ONE else unit.to(x.dtype.element_ty).to(tl.float32))
    if LEARN:
        tl.store(partial + tl.program_id(0) * E + col, tl.sum(weight_grad, 0), mask=col < E)
