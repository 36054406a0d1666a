"""The training problems of a source, one after the other: what every curriculum reads them with."""

from __future__ import annotations

from typing import Protocol

import torch

from guerdon.core.seeds import generator
from guerdon.core.task import Split, Task

APART = 2**20  # problems between where two runs of neighbouring seeds begin to read


class Problems(Protocol):
    """As much of a task source as is read here."""

    def size(self, split: Split) -> int | None: ...

    def get(self, split: Split, index: int) -> Task: ...


class EpochSampler:
    """Number `index` of a run's problems. An endless source is read from a place that the seed chooses (seed 0: the first);
    a finite one over and over, shuffled anew for each lap. Nothing here is state: the same numbers give the same problem."""

    def __init__(self, source: Problems) -> None:
        self.source = source
        self._order: tuple[int, int, list[int]] = (-1, -1, [])

    def task(self, index: int, seed: int) -> Task:
        size = self.source.size("train")
        if size is None:
            return self.source.get("train", index + seed * APART)
        lap, place = divmod(index, size)
        if self._order[:2] != (lap, seed):
            self._order = (lap, seed, torch.randperm(size, generator=generator(seed, "order", lap)).tolist())
        return self.source.get("train", self._order[2][place])
