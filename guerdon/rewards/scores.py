"""Scores of many samples at once: a number each, or the reason why there is none. What the algebra of rewards computes with.

A sample's score may come in steps (one number for each turn, line or action); its value is then their sum.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from guerdon.core.column import Reason


@dataclass(frozen=True)
class Outcome:
    """What one call of a reward came to. Only VALUE has a number; `steps` are its parts along the sample, if it has any."""

    reason: Reason
    value: float = math.nan
    detail: Any = None
    steps: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Scores:
    """N samples. `value` is NaN exactly where `reason` is not VALUE."""

    value: Tensor  # [N] float64
    reason: Tensor  # [N] int8
    steps: Mapping[int, Tensor] = field(default_factory=dict)  # of the samples that have them
    detail: Mapping[int, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Scores:
        value = torch.tensor([o.value for o in outcomes], dtype=torch.float64)
        reason = torch.tensor([int(o.reason) for o in outcomes], dtype=torch.int8)
        steps = {i: torch.tensor(o.steps, dtype=torch.float64) for i, o in enumerate(outcomes) if o.steps is not None}
        return cls(value, reason, steps, {i: o.detail for i, o in enumerate(outcomes) if o.detail is not None})

    def __len__(self) -> int:
        return len(self.value)

    @property
    def valued(self) -> Tensor:
        return self.reason == Reason.VALUE

    @property
    def broken(self) -> Tensor:
        return self.reason >= Reason.FAILED

    def map(self, change: Callable[[Tensor], Tensor]) -> Scores:
        """Every value changed in the same way; what comes in steps no longer does."""
        return Scores(torch.where(self.valued, change(self.value), self.value), self.reason)

    def at(self, index: int) -> Outcome:
        steps = self.steps.get(index)
        return Outcome(
            Reason(int(self.reason[index])),
            float(self.value[index]),
            self.detail.get(index),
            None if steps is None else tuple(steps.tolist()),
        )


def joined(terms: Sequence[Scores], counts: Sequence[bool] | None = None) -> Tensor:
    """[N] the reason of something made of several: broken if one that counts is (timed out before failed, being the more
    particular), a value if any has one, else not applicable."""
    counts = [True] * len(terms) if counts is None else counts
    broken = torch.stack(
        [torch.where(t.broken, t.reason, 0) for t, c in zip(terms, counts, strict=True) if c] or [zeros(terms)]
    )
    worst = broken.amax(0)
    valued = torch.stack([t.valued for t in terms]).any(0)
    plain = torch.where(valued, int(Reason.VALUE), int(Reason.NOT_APPLICABLE)).to(torch.int8)
    return torch.where(worst > 0, worst, plain)


def zeros(terms: Sequence[Scores]) -> Tensor:
    return torch.zeros(len(terms[0]), dtype=torch.int8)


def numbers(value: Tensor, reason: Tensor, steps: Mapping[int, Tensor] | None = None) -> Scores:
    """Scores whose value is taken only where there is one."""
    has = reason == Reason.VALUE
    kept = {i: s for i, s in (steps or {}).items() if bool(has[i])}
    return Scores(torch.where(has, value, math.nan), reason, kept)
