"""Log-probability and entropy of tokens from logits in one reading, and their gradient written over the logits.

Made for a head that makes logits a chunk at a time and makes them again in its backward pass:
nothing of their size is kept, and no copy in float32 is made.
Leaves out: the product with the head, autograd (`grad_logits_` is called by who made the logits).

Axes: N rows, V vocabulary. z are logits times the inverse temperature, p their softmax, H its entropy.
"""

from __future__ import annotations

import torch
import triton.language as tl
from torch import Tensor

from guerdon.models.kernels.jit import kernel, laid, power_of_two, warps

BLOCK = 4096  # tokens processed at a time


def score_logits(logits: Tensor, target: Tensor, inverse_temperature: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """log sum exp of z, log-probability of target [N] (0 <= target < V) and entropy, each [N] in float32.

    The logits of a row must lie side by side, rows may lie anywhere; vectors may lie in any way.
    """
    N, V = _shape(logits)
    target, inverse_temperature = laid("target", target, N), laid("inverse_temperature", inverse_temperature, N)
    lse, logp, entropy = (torch.empty(N, dtype=torch.float32, device=logits.device) for _ in range(3))
    C = min(BLOCK, power_of_two(V))
    _score[(N,)](logits, target, inverse_temperature, lse, logp, entropy, logits.stride(0), V, C=C, num_warps=warps(C))
    return lse, logp, entropy


def grad_logits_(
    logits: Tensor,
    target: Tensor,
    inverse_temperature: Tensor,
    lse: Tensor,
    logp_grad: Tensor,
    entropy_grad: Tensor | None,
    entropy: Tensor,
) -> Tensor:
    """Overwrite logits with the gradient of sum(logp_grad * logp + entropy_grad * entropy), and return them.

    The logits of a row must lie side by side, and no two rows in one place; vectors may lie in any way (the gradient of a sum
    is one number, expanded).
    """
    N, V = _shape(logits)
    if N > 1 and logits.stride(0) < V:
        raise ValueError("logits that are overwritten must have a place of their own for each row")
    target, inverse_temperature = laid("target", target, N), laid("inverse_temperature", inverse_temperature, N)
    lse, entropy, logp_grad = laid("lse", lse, N), laid("entropy", entropy, N), laid("logp_grad", logp_grad, N)
    C = min(BLOCK, power_of_two(V))
    other = (
        logp_grad if entropy_grad is None else laid("entropy_grad", entropy_grad, N)
    )  # never read when there is none
    _grad[(N, -(-V // C))](
        logits, target, inverse_temperature, lse, logp_grad, other, entropy, logits.stride(0), V,
        ENTROPY=entropy_grad is not None, C=C, num_warps=warps(C),
    )  # fmt: skip
    return logits


def _shape(logits: Tensor) -> tuple[int, int]:
    N, V = logits.shape
    if N and V > 1 and logits.stride(1) != 1:  # too large to copy
        raise ValueError("the logits of a row must lie side by side")
    return N, V


@kernel
def _score(
    logits: tl.tensor, target: tl.tensor, inverse_temperature: tl.tensor, lse: tl.tensor, logp: tl.tensor,
    entropy: tl.tensor, stride: tl.tensor, V: tl.tensor, C: tl.constexpr,
) -> None:  # fmt: skip
    """With e = exp(z - top), mass = sum e and moment = sum e (z - top): H = log mass - moment / mass."""
    row = tl.program_id(0).to(tl.int64)
    cool = tl.load(inverse_temperature + row).to(tl.float32)
    top = tl.full((), float("-inf"), tl.float32)
    mass, moment = tl.zeros((C,), tl.float32), tl.zeros((C,), tl.float32)
    for start in range(0, V, C):
        index = start + tl.arange(0, C)
        x = tl.load(logits + row * stride + index, mask=index < V, other=0.0).to(tl.float32)
        z = tl.where(index < V, x * cool, float("-inf"))
        higher = tl.maximum(top, tl.max(z, 0))
        base = tl.where(higher == float("-inf"), 0.0, higher)  # nothing but -inf yet
        sunk = tl.where(top == float("-inf"), 0.0, top - base)  # how far what is summed lies below the new maximum
        below = z - base
        e = tl.exp(below)
        fade = tl.exp(sunk)
        moment = (moment + mass * sunk) * fade + tl.where(e > 0, e * below, 0.0)  # not 0 * -inf
        mass = mass * fade + e
        top = higher
    total = tl.sum(mass, 0)
    known = top + tl.log(total)
    z = tl.load(logits + row * stride + tl.load(target + row)).to(tl.float32) * cool
    tl.store(lse + row, known)
    tl.store(logp + row, z - known)
    tl.store(entropy + row, tl.log(total) - tl.sum(moment, 0) / total)


@kernel
def _grad(
    logits: tl.tensor, target: tl.tensor, inverse_temperature: tl.tensor, lse: tl.tensor, logp_grad: tl.tensor,
    entropy_grad: tl.tensor, entropy: tl.tensor, stride: tl.tensor, V: tl.tensor, ENTROPY: tl.constexpr,
    C: tl.constexpr,
) -> None:  # fmt: skip
    """d logp = onehot - p and d H = -p (log p + H), both times the inverse temperature."""
    row = tl.program_id(0).to(tl.int64)
    index = tl.program_id(1) * C + tl.arange(0, C)
    at = logits + row * stride + index
    cool = tl.load(inverse_temperature + row).to(tl.float32)
    below = tl.load(at, mask=index < V, other=0.0).to(tl.float32) * cool - tl.load(lse + row)  # log p
    p = tl.exp(below)
    hit = tl.where(index == tl.load(target + row), 1.0, 0.0)
    grad = tl.load(logp_grad + row).to(tl.float32) * (hit - p)
    if ENTROPY:
        pull = tl.where(p > 0, p * (below + tl.load(entropy + row)), 0.0)  # not 0 * -inf
        grad -= tl.load(entropy_grad + row).to(tl.float32) * pull
    tl.store(at, (grad * cool).to(logits.dtype.element_ty), mask=index < V)
