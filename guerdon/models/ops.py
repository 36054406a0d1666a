"""The small operations of a decoder, each in one place: norm, gate, rotation.

On a GPU they are fused kernels, on a CPU those of `cpu_ops.py`.

Axes: F tokens, H heads, D width of a head, E width of the residual stream.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from guerdon.models.cpu_ops import product, silu_gated, turned

Gate = Literal["silu", "gelu_tanh"]


class Rotation(NamedTuple):
    """Cosine and sine of every token's angles, [F, D / 2]."""

    cos: Tensor
    sin: Tensor


def rms_norm(x: Tensor, weight: Tensor, eps: float, plus_one: bool = False) -> Tensor:
    """Root-mean-square norm of the last axis (arXiv:1910.07467), in at least float32 whatever the weights' type."""
    if x.is_cuda and x.dtype != torch.float64:
        from guerdon.models.kernels.norm import rms_norm as fused

        return fused(x.reshape(-1, x.shape[-1]), weight, eps, plus_one).view(x.shape)
    wide = x if x.dtype == torch.float64 else x.float()
    if not torch.is_grad_enabled():
        own = wide * _inverse_root(wide, eps)
        return own.mul_(1.0 + weight.to(wide.dtype)).to(x.dtype) if plus_one else own.to(x.dtype).mul_(weight)
    normed: Tensor = _Normed.apply(wide, eps)  # type: ignore[no-untyped-call]
    return (normed * (1.0 + weight.to(wide.dtype))).to(x.dtype) if plus_one else weight * normed.to(x.dtype)


def _inverse_root(x: Tensor, eps: float) -> Tensor:
    root: Tensor = torch.linalg.vector_norm(x, dim=-1, keepdim=True)
    return root.square_().div_(x.shape[-1]).add_(eps).rsqrt_()


class _Normed(Function):
    """x over its root mean square. Written out because autograd's own way reads and writes the rows twice as often."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, eps: float) -> Tensor:
        scale = _inverse_root(x, eps)
        normed = x * scale
        ctx.save_for_backward(normed, scale)
        return normed

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        normed, scale = ctx.saved_tensors
        along = torch.linalg.vecdot(gradient, normed)[..., None] / normed.shape[-1]
        return torch.addcmul(gradient, normed, along, value=-1.0).mul_(scale), None


def add_rms_norm(x: Tensor, more: Tensor, weight: Tensor, eps: float, plus_one: bool = False) -> tuple[Tensor, Tensor]:
    """x + more, and its norm."""
    if x.is_cuda and x.dtype != torch.float64:
        from guerdon.models.kernels.norm import add_rms_norm as fused

        return fused(x, more, weight, eps, plus_one)
    x = x + more
    return x, rms_norm(x, weight, eps, plus_one)


def gated(gate_up: Tensor, kind: Gate) -> Tensor:
    """[F, 2 ff] to [F, ff]: the first half, through its activation, times the second."""
    if gate_up.is_cuda and gate_up.dtype != torch.float64:
        from guerdon.models.kernels.gate import gated as fused

        return fused(gate_up, kind)
    if kind == "silu":
        return silu_gated(gate_up)
    gate, up = gate_up.chunk(2, dim=-1)
    return F.gelu(gate, approximate="tanh") * up


def is_steady(x: Tensor) -> bool:
    """Whether it is multiplied for sampling, which alone is done in inference mode, on a GPU."""
    return x.is_cuda and x.dtype != torch.float64 and torch.is_inference_mode_enabled()


def times(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """[F, K] times [K, N], plus [N]. While sampling on a GPU, a row's product does not depend on how many rows there are."""
    if is_steady(x):
        from guerdon.models.kernels.matmul import steady_matmul

        return steady_matmul(x, weight, bias)
    if x.is_cuda:
        return x @ weight if bias is None else torch.addmm(bias, x, weight)
    return product(x, weight, bias)


def gated_times(x: Tensor, weight: Tensor, bias: Tensor | None, kind: Gate) -> Tensor:
    """`gated(times(x, weight, bias), kind)`, which is one kernel while sampling on a GPU."""
    if is_steady(x):
        from guerdon.models.kernels.matmul import steady_gated

        return steady_gated(x, weight, bias, kind)
    return gated(times(x, weight, bias), kind)


def rotation(position: Tensor, frequency: Tensor, gain: float, dtype: torch.dtype) -> Rotation:
    """Angles in float32, as in Hugging Face's code."""
    angle = position.float()[:, None] * frequency
    return Rotation((angle.cos() * gain).to(dtype), (angle.sin() * gain).to(dtype))


def rotate(x: Tensor, at: Rotation) -> Tensor:
    """[F, H, D]: turn the first half of each head against its second (Hugging Face's order; Meta's interleaves)."""
    if x.is_cuda and x.dtype != torch.float64:
        from guerdon.models.kernels.rope import rotate as fused

        return fused(x, at.cos, at.sin)
    return turned(x, at.cos, at.sin)
