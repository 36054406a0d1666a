"""Products, gate and rotation of a decoder on a CPU, with gradients written out.

Autograd's own way keeps and reads more than is needed: an exponential is computed twice, halves of a tensor have gradients
that are put together by copying, and a product with a matrix that lies the other way round is slower than turning the
matrix over first, which is small beside the rows.
Leaves out: GPUs, where kernels do this (`kernels/`), and norms (`ops.py`).

Axes: F tokens, K and N widths of a matrix, H heads, D width of a head.
"""

from __future__ import annotations

import functools
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

has_bfloat16 = functools.cache(lambda: bool(torch.ops.mkldnn._is_mkldnn_bf16_supported()))
NUMBERS = 1 << 16  # of a stretch, for each thread
FEWEST = (
    8  # rows that are multiplied at a time while sampling: libraries add up in another order for one to seven of them
)
BLOCK = 64  # rows that are multiplied at a time where their number must not matter


def stretches(x: Tensor) -> list[slice]:
    """Rows at a time, so few that what several operations make of them stays in the processor's cache from one to the next.
    Operations on single numbers and on rows give the same result in any stretch."""
    rows = max(1, NUMBERS * torch.get_num_threads() // max(1, x[:1].numel()))
    return [slice(at, at + rows) for at in range(0, len(x), rows)]


def product(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[F, K] times [K, N], plus [N]."""
    if x.dtype == torch.bfloat16 and not torch.is_grad_enabled():
        made = _in_blocks(x, weight) if torch.is_inference_mode_enabled() and has_bfloat16() else multiplied(x, weight)
        return made if bias is None else made + bias
    if not torch.is_grad_enabled():
        rows = len(x)
        if rows < FEWEST and torch.is_inference_mode_enabled():
            x = F.pad(x, (0, 0, 0, FEWEST - rows))
        return (x @ weight if bias is None else torch.addmm(bias, x, weight))[:rows]
    product_of: Tensor = _Product.apply(x, weight)  # type: ignore[no-untyped-call]
    return product_of if bias is None else product_of + bias


def multiplied(x: Tensor, weight: Tensor, out: Tensor | None = None) -> Tensor:
    """[F, K] times [K, N]. A product of bfloat16 numbers is a sum in float32, rounded once: a CPU that has no instructions for
    it adds up float32 numbers, hundreds of times as fast as torch's own way there, and means the same."""
    if x.dtype != torch.bfloat16 or x.is_cuda or has_bfloat16():
        return torch.mm(x, weight, out=out)
    rounded = (x.float() @ weight.float()).bfloat16()
    return rounded if out is None else out.copy_(rounded)


def _in_blocks(x: Tensor, weight: Tensor) -> Tensor:
    """While sampling, a row's product must not depend on how many rows there are. In which order a library adds up products of
    bfloat16 numbers follows from the shape of what it multiplies: here that is always the same."""
    blocks = torch.split(F.pad(x, (0, 0, 0, -len(x) % BLOCK)), BLOCK)
    return torch.cat([block @ weight for block in blocks])[: len(x)]


class _Product(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor) -> Tensor:
        ctx.save_for_backward(x, weight)
        return multiplied(x, weight)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None]:
        x, weight = ctx.saved_tensors
        by_x, by_weight = ctx.needs_input_grad
        return (
            multiplied(gradient, weight.t().contiguous()) if by_x else None,
            multiplied(x.t(), gradient) if by_weight else None,
        )


def silu_gated(gate_up: Tensor) -> Tensor:
    """[F, 2 N] to [F, N]: the first half times its sigmoid, times the second."""
    needs_gradient = torch.is_grad_enabled() and gate_up.requires_grad
    if needs_gradient and gate_up.dtype in (torch.float32, torch.float64):  # a sigmoid kept in fewer bits is too coarse
        made: Tensor = _SiluGated.apply(gate_up)  # type: ignore[no-untyped-call]
        return made
    gate, up = gate_up.chunk(2, dim=-1)
    return F.silu(gate) * up if needs_gradient else F.silu(gate).mul_(up)


class _SiluGated(Function):
    @staticmethod
    def forward(ctx: Any, gate_up: Tensor) -> Tensor:
        ctx.save_for_backward(gate_up)
        gate, up = gate_up.chunk(2, dim=-1)
        out = torch.empty_like(gate, memory_format=torch.contiguous_format)
        for some in stretches(out):
            torch.sigmoid(gate[some], out=out[some])
            out[some].mul_(gate[some]).mul_(up[some])
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        """With s the sigmoid of g and m = g s, the derivative of m is s + m - m s."""
        (gate_up,) = ctx.saved_tensors
        made = torch.empty_like(gate_up)
        for some in stretches(gradient):
            gate, up = gate_up[some].chunk(2, dim=-1)
            by_gate, by_up = made[some].chunk(2, dim=-1)
            share = torch.sigmoid(gate)
            open_ = gate * share
            torch.mul(gradient[some], open_, out=by_up)
            torch.addcmul(share, open_, 1.0 - share, out=share)
            torch.mul(share.mul_(up), gradient[some], out=by_gate)
        return made


def turned(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """[F, H, D] by the angles of [F, D / 2]: the first half of each head against its second."""
    if torch.is_grad_enabled() and x.requires_grad:
        made: Tensor = _Turned.apply(x, cos, sin)  # type: ignore[no-untyped-call]
        return made
    return _turn(x, cos, sin, 1.0)


class _Turned(Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        ctx.save_for_backward(cos, sin)
        return _turn(x, cos, sin, 1.0)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        cos, sin = ctx.saved_tensors
        return _turn(gradient, cos, sin, -1.0), None, None


def _turn(x: Tensor, cos: Tensor, sin: Tensor, way: float) -> Tensor:
    cos, sin = (torch.cat([first, second], dim=-1)[:, None] for first, second in ((cos, cos), (sin * -way, sin * way)))
    out = torch.empty(x.shape, dtype=x.dtype, device=x.device)
    for some in stretches(x):
        torch.mul(x[some], cos[some], out=out[some])
        out[some].addcmul_(torch.roll(x[some], x.shape[-1] // 2, dims=-1), sin[some])
    return out
