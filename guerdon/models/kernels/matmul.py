"""A matrix product whose rows do not know each other: what a row comes to is the same to the last bit however many there
are.

Libraries choose another kernel, another tile or another order of summation for another number of rows,
so that a sample would depend on its company.
Here tiles follow from the weight's shape and type alone, and a row is summed in one order.
Leaves out: gradients (learning sees the same rows every time), and the last tenth of a library's speed.

Axes: M rows, K what is summed over, N columns.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.jit import kernel, laid, power_of_two


def steady_matmul(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [M, K] times weight [K, N], plus bias [N]: [M, N] of x's type, summed in float32.

    All may lie in any way: `weight` is read where it lies, transposed too; x is copied unless the numbers of a row lie side
    by side.
    """
    (M, K), N = x.shape, weight.shape[1]
    if len(weight) != K:
        raise ValueError(f"rows of {K} numbers cannot be multiplied with a weight of shape {tuple(weight.shape)}")
    x = x if x.stride(1) == 1 else x.contiguous()
    bias = bias if bias is None else laid("bias", bias, N)
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    BM, BN, BK, stages = _tile(K, N, x.dtype)
    _product[(-(-M // BM), -(-N // BN))](
        x, weight, x if bias is None else bias, out, M, N, K, x.stride(0), weight.stride(0), weight.stride(1),
        BIAS=bias is not None, BM=BM, BN=BN, BK=BK, num_warps=8 if BM > 64 else 4, num_stages=stages,
    )  # fmt: skip
    return out


def _tile(K: int, N: int, dtype: torch.dtype) -> tuple[int, int, int, int]:
    """Rows, columns and summed numbers of a program, and how many steps ahead it loads: what was fastest on an H200 at 64 to
    1,024 rows. Narrow weights have narrow tiles, so that few rows keep a GPU busy too; float32 has no tensor cores."""
    if dtype == torch.float32:
        BM, BN, BK, stages = (16, 32, 64, 3) if N <= 4096 else (64, 64, 32, 3)
    elif N <= 1024:
        BM, BN, BK, stages = (64, 32, 64, 4) if K < 1024 else (64, 32, 128, 3)
    else:
        BM, BN, BK, stages = (64, 128, 64, 3) if N <= 4096 else (128, 128, 64, 3)
    return BM, min(BN, max(16, power_of_two(N))), min(BK, max(16, power_of_two(K))), stages


@kernel
def _product(
    x: tl.tensor, weight: tl.tensor, bias: tl.tensor, out: tl.tensor, M: tl.tensor, N: tl.tensor, K: tl.tensor,
    row_stride: tl.tensor, k_stride: tl.tensor, n_stride: tl.tensor, BIAS: tl.constexpr, BM: tl.constexpr,
    BN: tl.constexpr, BK: tl.constexpr,
) -> None:  # fmt: skip
    m = tl.program_id(0).to(tl.int64) * BM + tl.arange(0, BM)
    n = tl.program_id(1).to(tl.int64) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        a = tl.load(x + m[:, None] * row_stride + k[None, :], mask=(m[:, None] < M) & (k[None, :] < K), other=0.0)
        at = weight + k[:, None] * k_stride + n[None, :] * n_stride
        b = tl.load(at, mask=(k[:, None] < K) & (n[None, :] < N), other=0.0)
        total = tl.dot(a, b, total, input_precision="ieee")
    if BIAS:
        total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    inside = (m[:, None] < M) & (n[None, :] < N)
    tl.store(out + m[:, None] * N + n[None, :], total.to(out.dtype.element_ty), mask=inside)
