"""The gradient of picking rows: each row's is the sum over the places it was picked for, in their order.

A GPU's own way adds them up as its programs come by, so that the last bits differ from time to time.
Leaves out: the picking itself, which torch does.

Axes: N rows, P places that rows are picked for, W width of a row.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.jit import kernel, laid, power_of_two, warps

BLOCK = 1024  # columns of a program


def sum_uses(grad: Tensor, order: Tensor, start: Tensor) -> Tensor:
    """[N, W] from grad [P, W]: row n is the sum of grad[order[start[n]]] ... grad[order[start[n + 1] - 1]], in float32.

    `order` may leave places out. All may lie in any way.
    """
    N, W = len(start) - 1, grad.shape[1]
    grad, order, start = grad.contiguous(), laid("order", order, len(order)), laid("start", start, N + 1)
    out = torch.empty((N, W), dtype=grad.dtype, device=grad.device)
    if out.numel() == 0:
        return out
    C = min(BLOCK, power_of_two(W))
    _sum_uses[(N, -(-W // C))](grad, order, start, out, W, C=C, num_warps=warps(C))
    return out


@kernel
def _sum_uses(
    grad: tl.tensor, order: tl.tensor, start: tl.tensor, out: tl.tensor, W: tl.tensor, C: tl.constexpr
) -> None:
    row = tl.program_id(0).to(tl.int64)
    col = tl.program_id(1) * C + tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    for use in range(tl.load(start + row), tl.load(start + row + 1)):
        place = tl.load(order + use)
        total += tl.load(grad + place * W + col, mask=col < W, other=0.0).to(tl.float32)
    tl.store(out + row * W + col, total.to(out.dtype.element_ty), mask=col < W)
