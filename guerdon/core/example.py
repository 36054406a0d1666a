"""A batch and a `play` for examples and benchmarks: rewards in, one track for each.

No part of any recipe.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from guerdon.core.batch import Batch
from guerdon.core.column import Column, Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.pack import pack
from guerdon.core.schedule import at
from guerdon.core.task import Ask, Task


def example_tries(rewards: Sequence[Sequence[float | None]], steps: int = 1, **columns: Sequence[float]) -> Batch:
    """One task for each inner list, one try of so many steps for each reward in it, None for a score that failed; and
    other columns, a number for each track or for each step."""
    episodes = []
    for number, group in enumerate(rewards):
        for attempt in range(len(group)):
            actions, none = np.zeros(steps, np.int64), np.zeros(0, np.int64)
            segment = Segment("policy", "", none, actions, np.zeros(steps, np.float32))
            episodes.append(Episode(Ask(Task(str(number), "")), (segment,), number=number, attempt=attempt))
    value = torch.tensor([float("nan") if r is None else float(r) for group in rewards for r in group])
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    batch = pack(episodes).with_cols({"reward": Column("track", value, reason)})
    for name, numbers in columns.items():
        level: Any = "track" if len(numbers) == batch.K and steps > 1 else "step"
        batch = batch.with_cols({name.replace("__", "."): Column.full(level, torch.tensor(numbers))})
    return batch


class ExamplePlay:
    """A `play` that samples nothing and keeps what is logged."""

    step, steps, seed = 0, 1, 0
    models: Mapping[str, Any] = {}
    seats: Mapping[str, str] = {}

    def __init__(self) -> None:
        self.metrics: dict[str, float] = {}

    def __call__(self, asks: Sequence[Ask], env: Any = None, seats: Mapping[str, str] | None = None) -> list[Episode]:
        raise NotImplementedError("an example plays nothing")

    def log(self, **metrics: float) -> None:
        self.metrics.update(metrics)

    def warn(self, message: str) -> None:
        raise NotImplementedError(message)

    def at(self, value: Any) -> float:
        return at(value, self.step, self.steps)

    def generator(self, *path: int | str) -> torch.Generator:
        return torch.Generator().manual_seed(0)
