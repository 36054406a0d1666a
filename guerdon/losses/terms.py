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
from guerdon.core.errors import UserError
from guerdon.core.field_columns import ColumnField, FieldColumns
from guerdon.core.learn import row_groups, together
from guerdon.core.part import knob, label, part


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


class Around(Term):
    """A term that changes what another loss learns from, and reads what that reads."""

    loss: Any

    @property
    def wants(self) -> tuple[str, ...]:
        return tuple(self.loss.wants)

    @property
    def together(self) -> Group:
        return together(self.loss)


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

    def __post_init__(self) -> None:
        titles = [term.title for term in self.terms if isinstance(term, on)]
        for title in titles:
            if titles.count(title) > 1:
                raise UserError(f"two terms on(...) are called {title!r}: name one, on(..., name='other')")

    @property
    def row_groups(self) -> list[tuple[Any, Any]]:
        """The terms over all rows together, and each of the others with its own."""
        every = [group for term in self.terms for group in row_groups(term)]
        common = [loss for own, loss in every if own is None]
        if len(common) == len(every):
            return [(None, self)]
        first = [(None, total(common) if len(common) > 1 else common[0])] if common else []
        return [*first, *((own, loss) for own, loss in every if own is not None)]

    @property
    def wants(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(want for term in self.terms for want in term.wants))

    @property
    def together(self) -> Group:
        return max((together(term) for term in self.terms), key=COARSE.index)

    def silent(self, batch: Batch) -> Tensor:
        passed = torch.ones(batch.K, dtype=torch.bool, device=batch.seg.device)
        for term in reversed(self.terms):  # a critic's or a penalty's, which come last, know without looking
            passed &= term.silent(batch) if hasattr(term, "silent") else ~passed
            if not passed.is_cuda and not bool(passed.any()):  # on a GPU it would be waited for
                break
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


@part
class on(Around):
    r"""$w\,L$ over rows of its own: beside losses over all rows, in the same update of the same optimiser.

    `rows` is a selection, which chooses among the tracks that the learner's model acted, or the name of a role: the tracks of
    that role, no matter which model acted them. Only these rows need the columns of `loss`, and its means are over them alone,
    so a term weighs the same however many other rows there are. Where it has no row in a step, the step is learned without
    it. Its metrics have the role's name, or the selection's, before their own; `loss` is its share of the objective.

    A mean of a selection that depends on what was sampled is *biased* towards it, on purpose. Assumes that it is added at the
    top: `clipped() + on(...)`, never inside `weighed`. No paper: CHORD, LUFFY and many others add such a term.

    Args:
        rows: a selection of tracks, or a role.
        loss: the loss over them.
        weight: its factor.
        name: what stands before the names of its metrics; the role or the selection where it is empty.

    >>> import guerdon as gd
    >>> loss = gd.losses.clipped() + gd.losses.on(gd.select.at_least("correct"), gd.losses.sft(), weight=0.1)
    >>> gd.Learn("policy", loss).needs
    ('advantage', 'correct')
    """

    rows: Any
    loss: Any
    weight: float = knob(default=1.0, ge=0.0)
    name: str = knob(default="", hashed=False)

    def __post_init__(self) -> None:
        if not (isinstance(self.rows, str) or callable(self.rows)):
            raise UserError(
                f"on(rows, loss) takes a selection or a role first, not {self.rows!r}: on('teacher', sft())"
            )
        if not hasattr(self.loss, "wants"):
            raise UserError(f"on(rows, loss) takes a loss second, not {self.loss!r}: on('teacher', sft())")
        if row_groups(self.loss)[0][0] is not None or len(row_groups(self.loss)) > 1:
            raise UserError("a term with its own rows holds none itself: on('a', sft()) + on('b', sft())")

    @property
    def needs(self) -> tuple[str, ...]:
        return tuple(self.loss.needs)

    @property
    def row_groups(self) -> list[tuple[Any, Any]]:
        return [(self.rows, self)]

    def silent(self, batch: Batch) -> Tensor:
        passed = torch.zeros(batch.K, dtype=torch.bool, device=batch.seg.device)
        return self.loss.silent(batch) if hasattr(self.loss, "silent") else passed

    def __call__(self, batch: Batch, live: Mapping[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        loss, noted = self.loss(batch, live)
        return self.weight * loss, {f"{self.title}/{name}": x for name, x in noted.items()}

    def derive(self, metrics: Mapping[str, float]) -> dict[str, float]:
        before = f"{self.title}/"
        others = {name: x for name, x in metrics.items() if not name.startswith(before)}
        mine = {name.removeprefix(before): x for name, x in metrics.items() if name.startswith(before)}
        derived = self.loss.derive(mine) if hasattr(self.loss, "derive") else mine
        return others | {before + name: x for name, x in derived.items()}

    @property
    def title(self) -> str:
        """What stands before the names of its metrics."""
        return self.name or (self.rows if isinstance(self.rows, str) else label(self.rows))


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
