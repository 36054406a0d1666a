"""Formulas that no operator builds: a sum by names, the least and the largest of several, statistics of a group."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch

from guerdon.core.levels import gather_up
from guerdon.core.part import knob, part
from guerdon.rewards.formula.reward import Among, Around, blended
from guerdon.rewards.formula.scores import Scores, joined, numbers
from guerdon.rewards.formula.where import Where


def blend(*, renormalise: bool = False, **terms: Any) -> blended:
    """A weighted sum of rewards by name: `blend(exact=exact, brief=length(256).weight(0.1))`.

    >>> import guerdon as gd
    >>> print(gd.blend(right=gd.exact(), brief=gd.length(256).weight(0.1)))
    exact + 0.1 * length
    """
    return blended(terms, renormalise)


@part
class extreme(Among):
    """The least or the largest of the parts that apply; `least(...)` and `most(...)` make it.

    >>> import guerdon as gd
    >>> print(gd.least(gd.exact(), gd.numeric()))
    min(exact, numeric)
    """

    parts: list[Any]
    which: Literal["min", "max"] = "min"

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        terms = list(parts.values())
        absent = math.inf if self.which == "min" else -math.inf
        values = torch.stack([torch.where(t.valued, t.value, absent) for t in terms])
        return numbers(values.amin(0) if self.which == "min" else values.amax(0), joined(terms))

    def __str__(self) -> str:
        return f"{self.which}({', '.join(map(str, self.parts))})"


def least(*parts: Any) -> extreme:
    """The smallest of several rewards: as good as its worst part. A part that does not apply is left out.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.least(gd.exact(), 3 * gd.exact()), [{"completion": "4", "answer": "4"}]).whole
    [1.0]
    """
    return extreme(list(parts), "min")


def most(*parts: Any) -> extreme:
    """The largest of several rewards: as good as its best part. A part that does not apply is left out.

    >>> import guerdon as gd
    >>> gd.score_samples(gd.most(gd.exact(), 3 * gd.exact()), [{"completion": "4", "answer": "4"}]).whole
    [3.0]
    """
    return extreme(list(parts), "max")


@part
class normalised(Around):
    r"""$(r-\mu)/(\sigma+\epsilon)$ over the samples of the step or of each group that have a value.

    `centre` alone takes the mean off; `scale` divides. A group with one value, or without spread, is 0 when centred and
    stays as it is when not. Put it around a term to normalise each reward before summing, around the sum for after.

    >>> import guerdon as gd
    >>> centred = gd.normalised(gd.exact(), scale=False)
    >>> gd.score_samples(centred, [{"completion": x, "answer": "4"} for x in "4555"]).whole
    [0.75, -0.25, -0.25, -0.25]
    """

    reward: Any
    over: Literal["group", "step"] = "group"
    centre: bool = True
    scale: bool = True
    eps: float = knob(default=1e-4, ge=0.0)  # TRL's

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
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
