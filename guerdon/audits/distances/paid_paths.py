"""Whether what steps are paid along episodes adds up to something that does not depend on the way: and loops that pay.

Rewards per step (of turns, tools, lines, or of a process reward model) shape without harm when the sum between two states is
the same whichever way was taken, that is when it telescopes to a difference of potentials. What a state is, the caller says:
the problem and what is solved of it, a page and its form, the set of tests that pass. Sums are not discounted, as those over
tracks are not. Three findings: one and the same step that is paid differently, two ways between the same states that sum to
different amounts, and a cycle with a positive sum, which an agent can go round for as long as it is let.

Left out: texts as states. All texts differ, so no two ways lead to one state, and nothing could be found.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

from guerdon.core.errors import UserError

ROUNDING = 1e-9  # relative to the largest pay
Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class PaidPath:
    """One episode's way: n + 1 states, and what each of the n steps between them was paid."""

    states: Sequence[Hashable]
    pays: Sequence[float]
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.states) != len(self.pays) + 1:
            raise UserError(
                f"a path of {len(self.states)} states and {len(self.pays)} pays: it has one state more than steps"
            )


@dataclass(frozen=True)
class TwoWays:
    """Two ways between the same states, and what each sums to."""

    start: Hashable
    end: Hashable
    ways: tuple[tuple[Hashable, ...], tuple[Hashable, ...]]
    sums: tuple[float, float]
    names: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class PayingLoop:
    """A cycle, its first state not repeated, and what a round is paid."""

    states: tuple[Hashable, ...]
    pay: float


@dataclass(frozen=True)
class PathReport:
    """What was found along paid paths. `compared` counts pairs of ways between the same states; with none nothing is known."""

    telescopes: bool
    compared: int
    ways: tuple[TwoWays, ...] = ()
    loop: PayingLoop | None = None
    uneven: tuple[tuple[Edge, tuple[float, ...]], ...] = ()
    findings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return "\n".join(self.findings)


def check_paths(paths: Iterable[PaidPath | tuple[Sequence[Hashable], Sequence[float]]]) -> PathReport:
    """Whether sums of pay depend on the way taken, and whether some loop pays.

    >>> import guerdon as gd
    >>> there = ["start", "read", "answer"], [0.2, 0.8]
    >>> twice = ["start", "search", "read", "search", "read", "answer"], [0.1, 0.3, 0.0, 0.3, 0.8]
    >>> print(gd.audits.check_paths([there, twice]))  # doctest: +ELLIPSIS
    From 'start' to 'answer' one way sums to 1.5 (start, search, read, search, read, answer) and another to 1 (start, read, ...
    Going round read, search pays 0.3 each time: an episode can collect it again and again.
    """
    walked = [path if isinstance(path, PaidPath) else PaidPath(*path) for path in paths]
    paid: dict[Edge, list[float]] = {}
    for path in walked:
        for step, pay in zip(pairwise(path.states), path.pays, strict=True):
            paid.setdefault(step, []).append(float(pay))
    if not paid:
        raise UserError("no steps to judge pay by: give paths of two states or more")
    room = ROUNDING * max(1e-300, max(abs(pay) for each in paid.values() for pay in each))
    uneven = tuple((step, tuple(sorted(set(each)))) for step, each in paid.items() if max(each) - min(each) > room)
    ways, compared = _two_ways(walked, room)
    loop = _paying_loop({step: fmean(each) for step, each in paid.items()}, room)
    telescopes = not uneven and not ways and loop is None
    said = _words(uneven, ways, loop, compared)
    return PathReport(telescopes, compared, ways, loop, uneven, said)


def _two_ways(paths: Sequence[PaidPath], room: float) -> tuple[tuple[TwoWays, ...], int]:
    """Ways between the same two states whose sums differ, the largest difference first, and how many were compared. To stay
    where one is sums to nothing, so a loop is compared with that."""
    extremes: dict[Edge, dict[str, tuple[float, PaidPath, int, int]]] = {}
    walked: set[tuple[Edge, int]] = set()
    compared = 0
    for path in paths:
        for i, start in enumerate(path.states):
            total, way = 0.0, hash(start)
            stays = (0.0, path, i, i)
            extremes.setdefault((start, start), {"low": stays, "high": stays})
            for j in range(i + 1, len(path.states)):
                total += path.pays[j - 1]
                way = hash((way, path.states[j]))
                ends, this = (start, path.states[j]), (total, path, i, j)
                compared += ends in extremes and (ends, way) not in walked
                walked.add((ends, way))
                now = extremes.setdefault(ends, {"low": this, "high": this})
                now["low"], now["high"] = min(now["low"], this, key=_first), max(now["high"], this, key=_first)
    apart = [
        TwoWays(*ends, (_way(now["high"]), _way(now["low"])), (now["high"][0], now["low"][0]), _names(now))
        for ends, now in extremes.items()
        if now["high"][0] - now["low"][0] > room * max(1, len(_way(now["high"])))
    ]
    return tuple(sorted(apart, key=lambda each: each.sums[1] - each.sums[0])), compared


def _first(this: tuple[float, PaidPath, int, int]) -> float:
    return this[0]


def _way(this: tuple[float, PaidPath, int, int]) -> tuple[Hashable, ...]:
    _, path, i, j = this
    return tuple(path.states[i : j + 1])


def _names(now: Mapping[str, tuple[float, PaidPath, int, int]]) -> tuple[str, str]:
    return now["high"][1].name, now["low"][1].name


def _paying_loop(pay: Mapping[Edge, float], room: float) -> PayingLoop | None:
    """A cycle of steps that were seen, in one episode or in several, with a positive sum: by Bellman and Ford's rule."""
    states = list(dict.fromkeys(state for step in pay for state in step))
    best: dict[Hashable, float] = dict.fromkeys(states, 0.0)
    came: dict[Hashable, Hashable] = {}
    last: Hashable | None = None
    for _ in range(len(states)):
        last, moved = None, False
        for (before, after), each in pay.items():
            if best[before] + each > best[after] + room:
                best[after], came[after], last, moved = best[before] + each, before, after, True
        if not moved:
            return None
    for _ in range(len(states)):  # back into the cycle, wherever it was noticed
        last = came[last]
    cycle = [last]
    while came[cycle[-1]] != last:
        cycle.append(came[cycle[-1]])
    cycle.reverse()
    return PayingLoop(tuple(cycle), sum(pay[step] for step in pairwise([*cycle, cycle[0]])))


def _words(uneven: Any, ways: tuple[TwoWays, ...], loop: PayingLoop | None, compared: int) -> tuple[str, ...]:
    said = []
    if uneven:
        (before, after), pays = uneven[0]
        more = f", and {len(uneven) - 1} more steps likewise" if len(uneven) > 1 else ""
        said.append(
            f"The same step, from {before!r} to {after!r}, is paid {pays[0]:.4g} here and {pays[-1]:.4g} there{more}."
        )
    if ways:
        first = ways[0]
        more = f" So it is with {len(ways) - 1} more pairs of states." if len(ways) > 1 else ""
        one, other = (", ".join(map(str, way)) for way in first.ways)
        said.append(
            f"From {first.start!r} to {first.end!r} one way sums to {first.sums[0]:.4g} ({one}) and another to"
            f" {first.sums[1]:.4g} ({other}).{more}"
        )
    if loop is not None:
        round_ = ", ".join(map(str, loop.states))
        said.append(f"Going round {round_} pays {loop.pay:.4g} each time: an episode can collect it again and again.")
    if not said and compared:
        said.append(f"Sums do not depend on the way: {compared} other ways between the same states sum to the same.")
    if not said:
        said.append("No two ways led between the same states: nothing can be said of what the sums depend on.")
    return tuple(said)
