"""Where: what a formula may know besides the scores of its parts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from guerdon.core.schedule import at
from guerdon.core.seeds import generator


@dataclass(frozen=True)
class Where:
    """What a formula may know besides the scores: the groups that samples are compared in, how far the run is, its seed.

    >>> import torch
    >>> import guerdon as gd
    >>> gd.rewards.Where(group=torch.zeros(2, dtype=torch.long), step=5, steps=11).now(gd.linear(0.0, 1.0))
    0.5
    """

    group: Tensor  # [N]
    step: int = 0
    steps: int = 1
    metrics: Mapping[str, float] = field(default_factory=dict)  # of the step before
    seed: int = 0  # the run's

    def generator(self, *path: int | str) -> torch.Generator:
        """Random numbers for this place in this step: the same again with the same seed, others with another."""
        return generator(self.seed, self.step, *path)

    def now(self, knob: Any) -> float:
        """A knob's value: a number, a schedule over steps, or one over a metric."""
        if hasattr(knob, "follow"):
            return float(knob.follow(self.metrics))
        return at(knob, self.step, self.steps)
