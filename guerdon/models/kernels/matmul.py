"""Matrix products whose rows do not know each other: the result of a row is the same to the last bit however many there
are.

Libraries choose another kernel or another order of summation for another number of rows, so that a sample would depend on
its company. Here K is cut into as many spans as the weight's shape says; a number is the sum of its spans, one after the
other, and a span is summed from its beginning to its end in the steps of one instruction: tensor cores take 16 numbers of
bfloat16 at a time, float32 is added one by one. Neither how large a tile is nor whether one program sums all spans or one
each changes a bit of it (tested for all of them), so both follow from the number of rows too.
Leaves out: gradients (learning sees the same rows every time).

Axes: M rows, K what is summed over, N columns.
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import torch
import triton.language as tl
from torch import Tensor
from triton.tools.tensor_descriptor import TensorDescriptor

from guerdon.models.kernels.gate import gate_of
from guerdon.models.kernels.jit import kernel, laid, power_of_two


class Tile(NamedTuple):
    """What one program computes, and how."""

    rows: int
    columns: int
    summed: int  # numbers of K that are loaded at a time
    stages: int  # loads that are under way at a time
    warps: int


# From the largest to the smallest, each with the least number of tiles that it is chosen for (the last for any): what was
# fastest on an H200, which has 132 processors, at 16 to 8,192 rows of the shapes of sprig-2, a 135 M and a 1 B Llama
# (`python -m bench.tiles`).
HALF = (
    (66, Tile(128, 256, 64, 4, 8)),
    (66, Tile(128, 128, 64, 4, 8)),
    (66, Tile(64, 128, 128, 4, 4)),
    (66, Tile(64, 64, 128, 4, 4)),
    (66, Tile(64, 32, 128, 4, 4)),
)
FLOAT = (
    (256, Tile(64, 128, 16, 2, 4)),
    (128, Tile(64, 64, 32, 3, 4)),
    (88, Tile(32, 64, 32, 3, 4)),
    (88, Tile(32, 32, 64, 3, 4)),
    (88, Tile(16, 32, 64, 3, 4)),
)


LOADED = 128  # what the length of a span is a multiple of: the most that a tile loads of K at a time
ADDED = 1024  # numbers whose spans a program adds up


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
    spans = 1 if gate else spans_of(K, N, x.dtype)
    tile, programs = tile_of(M, N, K, x.dtype, weight.stride(1) != 1, 2 if gate else 1, spans)
    sums = out if programs == 1 else torch.empty((spans, M, N), dtype=torch.float32, device=x.device)
    given: tuple[Any, Any] = (x, weight)
    if copied := _is_copied_whole(x, weight):
        blocks = [tile.rows, tile.summed], [tile.summed, tile.columns]
        given = TensorDescriptor.from_tensor(x, blocks[0]), TensorDescriptor.from_tensor(weight, blocks[1])
    _product[(-(-M // tile.rows) * -(-N // tile.columns), programs)](
        *given, x if bias is None else bias, sums, M, N, K, x.stride(0), weight.stride(0), weight.stride(1),
        COPIED=copied, BIAS=bias is not None and programs == 1, GATED=bool(gate), GELU=gate == "gelu_tanh", SPANS=spans,
        APART=programs > 1, SPAN=span_of(K, spans), EVEN=K % tile.summed == 0, BM=tile.rows, BN=tile.columns,
        BK=tile.summed, num_warps=tile.warps, num_stages=tile.stages,
    )  # fmt: skip
    if programs > 1:
        _add_up[(-(-M * N // ADDED),)](
            sums, x if bias is None else bias, out, M * N, N, BIAS=bias is not None, SPANS=spans, C=ADDED, num_warps=4
        )
    return out


def _is_copied_whole(x: Tensor, weight: Tensor) -> bool:
    """Whether a GPU copies tiles of both by itself (Hopper's do, of rows that begin at multiples of 16 bytes), which leaves
    its threads to multiply. Not of a weight that lies transposed, nor of float32: there it was slower."""
    if x.dtype == torch.float32 or not x.is_cuda or torch.cuda.get_device_capability(x.device) < (9, 0):
        return False
    return all(
        y.stride(1) == 1 and y.stride(0) >= y.shape[1] and not (y.stride(0) % 8 or y.data_ptr() % 16)
        for y in (x, weight)
    )


def spans_of(K: int, N: int, dtype: torch.dtype) -> int:
    """How many spans a sum over K has, by the weight's shape alone: few columns are few tiles, whatever they sum over."""
    if dtype == torch.float32:
        return 2 if N <= 512 and K >= 512 else 1
    return 4 if K >= 8192 and N <= 4096 else 1


def span_of(K: int, spans: int) -> int:
    """The length of a span, a multiple of all that tiles load at a time."""
    return -(-K // (spans * LOADED)) * LOADED


def tile_of(
    M: int, N: int, K: int, dtype: torch.dtype, transposed: bool, sums: int, spans: int = 1
) -> tuple[Tile, int]:
    """The largest tile that still gives most processors one, each of so many `sums` to a number of the result, and how many
    programs its spans are for: one each where large tiles are too few without."""
    for programs in (1, spans):
        for least, tile in FLOAT if dtype == torch.float32 else HALF:
            rows, columns, summed, stages, warps = tile._replace(columns=tile.columns // sums)
            if rows > max(64, M) or (columns > 128 and (transposed or spans > 1)):
                continue
            if programs < spans and rows * columns < 8192:
                break
            columns, summed = min(columns, max(16, power_of_two(N))), min(summed, max(16, power_of_two(K)))
            best = Tile(rows, columns, summed, stages, warps)
            if -(-M // rows) * -(-N // columns) * programs >= least:
                return best, programs
    return best, spans


@kernel
def _product(
    x: tl.tensor, weight: tl.tensor, bias: tl.tensor, out: tl.tensor, M: tl.tensor, N: tl.tensor, K: tl.tensor,
    row_stride: tl.tensor, k_stride: tl.tensor, n_stride: tl.tensor, COPIED: tl.constexpr, BIAS: tl.constexpr,
    GATED: tl.constexpr, GELU: tl.constexpr, SPANS: tl.constexpr, APART: tl.constexpr, SPAN: tl.constexpr,
    EVEN: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr,
) -> None:  # fmt: skip
    """One tile, the tiles of the same columns one after another: they read the same weights. With COPIED, x and weight are
    descriptors, by which tiles are copied whole, zeros beyond the end. With APART it is of one span,
    and `out` is [spans, M, N]. With GATED a second sum, N columns further, is what the first one's activation is multiplied
    with."""
    tiles = tl.cdiv(M, BM)
    row, column = tl.program_id(0) % tiles * BM, tl.program_id(0) // tiles * BN
    m, n = row.to(tl.int64) + tl.arange(0, BM), column.to(tl.int64) + tl.arange(0, BN)
    inside = (m[:, None] < M) & (n[None, :] < N)
    total = tl.zeros((BM, BN), tl.float32)
    second = tl.zeros((BM, BN), tl.float32)
    first = tl.program_id(1)
    for span in range(first, first + 1 if APART else SPANS):
        part = tl.zeros((BM, BN), tl.float32)
        for start in range(span * SPAN, K if SPANS == 1 else tl.minimum((span + 1) * SPAN, K), BK):
            if COPIED:
                a = x.load([row, start])
                b = weight.load([start, column])
            else:
                k = start + tl.arange(0, BK)
                rows, columns = m[:, None] < M, n[None, :] < N
                if not EVEN:
                    rows, columns = rows & (k[None, :] < K), columns & (k[:, None] < K)
                a = tl.load(x + m[:, None] * row_stride + k[None, :], mask=rows, other=0.0)
                at = weight + k[:, None] * k_stride + n[None, :] * n_stride
                b = tl.load(at, mask=columns, other=0.0)
            part = tl.dot(a, b, part, input_precision="ieee")
            if GATED:
                b = weight.load([start, column + N]) if COPIED else tl.load(at + N * n_stride, mask=columns, other=0.0)
                second = tl.dot(a, b, second, input_precision="ieee")
        total += part
    if BIAS:
        total += tl.load(bias + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
    if GATED:
        if BIAS:
            second += tl.load(bias + N + n, mask=n < N, other=0.0).to(tl.float32)[None, :]
        dtype = out.dtype.element_ty  # rounded where several operations would round
        total = gate_of(total.to(dtype).to(tl.float32), GELU).to(dtype).to(tl.float32) * second.to(dtype).to(tl.float32)
    target = out + m[:, None] * N + n[None, :]
    if APART:
        target += first.to(tl.int64) * M * N
    tl.store(target, total.to(out.dtype.element_ty), mask=inside)


@kernel
def _add_up(
    sums: tl.tensor, bias: tl.tensor, out: tl.tensor, size: tl.tensor, N: tl.tensor, BIAS: tl.constexpr,
    SPANS: tl.constexpr, C: tl.constexpr,
) -> None:  # fmt: skip
    """The spans [spans, size] of numbers, one after the other, as one program would have added them."""
    at = tl.program_id(0).to(tl.int64) * C + tl.arange(0, C)
    total = tl.zeros((C,), tl.float32)
    for span in tl.static_range(SPANS):
        total += tl.load(sums + tl.cast(span, tl.int64) * size + at, mask=at < size, other=0.0)
    if BIAS:
        total += tl.load(bias + at % N, mask=at < size, other=0.0).to(tl.float32)
    tl.store(out + at, total.to(out.dtype.element_ty), mask=at < size)
