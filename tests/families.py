"""Problems of the generated families, for tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from guerdon.core.task import Task
from guerdon.tasks import load


def every(name: str, count: int) -> Iterator[tuple[Any, Task]]:
    """`count` problems of each level, with the family."""
    for level in range(1, 9):
        family = load(name, level=level)
        for index in range(count):
            yield family, family.get("train", index)


def by_hand(name: str, prompt: str, answer: str, **meta: object) -> Task:
    return Task("hand", f"{name} {prompt}", answer, name, 1, meta)
