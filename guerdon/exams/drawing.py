"""Held-out problems that a seed draws: as many of every kind, none twice, not even in another order.

Of a kind that has fewer, all that it has. Leaves out: exams that ask the first problems of a source (`Exam.asks`).
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

from guerdon.core.part import fingerprint
from guerdon.core.seeds import derive
from guerdon.core.task import Task, kinds_of
from guerdon.tasks.family import Family, Problem

TIMES = 8  # draws for each problem that is wanted, after which a kind counts as having no others


def draw_problems(source: Any, number: int, seed: int) -> list[Task]:
    """About `number` problems, as many of each kind, or all that a kind has.

    >>> import guerdon as gd
    >>> drawn = draw_problems(gd.tasks.load("countdown:1-3"), 300, seed=1)
    >>> [sum(task.kind == f"countdown:{level}" for task in drawn) for level in (1, 2, 3)]  # level 1 has no more
    [68, 100, 100]
    """
    kinds = kinds_of(source).values()
    each = max(1, number // len(kinds))
    return [task for kind in kinds for task in _of_kind(kind, each, seed)]


def _of_kind(source: Any, number: int, seed: int) -> list[Task]:
    size = source.size("test")
    if size is not None:
        places = sorted(random.Random(derive(seed, "exam")).sample(range(size), min(number, size)))
        return [source.get("test", place) for place in places]
    keyed = _Keyed(source)
    many, draws = _many(keyed, number, seed)
    if len(many) == number and draws < 2 * number:  # a kind with fewer would have repeated itself more often
        return many
    few = _few(keyed, number)
    return few if few is not None else many


class _Keyed:
    """A source that equals another of the same knobs, for a cache."""

    def __init__(self, source: Any) -> None:
        self.source, self.key = source, fingerprint(source)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Keyed) and self.key == other.key


@lru_cache(maxsize=256)
def _few(keyed: _Keyed, number: int) -> list[Task] | None:
    """All problems of a kind that has fewer than `number`; None where there are as many."""
    drawn, _ = _drawn(keyed.source, number, lambda i: i)
    return drawn if len(drawn) < number else None


@lru_cache(maxsize=128)
def _many(keyed: _Keyed, number: int, seed: int) -> tuple[list[Task], int]:
    """Some problems of a kind that has more, and how many draws they took."""
    return _drawn(keyed.source, number, lambda i: derive(seed, "exam", i) >> 23)


def _drawn(source: Any, number: int, place: Any) -> tuple[list[Task], int]:
    """The first `number` different problems on the way through the places, and how many draws they took."""
    drawn: dict[str, Task] = {}
    draws = 0
    while draws < TIMES * number and len(drawn) < number:
        task = source.get("test", place(draws))
        drawn.setdefault(form_of(source, task), task)
        draws += 1
    return list(drawn.values()), draws


def form_of(source: Any, task: Task) -> str:
    """What two tasks share that are the same problem."""
    if not isinstance(source, Family):
        return task.id
    return source.canonical(Problem(task.prompt, task.answer, task.meta))
