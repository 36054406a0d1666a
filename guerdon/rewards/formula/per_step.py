"""Rewards along the steps of a sample: what a step added, bounded steps, shaping by a potential, and one number from many."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Literal

import torch
from torch import Tensor

from guerdon.core.along import HOW as HOW
from guerdon.core.part import knob, part
from guerdon.rewards.formula.reward import Around
from guerdon.rewards.formula.scores import Scores, numbers
from guerdon.rewards.formula.where import Where


class _PerStep(Around):
    """A reward whose inner one comes in steps. A sample without steps is taken as one step."""

    @property
    def name(self) -> str:
        return str(self.reward.name)

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        valued = torch.nonzero(inner.valued).flatten().tolist()
        steps = {i: self.per_step(inner.steps.get(i, inner.value[i : i + 1])) for i in valued}
        value = inner.value.clone()
        for i, values in steps.items():
            value[i] = values.sum()
        ends = {i: {"ends": d["ends"]} for i, d in inner.detail.items() if isinstance(d, dict) and "ends" in d}
        return numbers(value, inner.reason, {i: s for i, s in steps.items() if i in inner.steps}, ends)

    def per_step(self, steps: Tensor) -> Tensor:
        raise NotImplementedError


@part
class delta(_PerStep):
    r"""Clip and delta (arXiv:2410.15115): $r_t = \min(p_t, \eta) - \min(p_{t+1}, \eta)$, the last step its own clipped value.

    A process reward that is always positive pays for every further step; bounded by `most` and taken as differences, the
    sum over a sample is its first step's bounded score whatever its length.

    >>> import guerdon as gd
    >>> print(gd.delta(gd.process_model("rm")))
    delta(process_model, 1)
    """

    reward: Any
    most: float = 1.0

    def per_step(self, steps: Tensor) -> Tensor:
        bounded = steps.clamp(max=self.most)
        return torch.cat([bounded[:-1] - bounded[1:], bounded[-1:]])

    def __str__(self) -> str:
        return f"delta({self.reward}, {self.most:g})"


@part
class potential(_PerStep):
    r"""Potential-based shaping (Ng, Harada & Russell 1999): $F_t = \gamma\Phi(s_t) - \Phi(s_{t-1})$, with $\Phi(s_t)$ what the
    inner reward says after step $t$, and 0 before the first step and where a sample ends. It changes no optimal policy: the
    sum discounted by $\gamma$ is 0 for every sample.

    >>> import guerdon as gd
    >>> print(gd.potential(gd.process_model("rm")))
    potential(process_model)
    """

    reward: Any
    gamma: float = knob(default=1.0, ge=0.0, le=1.0)

    def per_step(self, steps: Tensor) -> Tensor:
        after = torch.cat([steps[:-1], steps.new_zeros(1)])
        before = torch.cat([steps.new_zeros(1), steps[:-1]])
        return self.gamma * after - before

    def __str__(self) -> str:
        return f"potential({self.reward})"


@part
class overall(_PerStep):
    """One number from steps: the `min` (Let's Verify, arXiv:2305.20050, used the product; Math-Shepherd, arXiv:2312.08935,
    the min), `last`, `mean`, `sum` or `product`.

    >>> import guerdon as gd
    >>> steps = gd.reward(lambda completion: [0.5, 0.25, 1.0], isolate=False)
    >>> gd.score_samples(gd.overall(steps, "min"), [{"completion": ""}]).whole
    [0.25]
    """

    reward: Any
    how: Literal["min", "last", "mean", "sum", "product"] = "min"

    def combine(self, parts: Mapping[str, Scores], where: Where) -> Scores:
        (inner,) = parts.values()
        value = inner.value.clone()
        for i, steps in inner.steps.items():
            value[i] = HOW[self.how](steps) if bool(inner.valued[i]) else math.nan
        return numbers(value, inner.reason)

    def __str__(self) -> str:
        return f"{self.how} of {self.reward}"
