"""Drawing tokens from logits in one reading: the Gumbel-max draw and the log-probability of what was drawn.

The noise of a row is a function of (its seed, its position, the index of a token) and nothing else,
so a draw depends neither on the other rows of a batch nor on `splits`.
Leaves out: top-k and top-p, which need the vocabulary sorted.

Axes: B rows, V vocabulary, S splits of it.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.jit import kernel, laid, power_of_two, warps

BLOCK = 2048  # tokens processed at a time


def vocabulary_splits(size: int) -> int:
    """Into how many parts a row's vocabulary is cut: by its size alone, for sums in parts round in their own way."""
    return min(16, power_of_two(-(-size // 8192)))


def sample(logits: Tensor, seed: Tensor, position: Tensor, temperature: Tensor, splits: int) -> tuple[Tensor, Tensor]:
    """A token [B] (int64) of each row of logits [B, V], and its log-probability [B] under softmax(logits / temperature).

    seed [B] int64, position [B] of any whole numbers, temperature [B] float32. At temperature 0 it is the most likely token,
    the first among equals, with log-probability 0. A logit of -inf is never drawn. `splits` programs share a row's
    vocabulary. All may lie in any way; logits are copied unless those of a row lie side by side.
    """
    B, V = logits.shape
    logits = logits if logits.stride(1) == 1 else logits.contiguous()
    seed, position = laid("seed", seed, B), laid("position", position, B)
    temperature = laid("temperature", temperature, B)
    block = min(BLOCK, max(4, power_of_two(V)))
    span = -(-V // (block * splits)) * block
    best, top, mass = (torch.empty((B, splits), dtype=torch.float32, device=logits.device) for _ in range(3))
    index = torch.empty((B, splits), dtype=torch.int32, device=logits.device)
    token = torch.empty(B, dtype=torch.int64, device=logits.device)
    logp = torch.empty(B, dtype=torch.float32, device=logits.device)
    _scan[(B, splits)](
        logits, seed, position, temperature, best, top, mass, index, logits.stride(0), V, span, C=block,
        num_warps=max(1, warps(block) // 2),  # the noise keeps them busy
    )  # fmt: skip
    _choose[(B,)](
        logits, temperature, best, top, mass, index, token, logp, logits.stride(0), V, SPLITS=splits,
        S=power_of_two(splits), num_warps=1,
    )  # fmt: skip
    return token, logp


@kernel
def gumbel(seed: tl.tensor, position: tl.tensor, start: tl.tensor, C: tl.constexpr) -> tl.tensor:
    """Noise for tokens start ... start + C - 1, start a multiple of 4: each Philox call serves four tokens side by side.

    The seed's 64 bits are the key, the position and the token's quarter the counter. Gumbel noise is -log(e) with e
    exponential. The tail that wins draws is at small e, where -log(1 - v) would keep few of v's bits: there e is its series.
    """
    quarter = start // 4 + tl.arange(0, C // 4)
    zero = quarter * 0
    a, b, c, d = tl.philox(seed, quarter, zero + position, zero, zero)
    bits = tl.interleave(tl.interleave(a, c), tl.interleave(b, d))
    v = (bits.to(tl.float32) + 0.5) * 2.3283064365386963e-10  # 2 ** -32: never 0
    rest = ((bits ^ 0xFFFFFFFF).to(tl.float32) + 0.5) * 2.3283064365386963e-10  # 1 - v, without its rounding
    e = tl.where(v < 0.0078125, v * (1.0 + v * (0.5 + v * 0.33333334)), -tl.log(rest))
    return -tl.log(e)


@kernel
def _scan(
    logits: tl.tensor, seed: tl.tensor, position: tl.tensor, temperature: tl.tensor, best_score: tl.tensor,
    maximum: tl.tensor, mass: tl.tensor, best_index: tl.tensor, stride: tl.tensor, V: tl.tensor, span: tl.tensor,
    C: tl.constexpr,
) -> None:  # fmt: skip
    """One split of one row. What is running stays spread over the block; only the maximum is reduced on the way."""
    row, part = tl.program_id(0).to(tl.int64), tl.program_id(1)
    heat = tl.load(temperature + row)
    cool = 1.0 / tl.where(heat > 0, heat, 1.0)
    key, where = tl.load(seed + row), tl.load(position + row).to(tl.int32)
    top = tl.full((), float("-inf"), tl.float32)
    total = tl.zeros((C,), tl.float32)
    best = tl.full((C,), float("-inf"), tl.float32)
    token = tl.zeros((C,), tl.int32)
    for start in range(part * span, tl.minimum((part + 1) * span, V), C):
        index = start + tl.arange(0, C)
        z = tl.load(logits + row * stride + index, mask=index < V, other=float("-inf")).to(tl.float32) * cool
        score = tl.where(heat > 0, z + gumbel(key, where, start, C), z)
        token = tl.where(score > best, index, token)
        best = tl.maximum(best, score)
        higher = tl.maximum(top, tl.max(z, 0))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # nothing but -inf yet
        total = total * tl.exp(top - base) + tl.exp(z - base)
        top = higher
    score = tl.max(best, 0)
    at = row * tl.num_programs(1) + part
    tl.store(best_score + at, score)
    tl.store(best_index + at, tl.min(tl.where(best == score, token, V), 0))
    tl.store(maximum + at, top)
    tl.store(mass + at, tl.sum(total, 0))


@kernel
def _choose(
    logits: tl.tensor, temperature: tl.tensor, best_score: tl.tensor, maximum: tl.tensor, mass: tl.tensor,
    indices: tl.tensor, token: tl.tensor, logp: tl.tensor, stride: tl.tensor, V: tl.tensor, SPLITS: tl.constexpr,
    S: tl.constexpr,
) -> None:  # fmt: skip
    """The best of a row's splits, and its log-probability."""
    row = tl.program_id(0).to(tl.int64)
    at, inside = row * SPLITS + tl.arange(0, S), tl.arange(0, S) < SPLITS
    best = tl.load(best_score + at, mask=inside, other=float("-inf"))
    index = tl.load(indices + at, mask=inside, other=0)
    chosen = tl.min(tl.where(best == tl.max(best, 0), index, V), 0)
    top = tl.load(maximum + at, mask=inside, other=float("-inf"))
    high = tl.max(top, 0)
    lse = high + tl.log(tl.sum(tl.load(mass + at, mask=inside, other=0.0) * tl.exp(top - high), 0))
    heat = tl.load(temperature + row)
    z = tl.load(logits + row * stride + chosen).to(tl.float32) / tl.where(heat > 0, heat, 1.0)
    tl.store(token + row, chosen.to(tl.int64))
    tl.store(logp + row, tl.where(heat > 0, z - lse, 0.0))
