"""The gate of a feed-forward block, act(gate) * up, with gradients.

Leaves out: the matrix products on either side.
Both activations are g * sigmoid(z(g)): SiLU has z = g, and GELU's tanh form has z = 2 sqrt(2 / pi) (g + 0.044715 g³),
since 1 + tanh(z / 2) = 2 sigmoid(z).
So act' = s + g s (1 - s) z' serves both, and no tanh is needed.

Axes: M rows, F width of the block.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
import triton.language as tl
from torch import Tensor
from torch.autograd.function import once_differentiable

from guerdon.models.kernels.jit import kernel, power_of_two, warps

BLOCK = 1024  # columns of a program


def gated(gate_up: Tensor, kind: Literal["silu", "gelu_tanh"]) -> Tensor:
    """gate_up [M, 2F], the gate first: act(gate) * up, [M, F]. It and its gradient may lie in any way."""
    if gate_up.ndim != 2 or gate_up.shape[1] % 2:
        raise ValueError(f"a gate and what it lets through must be of shape (M, 2F), not {tuple(gate_up.shape)}")
    if kind not in ("silu", "gelu_tanh"):
        raise ValueError(f"no activation {kind!r}: one of silu, gelu_tanh")
    out: Tensor = _Gated.apply(gate_up, kind == "gelu_tanh")  # type: ignore[no-untyped-call]
    return out


class _Gated(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, gate_up: Tensor, gelu: bool) -> Tensor:
        gate_up = gate_up.contiguous()
        ctx.save_for_backward(gate_up)
        ctx.gelu = gelu
        M, F = gate_up.shape[0], gate_up.shape[1] // 2
        out = gate_up.new_empty(M, F)
        C = min(BLOCK, power_of_two(F))
        _forward[(M, -(-F // C))](gate_up, out, F, GELU=gelu, C=C, num_warps=warps(C))
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, out_grad: Tensor) -> tuple[Tensor, None]:
        (gate_up,) = ctx.saved_tensors
        grad, out_grad = torch.empty_like(gate_up), out_grad.contiguous()
        M, F = out_grad.shape
        C = min(BLOCK, power_of_two(F))
        _backward[(M, -(-F // C))](gate_up, out_grad, grad, F, GELU=ctx.gelu, C=C, num_warps=warps(C))
        return grad, None


@kernel
def _bend(g: tl.tensor, GELU: tl.constexpr) -> tl.tensor:
    """z(g) and its slope."""
    if GELU:
        return 1.5957691216057308 * (g + 0.044715 * g * g * g), 1.5957691216057308 * (1.0 + 0.134145 * g * g)
    else:
        return g, tl.full(g.shape, 1.0, tl.float32)


@kernel
def gate_of(g: tl.tensor, GELU: tl.constexpr) -> tl.tensor:
    """The activation, in float32."""
    z, _ = _bend(g, GELU)
    return g * tl.sigmoid(z)


@kernel
def _forward(gate_up: tl.tensor, out: tl.tensor, F: tl.tensor, GELU: tl.constexpr, C: tl.constexpr) -> None:
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * C + tl.arange(0, C)
    inside = col < F
    g = tl.load(gate_up + row * 2 * F + col, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * F + F + col, mask=inside, other=0.0).to(tl.float32)
    act = gate_of(g, GELU).to(gate_up.dtype.element_ty).to(tl.float32)  # rounded here, as two operations would
    tl.store(out + row * F + col, (act * up).to(out.dtype.element_ty), mask=inside)


@kernel
def _backward(
    gate_up: tl.tensor, out_grad: tl.tensor, grad: tl.tensor, F: tl.tensor, GELU: tl.constexpr, C: tl.constexpr,
) -> None:  # fmt: skip
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * C + tl.arange(0, C)
    inside = col < F
    g = tl.load(gate_up + row * 2 * F + col, mask=inside, other=0.0).to(tl.float32)
    up = tl.load(gate_up + row * 2 * F + F + col, mask=inside, other=0.0).to(tl.float32)
    dy = tl.load(out_grad + row * F + col, mask=inside, other=0.0).to(tl.float32)
    z, slope = _bend(g, GELU)
    s = tl.sigmoid(z)
    gate_grad = dy * up * (s + g * s * (1.0 - s) * slope)
    tl.store(grad + row * 2 * F + col, gate_grad.to(grad.dtype.element_ty), mask=inside)
    tl.store(grad + row * 2 * F + F + col, (dy * g * s).to(grad.dtype.element_ty), mask=inside)
