"""How many tries each problem gets, by how often it was solved before: a knapsack filled with what tries are worth.

Leaves out: which problems are drawn, which is every one in turn (`plain.py`).
Axes: P problems of a step, N tries.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.levels import gather_up
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask
from guerdon.curricula.plain import EpochSampler

Ints = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


@part
class knapsack:
    r"""The problems of `task` in turn, and `tries` tries for each on average: more where a try is worth more.

    $N$ tries at a problem solved at rate $p$ are worth $(1-p^N-(1-p)^N)\,p(1-p)^2$: the chance that they differ, so that
    there is a gradient, times how much the rate may rise by it. A step's tries are shared out so that the sum is largest,
    between `least` and `most` each. `gain=False` leaves the second factor out. (Li et al. 2025, arXiv:2509.25849.)

    A problem's rate is the mean of `column` over its last visit, or over its last `recent` tries where that had fewer. As in
    the authors' code: one not yet tried `tries` times gets `tries`; one at 0 or 1, of which no try is worth anything,
    `least`; and where those between need fewer tries than are left, each as many as show both outcomes at a chance of
    `sure`, the rest goes to those at 0 (to those at 1 and the untried, where none is), for a rate of 0 from few tries need
    not be one. What is left when all between have their `most` goes to those with the fewest. Unlike in that code `most` binds
    everywhere, and `least` tries are worth the formula's value (there they are worth nothing unless one is added).

    *Needs problems that come again*: a set of finite size (`countdown:1-6@512`); of an endless one all stay unseen, and
    everything is `uniform`. A rate is as old as a lap. Groups differ in size: with the mean over tracks or steps a problem
    weighs as its tries.

    Logs `knapsack/max_tries` and `min_tries`; how many problems are `unseen`, `solved`, `hopeless` and `between`, and the
    mean tries each such problem gets (`knapsack/tries_hopeless`); and `knapsack/useful`, the share of tries that stand beside
    others of their ask with another value in `column`, and so have a gradient.

    Args:
        task: where problems come from.
        tries: mean number of tries at a problem.
        column: column of the success rate.
        gain: count how much the rate may rise.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> draws = gd.curricula.knapsack(gd.tasks.load("countdown:1-6@512"), tries=4)
    >>> [ask.n for ask in draws.draw(3, ExamplePlay())]  # of problems that were never tried
    [4, 4, 4]
    >>> from guerdon.curricula.tries_by_worth import shares
    >>> shares([0.5, 0.25, 0.0, 1.0], tries=4, least=2, most=16).tolist()  # by their rates
    [5, 7, 2, 2]
    """

    task: Any
    tries: int = knob(default=8, ge=1)
    least: int = knob(default=2, ge=1)  # the authors' script, for all rates
    most: int = knob(default=128, ge=1)  # the authors' script
    column: str = "correct"
    gain: bool = True
    recent: int = knob(default=16, ge=1)  # the authors' script
    sure: float = knob(default=0.9, gt=0.0, le=1.0)  # the authors' code

    drawn: int = state(default=0)
    seen: dict[str, list[float]] = state(factory=dict)  # task key: what its latest tries were worth
    laps: EpochSampler | None = live()

    def __post_init__(self) -> None:
        if not self.least <= self.tries <= self.most:
            raise UserError(
                f"knapsack shares out {self.tries} tries a problem and gives each {self.least} to {self.most}: set tries"
                " between least and most"
            )

    def draw(self, n: int, play: Play) -> list[Ask]:
        if self.laps is None or self.laps.source is not self.task:
            self.laps = EpochSampler(self.task)
        tasks = [self.laps.task(self.drawn + i, play.seed) for i in range(n)]
        self.drawn += n
        rates = [self.rate(task.key) for task in tasks]
        given = shares(rates, self.tries, self.least, self.most, self.gain, self.sure).tolist()
        self._log(rates, given, play)
        return [
            Ask(task, count, note={} if rate is None else {"rate": rate})
            for task, count, rate in zip(tasks, given, rates, strict=True)
        ]

    def rate(self, key: str) -> float | None:
        """How often a problem was solved lately; None where too little is known."""
        known = self.seen.get(key, [])
        return sum(known) / len(known) if len(known) >= self.tries else None

    def _log(self, rates: Sequence[float | None], given: Sequence[int], play: Play) -> None:
        sorts: dict[str, list[int]] = {"unseen": [], "solved": [], "hopeless": [], "between": []}
        for rate, count in zip(rates, given, strict=True):
            sorts[sort_of(rate)].append(count)
        play.log(**{"knapsack/max_tries": max(given), "knapsack/min_tries": min(given)})
        play.log(**{f"knapsack/{name}": len(counts) for name, counts in sorts.items()})
        play.log(**{f"knapsack/tries_{name}": float(np.mean(counts)) for name, counts in sorts.items() if counts})

    def observe(self, batch: Batch, play: Play) -> None:
        """Remember what came of each problem's tries. One without a value is not among them."""
        column = batch.track_column(self.column, "knapsack")
        valued = ~column.missing
        if bool(((column.value < 0) | (column.value > 1)).any()):
            raise UserError(
                f"knapsack takes {self.column!r} for a rate of success, and it has values outside 0 to 1: name another"
                " column (--set knapsack.column=correct)"
            )
        visit: dict[str, list[float]] = defaultdict(list)
        episodes = batch.episode[batch.leaf][valued].tolist()
        for episode, value in zip(episodes, column.value[valued].tolist(), strict=True):
            visit[batch.episodes[episode].task.key].append(value)
        for key, values in visit.items():
            whole = len(values) >= self.recent
            self.seen[key] = values if whole else [*self.seen.get(key, []), *values][-self.recent :]
        group, size = batch.group("ask")
        high, low = (gather_up(column.value, group, size, by) for by in ("max", "min"))
        play.log(**{"knapsack/useful": float((high > low)[group].double().mean()) if size else 0.0})


def sort_of(rate: float | None) -> str:
    if rate is None:
        return "unseen"
    return "hopeless" if rate == 0 else "solved" if rate == 1 else "between"


def shares(
    rates: Sequence[float | None], tries: int, least: int, most: int, gain: bool = True, sure: float = 0.9
) -> Ints:
    """[P] the tries of each problem, `tries` on average; its rate is None where it is not known."""
    sort = np.array([sort_of(rate) for rate in rates])
    given = np.where(sort == "unseen", tries, least).astype(np.int64)
    left = tries * len(rates) - int(given.sum())
    between = sort == "between"
    p = np.array([0.0 if rate is None else rate for rate in rates])
    spare = left - enough(p[between], most, sure)
    if spare > 0:
        hopeless = sort == "hopeless"
        whom = hopeless if hopeless.any() else ~between
        given = levelled(given, whom, spare, most)
        left = tries * len(rates) - int(given.sum())
    given[between] += filled(p[between], left, least, most, gain)
    return levelled(given, np.ones(len(given), bool), tries * len(rates) - int(given.sum()), most)


def filled(p: Floats, left: int, least: int, most: int, gain: bool = True) -> Ints:
    r"""[P] how many of `left` tries each problem gets beyond `least`, so that they are worth most together; what does not
    fit below `most` stays.

    Each try more is worth less, $p^N(1-p)+(1-p)^N p$ of the gain after $N$ of them, so taking the most valuable try again and
    again is exact: what dynamic programming finds, by one sort.
    """
    n = np.arange(least, most)
    more = (p ** n[:, None] * (1 - p) + (1 - p) ** n[:, None] * p) * (p * (1 - p) ** 2 if gain else 1.0)  # [N, P]
    more = np.minimum.accumulate(more, 0)  # rounding must not put a later try before an earlier one
    best = np.argsort(-more, axis=None, kind="stable")[:left]  # of equals, the problem with fewer tries
    return np.bincount(best % max(len(p), 1), minlength=len(p)).astype(np.int64)


def enough(p: Floats, most: int, sure: float) -> int:
    """How many tries problems of these rates need in all, so that each shows both outcomes at a chance of about `sure`."""
    if sure == 1:
        return most * len(p)
    need = np.log(1 - sure) / np.log(np.maximum(p, 1 - p))
    return int(np.minimum(need, most).astype(np.int64).sum())


def levelled(given: Ints, whom: npt.NDArray[np.bool_], more: int, most: int) -> Ints:
    """[P] with `more` tries allocated one by one among `whom`, always to the one with the fewest, up to `most` each."""
    level = np.arange(most)[:, None]
    place = np.nonzero((level >= given) & whom)[1]  # by level, then by place
    return given + np.bincount(place[:more], minlength=len(given))
