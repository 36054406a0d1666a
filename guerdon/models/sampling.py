"""From logits to a choice: temperature, top-k, top-p, min-p, and a draw by a number that was drawn elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from guerdon.core.task import Sampling


def distribution(logits: Tensor, how: Sequence[Sampling]) -> Tensor:
    """[B, V] log-probs of the distribution each row is sampled from. Greedy is a distribution with one choice."""
    heat = [float(h.temperature) or 1.0 for h in how]
    wide = logits.float()
    if any(h != 1.0 for h in heat):
        wide = wide / torch.tensor(heat, device=logits.device)[:, None]
    logp = torch.log_softmax(wide, dim=-1)
    greedy = [i for i, h in enumerate(how) if h.temperature == 0]
    if greedy:
        logp[greedy] = _best(logp[greedy])
    cut = [i for i, h in enumerate(how) if h.temperature != 0 and (h.top_k or h.top_p < 1 or h.min_p > 0)]
    if cut:
        logp[cut] = _cut(logp[cut], [how[i] for i in cut])
    return logp


def _best(logp: Tensor) -> Tensor:
    """Everything on the likeliest choice; among equals, on the first."""
    best = logp == logp.amax(dim=-1, keepdim=True)
    first = best & (torch.cumsum(best, dim=-1) == 1)
    return torch.where(first, 0.0, float("-inf"))


def _cut(logp: Tensor, how: Sequence[Sampling]) -> Tensor:
    """Keep the best `top_k`, then those at least `min_p` times as likely as the best, then the likeliest `top_p` mass."""
    ordered, order = torch.sort(logp, dim=-1, descending=True, stable=True)
    prob = ordered.exp()
    V = logp.shape[1]
    top_k, min_p, top_p = torch.tensor([[h.top_k or V, h.min_p, h.top_p] for h in how], device=logp.device).T[..., None]
    keep = torch.arange(V, device=logp.device) < top_k
    keep &= prob >= min_p * prob[:, :1]
    keep &= torch.cumsum(prob, dim=-1) - prob < top_p
    ordered = ordered.masked_fill(~keep, float("-inf"))
    return torch.log_softmax(torch.empty_like(logp).scatter_(1, order, ordered), dim=-1)


def choose(logp: Tensor, uniform: Sequence[float]) -> Tensor:
    """[B] the choice at each row's uniform number, by the inverse of the cumulative distribution in float64."""
    total = torch.cumsum(logp.double().exp(), dim=-1)
    at = torch.tensor(uniform, dtype=torch.float64, device=logp.device)[:, None] * total[:, -1:]
    return torch.searchsorted(total, at, right=True)[:, 0].clamp(max=logp.shape[1] - 1)
