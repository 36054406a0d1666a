"""From hidden states to the log-prob of a token and the entropy, the likeliest tokens (what a teacher names) and the distance
from uniform, without ever holding the logits of all tokens.

The logits of a few thousand tokens at a time are computed, used and freed, and recomputed for the gradient.
Temperature divides the logits, as it did when the token was sampled.

The last two are of the distribution over the whole vocabulary: choices that were cut from it (top-k and the like) count as they
were before the cut.

Axes: N tokens, E width of the residual stream, V vocabulary, T tokens named at a place.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable
from torch.utils.checkpoint import checkpoint

from guerdon.core.task import Sampling
from guerdon.models.cpu_ops import multiplied, stretches
from guerdon.models.sampling import scores

LOGITS = 1 << 24  # the most [N, V] numbers held at a time ...
ON_GPU = 16  # ... and how many times as many on a GPU, whose products want many rows
NAMED = 64  # the most tokens that are named at a place


def token_scores(hidden: Tensor, head: Tensor, token: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """[N] log-prob of the tokens and [N] entropy, both with gradients, from [N, E] and the head's [V, E]."""
    if torch.is_grad_enabled() and (hidden.requires_grad or head.requires_grad):
        logp, entropy = _TokenScores.apply(hidden, head, token, 1.0 / temperature)  # type: ignore[no-untyped-call]
        return logp, entropy
    logp, entropy, _ = _score(hidden, head, token, 1.0 / temperature, None)
    return logp, entropy


def token_logp(hidden: Tensor, head: Tensor, token: int) -> Tensor:
    """[N] the log-prob of one token, the same everywhere, at temperature 1."""
    same = torch.full((len(hidden),), token, device=hidden.device)
    return token_scores(hidden, head, same, torch.ones(len(hidden), device=hidden.device))[0]


def cut_scores(hidden: Tensor, head: Tensor, token: Tensor, how: Sequence[Sampling]) -> tuple[Tensor, Tensor]:
    """The same where unlikely choices were left out: rarer, and slower."""

    def some(hidden: Tensor, token: Tensor, how: Sequence[Sampling]) -> tuple[Tensor, Tensor]:
        logits = hidden @ head.t()
        return scores(logits.to(torch.promote_types(logits.dtype, torch.float32)), how, token)

    pieces = [
        checkpoint(some, hidden[part], token[part], how[part], use_reentrant=False) for part in parts(hidden, head)
    ]
    logp, entropy = (torch.cat(column) for column in zip(*pieces, strict=True))
    return logp, entropy


class _TokenScores(Function):
    @staticmethod
    def forward(ctx: Any, hidden: Tensor, head: Tensor, token: Tensor, cold: Tensor) -> tuple[Tensor, Tensor]:
        kept = (
            multiplied(hidden, head.t()) if len(parts(hidden, head)) == 1 else None
        )  # few enough to be kept for the gradient
        logp, entropy, total = _score(hidden, head, token, cold, kept)
        ctx.save_for_backward(hidden, head, token, cold, entropy, total)
        ctx.kept = kept
        ctx.set_materialize_grads(False)
        return logp, entropy

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, by_logp: Tensor | None, by_entropy: Tensor | None) -> tuple[Tensor | None, ...]:
        hidden, head, token, cold, entropy, total = ctx.saved_tensors
        kept, ctx.kept = ctx.kept, None  # a kernel writes over it: a second pass recomputes it
        by_hidden = torch.empty_like(hidden) if ctx.needs_input_grad[0] else None
        wide = torch.promote_types(head.dtype, torch.float32)
        by_head = torch.zeros(head.shape, dtype=wide, device=head.device) if ctx.needs_input_grad[1] else None
        for part in parts(hidden, head):
            logits = multiplied(hidden[part], head.t()) if kept is None else kept
            gradient = _grad_logits(
                logits, token[part], cold[part], total[part], entropy[part],
                None if by_logp is None else by_logp[part], None if by_entropy is None else by_entropy[part],
            )  # fmt: skip
            if by_hidden is not None:
                multiplied(gradient, head, out=by_hidden[part])
            if by_head is not None:
                by_head += multiplied(gradient.t(), hidden[part])
        return by_hidden, None if by_head is None else by_head.to(head.dtype), None, None


def _score(
    hidden: Tensor, head: Tensor, token: Tensor, cold: Tensor, logits: Tensor | None
) -> tuple[Tensor, Tensor, Tensor]:
    """[N] log-prob, [N] entropy, [N] logarithm of the sum of the exponentials."""
    if logits is not None:
        return _score_part(logits, token, cold)
    pieces = [_score_part(multiplied(hidden[part], head.t()), token[part], cold[part]) for part in parts(hidden, head)]
    logp, entropy, total = (torch.cat(column) for column in zip(*pieces, strict=True))
    return logp, entropy, total


def _score_part(logits: Tensor, token: Tensor, cold: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    if logits.is_cuda and logits.dtype != torch.float64:
        from guerdon.models.kernels.logp import score_logits

        total, logp, entropy = score_logits(logits, token, cold)
        return logp, entropy, total
    logp, entropy, total = (torch.empty(len(logits), dtype=_wide(logits), device=logits.device) for _ in range(3))
    for some in stretches(logits):
        z = tempered(logits[some], cold[some])
        torch.logsumexp(z, dim=-1, out=total[some])
        logp[some] = z.gather(1, token[some, None])[:, 0] - total[some]
        mean = torch.linalg.vecdot((z - total[some, None]).exp_(), z)  # entropy = log of the sum - mean of z
        entropy[some] = total[some] - mean
    return logp, entropy, total


def _grad_logits(
    logits: Tensor, token: Tensor, cold: Tensor, total: Tensor, entropy: Tensor,
    by_logp: Tensor | None, by_entropy: Tensor | None,
) -> Tensor:  # fmt: skip
    """d logp = onehot - p; d entropy = -p (log p + entropy); both times the inverse temperature."""
    by_logp = torch.zeros_like(total) if by_logp is None else by_logp
    if logits.is_cuda and logits.dtype != torch.float64:
        from guerdon.models.kernels.logp import grad_logits_

        grad_logits_(logits, token, cold, total, by_logp, by_entropy, entropy)
        return logits
    made = torch.empty_like(logits)
    for some in stretches(logits):
        logp = tempered(logits[some], cold[some]).sub_(total[some, None])
        p = torch.exp(logp)
        gradient = p * -by_logp[some, None]
        if by_entropy is not None:
            gradient -= p.mul_(logp.add_(entropy[some, None])).mul_(by_entropy[some, None])
        gradient.scatter_add_(1, token[some, None], by_logp[some, None])
        torch.mul(gradient, cold[some, None], out=gradient)
        made[some] = gradient
    return made


def tempered(logits: Tensor, cold: Tensor) -> Tensor:
    """Logits over the temperature, in float32 at least."""
    wide = _wide(logits)
    return logits.to(wide) * cold[:, None].to(wide)


def _wide(x: Tensor) -> torch.dtype:
    return torch.promote_types(x.dtype, torch.float32)


def parts(hidden: Tensor, head: Tensor) -> list[slice]:
    """Slices of tokens whose logits are few enough to be held at a time; one of nothing where there are no tokens."""
    count, size = len(hidden), max(1, LOGITS * (ON_GPU if hidden.is_cuda else 1) // len(head))
    return [slice(at, min(at + size, count)) for at in range(0, max(count, 1), size)]


@torch.no_grad()
def uniform_kl(hidden: Tensor, head: Tensor, temperature: Tensor) -> Tensor:
    """[N] KL(U || p) from [N, E], the head's [V, E] and [N]: 0 where all tokens are equally likely, and no upper bound.

    KL(U || p) = -1/V sum_v log(V p_v) = logsumexp(z) - mean(z) - log V, z being the logits over the temperature. It has no
    gradient, which nothing that rewards a model by it takes.
    """
    wide = torch.promote_types(hidden.dtype, torch.float32)
    cold = (1.0 / temperature).to(wide)[:, None]
    total = torch.full((len(hidden),), -math.inf, dtype=wide, device=hidden.device)
    summed = torch.zeros_like(total, dtype=torch.float64)
    size = max(1, LOGITS // max(1, len(hidden)))
    for at in range(0, len(head), size):
        z = (hidden @ head[at : at + size].t()).to(wide) * cold
        total = torch.logaddexp(total, torch.logsumexp(z, dim=-1))
        summed += z.sum(-1, dtype=torch.float64)
    return (total.double() - summed / len(head) - math.log(len(head))).clamp(min=0.0).to(wide)


@torch.no_grad()
def top_tokens(hidden: Tensor, head: Tensor, temperature: Tensor) -> tuple[Tensor, Tensor]:
    """[N, T] the likeliest tokens, the likeliest first, and [N, T] their log-probs."""
    pieces = []
    for part in parts(hidden, head):
        z = tempered(hidden[part] @ head.t(), 1.0 / temperature[part])
        best, token = z.topk(min(NAMED, len(head)), dim=-1)
        pieces.append((token, best - torch.logsumexp(z, dim=-1, keepdim=True)))
    token, logp = (torch.cat(column) for column in zip(*pieces, strict=True))
    return token, logp


def logp_at(hidden: Tensor, head: Tensor, token: Tensor, temperature: Tensor) -> Tensor:
    """[N, T] log-probs of the tokens [N, T], with gradients: the logits are recomputed for them."""

    def some(hidden: Tensor, token: Tensor, cold: Tensor) -> Tensor:
        z = tempered(hidden @ head.t(), cold)
        return z.gather(1, token) - torch.logsumexp(z, dim=-1, keepdim=True)

    return torch.cat(
        [
            checkpoint(some, hidden[part], token[part], 1.0 / temperature[part], use_reentrant=False)
            for part in parts(hidden, head)
        ]
    )
