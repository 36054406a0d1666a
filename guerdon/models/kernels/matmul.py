"""Matrix products whose rows do not know each other: what a row comes to is the same to the last bit however many there
are.

Libraries choose another kernel or another order of summation for another number of rows, so that a sample would depend on
its company. Here every number is one sum over K from its beginning to its end, in the steps of one instruction: tensor
cores take 16 numbers of bfloat16 at a time, float32 is added one by one. How large a tile is changes no bit of it (tested
for all of them), so tiles follow from the number of rows too.
Leaves out: gradients (learning sees the same rows every time).

Axes: M rows, K what is summed over, N columns.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.gate import gate_of
from guerdon.models.kernels.jit import kernel, laid, power_of_two


class Tile(NamedTuple):
    """What one program computes, and how."""

    rows: int
    columns: int
    summed: int  # numbers of K that are loaded at a time
    stages: int  # loads that are under way at a time
    warps: int


# From the largest to the smallest, each with the least number of tiles that it is chosen for: what was fastest on an H200,
# which has 132 processors, at 16 to 8,192 rows of the shapes of sprig-2, a 135 M and a 1 B Llama (`python -m bench.tiles`).
HALF = (
    (66, Tile(128, 256, 64, 4, 8)),
    (66, Tile(128, 128, 64, 4, 8)),
    (66, Tile(64, 128, 128, 4, 4)),
    (66, Tile(64, 64, 128, 4, 4)),
    (0, Tile(64, 32, 128, 4, 4)),
)
FLOAT = (
    (256, Tile(64, 128, 16, 2, 4)),
    (128, Tile(64, 64, 32, 3, 4)),
    (88, Tile(32, 64, 32, 3, 4)),
    (88, Tile(32, 32, 64, 3, 4)),
    (0, Tile(16, 32, 64, 3, 4)),
)


def steady_matmul(x: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """x [M, K] times weight [K, N], plus bias [N]: [M, N] of x's type, summed in float32.

    All may lie in any way: `weight` is read where it lies, transposed too; x is copied unless the numbers of a row lie side
    by side.
    """
    return _run(x, weight, bias, weight.shape[1], "")


def steady_gated(x: Tensor, weight: Tensor, bias: Tensor | None, kind: Literal["silu", "gelu_tanh"]) -> Tensor:
    """x [M, K] times weight [K, 2N], plus bias [2N], the first half through its activation times the second: [M, N].

    The same to the last bit as `gated(steady_matmul(x, weight, bias), kind)`, which writes and reads twice as much.
    """
    if weight.shape[1] % 2:
        raise ValueError(f"a gate and what it lets through must be of shape (K, 2N), not {tuple(weight.shape)}")
    return _run(x, weight, bias, weight.shape[1] // 2, kind)


def _run(x: Tensor, weight: Tensor, bias: Tensor | None, N: int, gate: str) -> Tensor:
    M, K = x.shape
    if len(weight) != K:
        raise ValueError(f"rows of {K} numbers cannot be multiplied with a weight of shape {tuple(weight.shape)}")
    x = x if x.stride(1) == 1 else x.contiguous()
    bias = bias if bias is None else laid("bias", bias, weight.shape[1])
    out = torch.empty((M, N), dtype=x.dtype, device=x.device)
    if out.numel() == 0:
        return out
    tile = tile_of(M, N, K, x.dtype, weight.stride(1) != 1, 2 if gate else 1)
    _product[(-(-M // tile.rows) * -(-N // tile.columns),)](
        x, weight, x if bias is None else bias, out, M, N, K, x.stride(0), weight.stride(0), weight.stride(1),
        BIAS=bias is not None, GATED=bool(gate), GELU=gate == "gelu_tanh", EVEN=K % tile.summed == 0, BM=tile.rows,
        BN=tile.columns, BK=tile.summed, num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    return out


def tile_of(M: int, N: int, K: int, dtype: torch.dtype, transposed: bool, sums: int) -> Tile:
    """The largest tile that still gives most processors one, each of so many `sums` to a number of the result."""
    for least, tile in FLOAT if dtype == torch.float32 else HALF:
        rows, columns, summed, stages, warps = tile._replace(columns=tile.columns // sums)
        fits = rows <= max(64, M) and not (transposed and columns > 128)
        if fits and -(-M // rows) * -(-N // columns) >= least:
            break
    if summed > 64 and K % summed and K < 1024:  # a last step that is half empty is a large share of few
        summed = 64
    return Tile(rows, min(columns, max(16, power_of_two(N))), min(summed, max(16, power_of_two(K))), stages, warps)


@kernel
def _product(
    x: tl.tensor, weight: tl.tensor, bias: tl.tensor, out: tl.tensor, M: tl.tensor, N: tl.tensor, K: tl.tensor,
    row_stride: tl.tensor, k_stride: tl.tensor, n_stride: tl.tensor, BIAS: tl.constexpr, GATED: tl.constexpr,
    GELU: tl.constexpr, EVEN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
) -> None:  # fmt: skip
    """One tile, the tiles of the same columns one after another: they read the same weights. With GATED a second sum, N
    columns further, is what the first one's activation is multiplied with."""
    tiles = tl.cdiv(M, BM)
    m = (tl.program_id(0) % tiles).to(tl.int64) * BM + tl.arange(0, BM)
    n = (tl.program_id(0) // tiles).to(tl.int64) * BN + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    total = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        k = start + tl.arange(0, BK)
        rows, columns = m[:, None] < M, n[None, :] < N
        if not EVEN:
            rows, columns = rows & (k[None, :] < K), columns & (k[:, None] < K)
        a = tl.load(x + m[:, None] * row_stride + k[None, :], mask=rows, other=0.0)
        at = weight + k[:, None] * k_stride + n[None, :] * n_stride
        total = tl.dot(a, tl.load(at, mask=columns, other=0.0), total, input_precision="ieee")
        if GATED:
            second = tl.dot(a, tl.load(at + N * n_stride, mask=columns, other=0.0), second, input_precision="ieee")
    if BIAS:
        total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if GATED:
        if BIAS:
            second += tl.load(bias + N + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
        dtype = out.dtype.element_ty  # rounded where several operations would round
        total = gate_of(total.to(dtype).to(tl.float32), GELU).to(dtype).to(tl.float32) * second.to(dtype).to(tl.float32)
    tl.store(out + m[:, None] * N + n[None, :], total.to(out.dtype.element_ty), mask=inside)
