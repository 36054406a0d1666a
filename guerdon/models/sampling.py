"""From logits to a choice: temperature, top-k, top-p, min-p, and a draw by a number that was drawn elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from guerdon.core.task import Sampling


def distribution(logits: Tensor, how: Sequence[Sampling]) -> Tensor:
    """[B, V] log-probs of the distribution each row is sampled from. Greedy is a distribution with one choice."""
    heat = torch.tensor([float(h.temperature) for h in how], device=logits.device)
    logp = torch.log_softmax(logits.float() / torch.where(heat > 0, heat, 1.0)[:, None], dim=-1)
    for i, h in enumerate(how):
        if h.temperature == 0 or h.top_k or h.top_p < 1 or h.min_p > 0:
            logp[i] = _cut(logp[i], h)
    return logp


def _cut(logp: Tensor, how: Sampling) -> Tensor:
    """Keep the best `top_k`, then those at least `min_p` times as likely as the best, then the likeliest `top_p` mass."""
    order = torch.argsort(logp, descending=True, stable=True)
    prob = logp[order].exp()
    keep = torch.ones_like(prob, dtype=torch.bool)
    if how.temperature == 0:
        keep[1:] = False
    if how.top_k:
        keep[how.top_k :] = False
    keep &= prob >= how.min_p * prob[0]
    keep &= torch.cumsum(prob, 0) - prob < how.top_p
    kept = torch.full_like(logp, float("-inf"))
    kept[order[keep]] = logp[order[keep]]
    return torch.log_softmax(kept, dim=-1)


def choose(logp: Tensor, uniform: Sequence[float]) -> Tensor:
    """[B] the choice at each row's uniform number, by the inverse of the cumulative distribution in float64."""
    total = torch.cumsum(logp.double().exp(), dim=-1)
    at = torch.tensor(uniform, dtype=torch.float64, device=logp.device)[:, None] * total[:, -1:]
    return torch.searchsorted(total, at, right=True)[:, 0].clamp(max=logp.shape[1] - 1)
