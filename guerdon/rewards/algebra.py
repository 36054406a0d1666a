"""Arithmetic of rewards: sums, products, bounds, and the statistics of a step or a group.

What is missing is defined. Failed or timed out in a part that counts: the whole is. Not applicable: the part is left out.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import reduce
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.part import is_schedule, knob, part
from guerdon.rewards.base import Reward, Where
from guerdon.rewards.scores import Scores, joined, numbers


class Around(Reward):
    """A formula around one other reward."""

    reward: Any

    def __post_init__(self) -> None:
        self.reward = as_reward(self.reward)

    @property
    def of(self) -> Mapping[str, Reward]:
        return {self.reward.name: self.reward}


class Among(Reward):
    """A formula over several others, none of which comes first."""

    parts: list[Any]

    def __post_init__(self) -> None:
        self.parts = [as_reward(p) for p in self.parts]

    @property
    def of(self) -> Mapping[str, Reward]:
        return named(self.parts)


@part
class weighted(Around):
    """$w\\,r$: a reward with its weight, a number or a schedule."""

    reward: Any
    by: float = 1.0

    @property
    def name(self) -> str:
        return str(self.reward.name)

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = found.values()
        w = where.now(self.by)
        return Scores(inner.value * w, inner.reason, {i: s * w for i, s in inner.steps.items()}, inner.detail)

    def __str__(self) -> str:
        return f"{shown(self.by)} * {self.reward}"


@part
class blended(Reward):
    r"""$\sum_i w_i r_i$, made by `blend`.

    Failed or timed out in a term whose weight is not 0 makes the sum that. A term that does not apply is left out, weights
    unchanged; with `renormalise` the others then count for its share. Terms in steps add up step by step, and what comes
    without steps counts at the last.
    """

    terms: dict[str, Any]
    renormalise: bool = False

    def __post_init__(self) -> None:
        self.terms = {name: as_reward(term) for name, term in self.terms.items()}
        if not self.terms:
            raise UserError("a blend needs at least one reward: blend(exact=exact, brief=brief.weight(0.1))")
        dotted = [name for name in self.terms if "." in name]
        if dotted:
            raise UserError(
                f"a blend's term {dotted[0]!r} has a dot, which stands between a part and its own: rename it"
            )

    @property
    def name(self) -> str:
        return "blend"

    @property
    def of(self) -> Mapping[str, Reward]:
        return {name: term.reward if isinstance(term, weighted) else term for name, term in self.terms.items()}

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        weights = [where.now(t.by) if isinstance(t, weighted) else 1.0 for t in self.terms.values()]
        terms = list(found.values())
        reason = joined(terms, [w != 0 for w in weights])
        parts = torch.stack([torch.where(t.valued, t.value, 0.0) * w for t, w in zip(terms, weights, strict=True)])
        total = parts.sum(0)
        if self.renormalise:
            size = torch.tensor(weights, dtype=torch.float64).abs()[:, None]
            there = torch.stack([t.valued for t in terms])
            total = total * size.sum() / (size * there).sum(0).clamp(min=1e-12)
        steps = {} if self.renormalise else _stepwise(terms, weights)
        return numbers(total, reason, steps, {i: ends for i in steps if (ends := _same_ends(terms, i))})

    def __str__(self) -> str:
        return " + ".join(str(term) for term in self.terms.values()).replace("+ -", "- ")


def blend(*, renormalise: bool = False, **terms: Any) -> blended:
    """A weighted sum of rewards by name: `blend(exact=exact, brief=length(256).weight(0.1))`."""
    return blended(terms, renormalise)


def _stepwise(terms: Sequence[Scores], weights: Sequence[float]) -> dict[int, Tensor]:
    """The steps of a sum, for samples of which some term has steps: all of one length, the others at the last."""
    found: dict[int, Tensor] = {}
    for i in {i for term in terms for i in term.steps}:
        lengths = {len(term.steps[i]) for term in terms if i in term.steps}
        if len(lengths) > 1 or lengths == {0}:
            continue
        total = torch.zeros(lengths.pop(), dtype=torch.float64)
        for term, w in zip(terms, weights, strict=True):
            if i in term.steps:
                total += w * term.steps[i]
            elif bool(term.valued[i]):
                total[-1] += w * term.value[i]
        found[i] = total
    return found


def _same_ends(terms: Sequence[Scores], index: int) -> dict[str, Any] | None:
    """Where the steps of a sample end, if all terms that say so agree."""
    said = [(term.detail.get(index) or {}).get("ends") for term in terms if index in term.steps]
    known = [ends for ends in said if ends]
    return {"ends": known[0]} if known and all(ends == known[0] for ends in known) else None


@part
class product(Among):
    r"""$\prod_i r_i$ over the parts that apply."""

    parts: list[Any]

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        terms = list(found.values())
        values = [torch.where(t.valued, t.value, 1.0) for t in terms]
        return numbers(reduce(torch.mul, values), joined(terms))

    def __str__(self) -> str:
        return " * ".join(f"({p})" if isinstance(p, blended) else str(p) for p in self.parts)


@part
class extreme(Among):
    """The least or the largest of the parts that apply; `least(...)` and `most(...)` make it."""

    parts: list[Any]
    which: Literal["min", "max"] = "min"

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        terms = list(found.values())
        absent = math.inf if self.which == "min" else -math.inf
        values = torch.stack([torch.where(t.valued, t.value, absent) for t in terms])
        return numbers(values.amin(0) if self.which == "min" else values.amax(0), joined(terms))

    def __str__(self) -> str:
        return f"{self.which}({', '.join(map(str, self.parts))})"


def least(*parts: Any) -> extreme:
    return extreme(list(parts), "min")


def most(*parts: Any) -> extreme:
    return extreme(list(parts), "max")


@part
class clip(Around):
    """$\\min(\\max(r, low), high)$."""

    reward: Any
    low: float
    high: float

    def __post_init__(self) -> None:
        super().__post_init__()
        if not is_schedule(self.low) and not is_schedule(self.high) and self.low > self.high:
            raise UserError(f"clip from {self.low:g} to {self.high:g}: the first bound is the lower one")

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = found.values()
        return inner.map(lambda x: x.clamp(where.now(self.low), where.now(self.high)))

    def __str__(self) -> str:
        return f"clip({self.reward}, {shown(self.low)}, {shown(self.high)})"


@part
class normalised(Around):
    r"""$(r-\mu)/(\sigma+\epsilon)$ over the samples of the step or of each group that have a value.

    `centre` alone takes the mean off; `scale` divides. A group with one value, or without spread, is 0 when centred and
    stays as it is when not. Put it around a term to normalise each reward before summing, around the sum for after.
    """

    reward: Any
    over: Literal["group", "step"] = "group"
    centre: bool = True
    scale: bool = True
    eps: float = knob(default=1e-4, ge=0.0)  # TRL's

    def combine(self, found: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = found.values()
        group = where.group if self.over == "group" else torch.zeros_like(where.group)
        n = int(group.max()) + 1 if len(group) else 0
        spread = gather_up(inner.value, group, n, "std")[group]
        value = inner.value - gather_up(inner.value, group, n, "mean")[group] if self.centre else inner.value
        if self.scale:
            value = torch.where(spread > 0, value / (spread + self.eps), value)
        return numbers(value, inner.reason)

    def __str__(self) -> str:
        what = {(True, True): "normalised", (True, False): "centred", (False, True): "scaled"}
        return f"{what.get((self.centre, self.scale), 'plain')}({self.reward})"


def named(parts: Sequence[Any]) -> dict[str, Any]:
    """Rewards by their names; those that share one get a number."""
    found: dict[str, Any] = {}
    for each in parts:
        reward = as_reward(each)
        name, n = reward.name, 2
        while name in found:
            name, n = f"{reward.name}_{n}", n + 1
        found[name] = reward
    return found


def shown(number: Any) -> str:
    return f"{number:g}" if isinstance(number, int | float) else str(number)


def as_reward(found: Any) -> Reward:
    from guerdon.rewards.function import as_reward as made

    return made(found)
