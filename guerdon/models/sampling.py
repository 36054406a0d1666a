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
    cut = [i for i, h in enumerate(how) if h.temperature != 0 and h.cuts]
    if cut:
        allowed = kept(logp[cut], [how[i] for i in cut])
        logp[cut] = torch.log_softmax(logp[cut].masked_fill(~allowed, float("-inf")), dim=-1)
    return logp


def guided(logits: Tensor, guides: Sequence[tuple[Tensor, float]]) -> Tensor:
    """[B, V] the logits of a model, with the log-probs of others added by their weights. Where one of them has fewer numbers,
    for it pads its vocabulary less, what is beyond them is never drawn."""
    mixed = logits.float().clone()
    for other, weight in guides:
        logp = torch.log_softmax(other.to(mixed.device).float(), dim=-1)
        both = min(mixed.shape[1], logp.shape[1])
        mixed[:, :both] += weight * logp[:, :both]
        mixed[:, both:] = float("-inf")
    return mixed


def scores(logits: Tensor, how: Sequence[Sampling], token: Tensor) -> tuple[Tensor, Tensor]:
    """[N] log-prob of tokens and [N] entropy, with gradients, of distributions that are cut short.

    What is cut off follows the weights as they are; a token that was sampled stays allowed even if it would be now. A
    greedy choice is read as a draw at temperature 1.
    """
    heat = torch.tensor([float(h.temperature) or 1.0 for h in how], dtype=logits.dtype, device=logits.device)
    z = logits / heat[:, None]
    with torch.no_grad():
        allowed = kept(torch.log_softmax(z, dim=-1), how).scatter(1, token[:, None], True)
    logp = torch.log_softmax(z.masked_fill(~allowed, float("-inf")), dim=-1)
    entropy = -(logp.exp() * logp.masked_fill(~allowed, 0.0)).sum(-1)
    return logp.gather(1, token[:, None])[:, 0], entropy


def _best(logp: Tensor) -> Tensor:
    """Everything on the likeliest choice; among equals, on the first."""
    best = logp == logp.amax(dim=-1, keepdim=True)
    first = best & (torch.cumsum(best, dim=-1) == 1)
    return torch.where(first, 0.0, float("-inf"))


def kept(logp: Tensor, how: Sequence[Sampling]) -> Tensor:
    """[B, V] which choices are left: the best `top_k`, of those the ones at least `min_p` times as likely as the best, of
    those the likeliest `top_p` mass."""
    ordered, order = torch.sort(logp, dim=-1, descending=True, stable=True)
    prob = ordered.exp()
    V = logp.shape[1]
    limits = [[h.top_k or V for h in how], [h.min_p for h in how], [h.top_p for h in how]]
    top_k, min_p, top_p = torch.tensor(limits, device=logp.device, dtype=torch.float32)[..., None]
    keep = torch.arange(V, device=logp.device) < top_k
    keep &= prob >= min_p * prob[:, :1]
    keep &= cumulative(prob) - prob < top_p
    return torch.empty_like(keep).scatter_(1, order, keep)


def cumulative(prob: Tensor) -> Tensor:
    """Sums of probabilities from the first on. A GPU would add them up in whatever order its programs come by; integer sums
    are the same in any order, so there they are counted in units of 2^-52."""
    if not prob.is_cuda:
        return torch.cumsum(prob, dim=-1)
    return (torch.cumsum((prob.double() * 2.0**52).long(), dim=-1).double() * 2.0**-52).to(prob.dtype)


def choose(logp: Tensor, uniform: Sequence[float]) -> Tensor:
    """[B] the choice at each row's uniform number, by the inverse of the cumulative distribution in float64."""
    total = cumulative(logp.double().exp())
    at = torch.tensor(uniform, dtype=torch.float64, device=logp.device)[:, None] * total[:, -1:]
    return torch.searchsorted(total, at, right=True)[:, 0].clamp(max=logp.shape[1] - 1)
