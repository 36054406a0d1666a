"""Losses add up: `clipped() + kl(0.04) + entropy(0.01)` is a loss too.

What a loss notes while it learns are sums over `batch.count`, so that they add up over micro-batches.
Metrics that are not sums (an effective sample size, an explained variance) are computed from them at the end of an update, in
`derive`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import torch
from torch import Tensor

from guerdon.core.batch import COARSE, Batch, Group
from guerdon.core.field_columns import ColumnField, FieldColumns
from guerdon.core.learn import together
from guerdon.core.part import part


class Term(FieldColumns):
    """What can be added to another loss.

    >>> import guerdon as gd
    >>> gd.losses.clipped() + gd.losses.kl(0.01)
    total(terms=[clipped(), kl(weight=0.01)])
    """

    def __add__(self, other: Any) -> total:
        return total([*_terms(self), *_terms(other)])

    @property
    def together(self) -> Group:
        """What no micro-batch may split."""
        return "episode"

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        """The metrics of a whole update, from the sums of its micro-batches."""
        return dict(metrics)


@part
class total(Term):
    r"""$\sum_i L_i$: the sum of its terms, which `+` makes.

    A track is left out of the learning pass only if every term would pass it over. Assumes that the terms carry their own
    weights. Unbiased where each of them is. No paper.

    >>> from guerdon.losses.penalties import entropy, kl
    >>> from guerdon.losses.policy import clipped
    >>> loss = clipped() + kl(0.01) + entropy()
    >>> loss, loss.needs
    (total(terms=[clipped(), kl(weight=0.01), entropy()]), ('advantage', 'reference.logp'))
    """

    terms: Annotated[list[Any], ColumnField("needs")]

    @property
    def wants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(want for term in self.terms for want in term.wants))

    @property
    def together(self) -> Group:
        return max((together(term) for term in self.terms), key=COARSE.index)

    def silent(self, batch: Batch) -> Tensor:
        passed = torch.ones(batch.K, dtype=torch.bool, device=batch.seg.device)
        for term in self.terms:
            passed &= term.silent(batch) if hasattr(term, "silent") else ~passed
        return passed

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        loss, metrics = self.terms[0](batch, live)
        for term in self.terms[1:]:
            more, noted = term(batch, live)
            loss, metrics = loss + more, {**metrics, **noted}
        return loss, metrics

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        for term in self.terms:
            metrics = term.derive(metrics) if hasattr(term, "derive") else metrics
        return dict(metrics)


def effective_samples(metrics: Mapping[str, float]) -> dict[str, float]:
    """The mean and mean square of weights made into $(\\sum w)^2/(n\\sum w^2)$."""
    derived = dict(metrics)
    total, square = derived.pop("weight_mean", 0.0), derived.pop("weight_square", 0.0)
    return {**derived, "effective_samples": total**2 / square} if square else derived


Estimate = Literal["k1", "k2", "k3"]


def estimate(logp: Tensor, other: Tensor, kind: Estimate) -> Tensor:
    """The estimate of KL(policy || other) at each step that the policy sampled."""
    gap = other - logp
    return {"k1": lambda: -gap, "k2": lambda: gap.square() / 2, "k3": lambda: torch.exp(gap) - 1 - gap}[kind]()


def k3(logp: Tensor, other: Tensor) -> Tensor:
    """The k3 estimate of KL(policy || other) from samples of the policy: never negative, low variance."""
    return estimate(logp, other, "k3")


def _terms(loss: Any) -> list[Any]:
    return loss.terms if isinstance(loss, total) else [loss]
