"""Several tokens at each place: the likeliest ones, and the log-probs of given ones,
without ever holding the logits of all places.

What a teacher names and what a student is asked about (`losses/distillation.py`).
Of the distribution over the whole vocabulary at the temperature of sampling:
choices that were cut from it (top-k and the like) count as they were before the cut.

Axes: N tokens, E width of the residual stream, V vocabulary, T tokens named at a place.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from guerdon.models.logit_head import parts, tempered

NAMED = 64  # the most tokens that are named


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
