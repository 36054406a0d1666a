"""How far each token's distribution is from uniform, without ever holding the logits of all tokens.

KL(U || p) = -1/V sum_v log(V p_v) = logsumexp(z) - mean(z) - log V, z being the logits over the temperature.
Leaves out: a gradient, which nothing that rewards a model by it takes,
and choices cut from the distribution (top-k and the like), over which it would be infinite:
they count as likely as they were before the cut.

Axes: N tokens, E width of the residual stream, V vocabulary.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor

LOGITS = 1 << 24  # the most [N, V] numbers held at a time


@torch.no_grad()
def uniform_kl(hidden: Tensor, head: Tensor, temperature: Tensor) -> Tensor:
    """[N] KL(U || p) from [N, E], the head's [V, E] and [N]: 0 where all tokens are equally likely, and no upper bound."""
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
