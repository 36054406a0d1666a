"""Hill climbing over one number while something is made better: what studies move a knob with. Left out: several knobs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

T = TypeVar("T")


@dataclass
class Climb(Generic[T]):
    """The best that was made, the place it was made at, and every (place, score) in turn."""

    best: T
    place: float
    path: list[tuple[float, float]] = field(default_factory=list)


def climb(
    start: T, place: float, size: float, rounds: int, go: Callable[[T, float, int], T], score: Callable[[T], float]
) -> Climb[T]:
    """`go(best, place, number)` makes another of the best so far at a place, `rounds` times. What scores higher than all before
    is the best (the first always is), and the next place lies `size` further on; else it is dropped, and the next lies on the
    other side of the best one's."""
    climbed, top, direction = Climb(start, place), float("-inf"), 1
    for number in range(rounds):
        candidate = go(climbed.best, place, number)
        value = score(candidate)
        climbed.path.append((place, value))
        if value > top:
            climbed.best, climbed.place, top = candidate, place, value
        else:
            direction = -direction
        place = climbed.place + direction * size
    return climbed
