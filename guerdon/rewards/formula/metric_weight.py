"""A weight that depends on a metric of the run, where a schedule depends on the step."""

from __future__ import annotations

from collections.abc import Mapping

from guerdon.core.part import part


@part
class by_metric:
    """From `start` to `end` as the mean of a column in the step before goes from `low` to `high`; `start` before there is one.

    `brief.weight(by_metric("correct", start=0.0, end=0.2, low=0.5, high=0.9))` begins to ask for brevity when half of the
    answers are right.

    >>> import torch
    >>> import guerdon as gd
    >>> weight = gd.by_metric("correct", 0.0, 1.0, low=0.25, high=0.75)
    >>> gd.rewards.Where(torch.zeros(1, dtype=torch.long), metrics={"correct": 0.5}).now(weight)
    0.5
    """

    metric: str
    start: float
    end: float
    low: float = 0.0
    high: float = 1.0

    def at(self, step: int, steps: int) -> float:
        """What it is to whoever knows only the step."""
        return self.start

    def follow(self, metrics: Mapping[str, float]) -> float:
        if self.metric not in metrics:
            return self.start
        share = (metrics[self.metric] - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * min(1.0, max(0.0, share))
