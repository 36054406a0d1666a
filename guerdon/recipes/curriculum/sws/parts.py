"""New problems of the kinds where a policy is weak: the part of SwS.

A set of problems is gone through a few times, and those that stay unsolved say of which kinds more are made.
Problems are made by the source itself, which must never end.
Leaves out: a model that writes problems from notions of the weak ones.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.extra_play import check_scores, play_scored
from guerdon.core.part import knob, label, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask, Split, Task, kinds_of
from guerdon.curricula.plain import APART, EpochSampler
from guerdon.curricula.success_records import rates

NEW = "new"  # note of an ask: its problem was made for a weakness


@part
class weakness:
    r"""The first `size` problems of `task`, `tries` tries each, `epochs` times over; then these and new problems together, for
    the rest of the run. New ones are made of each kind in proportion to its failure rate, the share of its problems that are
    weak: never solved by half of the tries, $\max_t a_t < 1/2$, and not getting better, a least-squares slope of $a_t$ over the
    visits of 0 or less. SwS (Liang et al. 2025, arXiv:2506.08989).

    `candidates` are made, and tried `tries` times by the policy as it is then; those whose rate lies in `band` stay. These
    tries are played and scored (by `scores`, the recipe's own) when the first phase ends, learned from by nobody, and counted
    in the budget. `by="even"` makes as many of every kind. Where nothing is weak, or nothing stays, the set goes on alone.

    *Biased* on purpose towards what is hard and not hopeless; and whether a problem is, is decided by few tries at it. The
    state holds the new problems themselves.

    Notes `score/KIND`, the failure rates, and `weakness/weak`, `weakness/kept` and `weakness/mean` (the candidates' mean rate)
    when it makes problems; `weakness/new`, the share of new problems among those drawn, from then on.

    >>> failure_rates({"a": [0.0, 0.4, 0.3], "b": [0.0, 0.6], "c": [0.4, 0.2]}, {"a": "k:1", "b": "k:1", "c": "k:2"})
    {'k:1': 0.0, 'k:2': 1.0}
    """

    task: Any
    scores: list[Any]
    tries: int = knob(default=8, ge=1)
    size: int = knob(default=96, ge=1)
    epochs: int = knob(default=3, ge=1)
    candidates: int = knob(default=128, ge=0)
    band: tuple[float, float] = (0.25, 0.75)  # the paper's
    by: Literal["failure", "even"] = "failure"

    drawn: int = state(default=0)  # problems of this phase so far
    seen: dict[str, list[float]] = state(factory=dict)  # task key: its rates in the first phase, visit by visit
    made: list[dict[str, Any]] | None = state(default=None)  # the new problems; None in the first phase
    laps: EpochSampler | None = live()

    def __post_init__(self) -> None:
        check_scores(self.scores, label(self))
        if self.candidates and any(source.size("train") is not None for source in kinds_of(self.task).values()):
            raise UserError(
                f"{self.task.name} has an end, and weakness makes new problems with it: give a family that never ends"
                " (countdown:1-6), or candidates=0"
            )
        if not 0 <= self.band[0] <= self.band[1] <= 1:
            raise UserError(f"weakness.band must be two rates from low to high, not {list(self.band)}")

    def draw(self, n: int, play: Play) -> list[Ask]:
        if self.made is None and self.drawn >= self.epochs * self.size:
            self.made = self._synthesise(play)
            self.drawn, self.laps = 0, None
        if self.laps is None:
            self.laps = EpochSampler(_these(self._set() + [Task(**kept) for kept in self.made or []]))
        tasks = [self.laps.task(self.drawn + i, play.seed) for i in range(n)]
        self.drawn += n
        new = {Task(**kept).key for kept in self.made or []}
        if self.made is not None:
            play.log(**{"weakness/new": sum(task.key in new for task in tasks) / max(n, 1)})
        return [Ask(task, self.tries, note={NEW: True} if task.key in new else {}) for task in tasks]

    def _set(self) -> list[Task]:
        return [self.task.get("train", i) for i in range(self.size)[: self.task.size("train")]]

    def _synthesise(self, play: Play) -> list[dict[str, Any]]:
        """New problems that the policy solves now and then, most of the kinds where it fails most."""
        kind = {task.key: task.kind for task in self._set()}
        failed = failure_rates({key: self.seen.get(key, []) for key in kind}, kind)
        play.log(**{f"score/{name}": rate for name, rate in failed.items()})
        play.log(**{"weakness/weak": sum(is_weak(seen) for seen in self.seen.values())})
        wanted = dict.fromkeys(failed, 1.0) if self.by == "even" else failed
        fresh = self._fresh(shared_out(wanted, self.candidates), set(kind), play.seed)
        batch = play_scored([Ask(task, self.tries) for task in fresh], self.scores, play)
        rate = rates(batch, "correct") if fresh else {}
        low, high = self.band
        kept = [task for task in fresh if low <= rate.get(task.key, -1.0) <= high]
        play.log(
            **{"weakness/kept": len(kept), **({"weakness/mean": float(np.mean([*rate.values()]))} if rate else {})}
        )
        return [dataclasses.asdict(task) for task in kept]

    def _fresh(self, counts: Mapping[str, int], known: set[str], seed: int) -> list[Task]:
        """So many problems of each kind, none of them twice and none of the set."""
        sources, fresh = kinds_of(self.task), {}
        for kind, count in counts.items():
            for index in range(count):
                task = sources[kind].get("train", seed * APART + self.size + index)
                if task.key not in known:
                    fresh[task.key] = task
        return list(fresh.values())

    def observe(self, batch: Batch, play: Play) -> None:
        if self.made is None:
            for key, rate in rates(batch, "correct").items():
                self.seen.setdefault(key, []).append(rate)


@dataclasses.dataclass(frozen=True)
class _these:
    """A few problems as a source of training problems."""

    tasks: Sequence[Task]

    def size(self, split: Split) -> int | None:
        return len(self.tasks)

    def get(self, split: Split, index: int) -> Task:
        return self.tasks[index]


def is_weak(seen: Sequence[float]) -> bool:
    """Whether rates of success, visit by visit, never came to a half and do not rise. One never tried is not known to be.

    >>> [is_weak(seen) for seen in ([0.0, 0.0], [0.4, 0.1], [0.1, 0.4], [0.5, 0.0], [0.2], [])]
    [True, True, False, False, True, False]
    """
    return bool(seen) and max(seen) < 0.5 and slope(seen) <= 1e-9  # a flat line, rounding allowed


def slope(values: Sequence[float]) -> float:
    """Of the least-squares line through values at 0, 1, 2, ...; 0 for a single one."""
    if len(values) < 2:
        return 0.0
    place = np.arange(len(values)) - (len(values) - 1) / 2
    return float(place @ np.asarray(values)) / float(place @ place)


def failure_rates(seen: Mapping[str, Sequence[float]], kind: Mapping[str, str]) -> dict[str, float]:
    """By kind, the share of weak problems; `kind` says of which each problem is."""
    weak: dict[str, list[bool]] = {}
    for key, rates_of in seen.items():
        weak.setdefault(kind[key], []).append(is_weak(rates_of))
    return {name: sum(each) / len(each) for name, each in weak.items()}


def shared_out(weights: Mapping[str, float], total: int) -> dict[str, int]:
    """`total` whole things in proportion to weights; what is left over by rounding down goes to the largest remainders.

    >>> shared_out({"a": 1.0, "b": 2.0, "c": 0.0}, 10)
    {'a': 3, 'b': 7, 'c': 0}
    """
    whole = sum(weights.values())
    if not whole:
        return dict.fromkeys(weights, 0)
    exact = {name: total * weight / whole for name, weight in weights.items()}
    given = {name: int(share) for name, share in exact.items()}
    by_rest = sorted(exact, key=lambda name: given[name] - exact[name])
    for name in by_rest[: total - sum(given.values())]:
        given[name] += 1
    return given
