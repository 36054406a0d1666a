"""Base of sources that change something about the problems of another: everything but that change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any, Self

from guerdon.core.part import label
from guerdon.core.task import Split, Task, checks_later, kinds_of, text_truth_later, truth_later, truth_of


class ChangedSource:
    """A source around another. A part that comes of it has its knob `source`, and whatever it has otherwise."""

    source: Any

    @property
    def name(self) -> str:
        return f"{label(self)} {self.source.name}"

    def size(self, split: Split) -> int | None:
        count: int | None = self.source.size(split)
        return count

    def get(self, split: Split, index: int) -> Task:
        return self.source.get(split, index)  # type: ignore[no-any-return]

    def check(self, task: Task, completion: str) -> float | None:
        verdict: float | None = self.source.check(task, completion)
        return verdict

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return truth_of(self.source, task, track)

    @property
    def checks_later(self) -> bool:
        return checks_later(self.source)

    async def check_later(self, task: Task, completion: str) -> float | None:
        return await text_truth_later(self.source, task, completion)

    async def check_track_later(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return await truth_later(self.source, task, track)

    def kinds(self) -> dict[str, Self]:
        inner = kinds_of(self.source)
        return {kind: dataclasses.replace(self, source=source) for kind, source in inner.items()}  # type: ignore[type-var]
