"""Requests that arrive one after the other, each with options that are worth something and use up resources, and the most
that could have been made of all of them: a linear program, by SciPy's HiGHS (`pip install 'guerdon[allocation]'`).

Not to serve a request is always allowed: it is worth 0 and uses nothing. Leaves out: what decides (the recipes of the family
allocation).

Axes: T requests, A options, R resources.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from guerdon.core.errors import UserError, require_extra

Array = npt.NDArray[np.float64]
Input = Literal["iid", "drift", "adversarial"]
NONE = -1  # the option of a request that is not served


@dataclass(frozen=True, eq=False)
class Requests:
    """A stream. An option that a request does not have is worth -inf.

    >>> stream = Requests(np.array([[3.0, 2.0], [4.0, 1.0]]), np.array([[[2.0], [1.0]], [[2.0], [1.0]]]), np.array([3.0]))
    >>> stream.share.tolist(), hindsight(stream).worth
    ([1.5], 6.0)
    """

    value: Array  # [T, A]
    use: Array  # [T, A, R]
    budget: Array  # [R]
    resources: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        T, A, R = self.use.shape
        assert self.value.shape == (T, A) and self.budget.shape == (R,), "not a value, a use and a budget for each"
        assert bool((self.use >= 0).all()) and bool((self.budget > 0).all()), (
            "uses are not negative, budgets are positive"
        )

    @property
    def share(self) -> Array:
        """[R] of each budget, for one request: rho."""
        return self.budget / len(self.value)

    def first(self, count: int) -> Requests:
        """The first requests, with their share of the budgets."""
        return Requests(self.value[:count], self.use[:count], self.share * count, self.resources)

    def worth(self, chosen: npt.NDArray[np.int64]) -> float:
        """[T] -> the sum of the values of chosen options."""
        served = np.flatnonzero(chosen != NONE)
        return float(self.value[served, chosen[served]].sum())

    def used(self, chosen: npt.NDArray[np.int64]) -> Array:
        """[T] -> [R] what chosen options use."""
        served = np.flatnonzero(chosen != NONE)
        return np.asarray(self.use[served, chosen[served]].sum(0))


@dataclass(frozen=True, eq=False)
class Hindsight:
    """The best fractional plan for a whole stream: an upper bound of what any rule can make of it, and the prices [R] of its
    budgets."""

    worth: float
    prices: Array


def hindsight(requests: Requests) -> Hindsight:
    """The linear program: most worth, at most one option a request, within the budgets."""
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, vstack
    except ImportError as error:
        raise require_extra("scipy", "allocation") from error
    t, a = np.nonzero(requests.value > 0)  # options worth nothing are in no best plan
    n, R = len(t), len(requests.budget)
    if not n:
        return Hindsight(0.0, np.zeros(R))
    once = csr_matrix((np.ones(n), (t, np.arange(n))), shape=(len(requests.value), n))
    limits = np.concatenate([np.ones(len(requests.value)), requests.budget])
    rows = vstack([once, csr_matrix(requests.use[t, a].T)])
    solution = linprog(-requests.value[t, a], A_ub=rows, b_ub=limits)
    if solution.status != 0:
        raise UserError(
            f"the linear program of {len(requests.value):,} requests has no solution: give values, uses and budgets in units in"
            f" which they are nearer to 1; HiGHS says: {solution.message}"
        )
    return Hindsight(-float(solution.fun), -np.asarray(solution.ineqlin.marginals[-R:]))


def dual(requests: Requests, prices: Array) -> float:
    """What prices [R] bound: sum_t max(0, max_a value - prices . use) + prices . budget, never below the linear program."""
    gain = (requests.value - requests.use @ prices).max(1)
    return float(np.maximum(gain, 0.0).sum() + prices @ requests.budget)


def serve(requests: Requests, choose: Callable[[int, Array], int]) -> npt.NDArray[np.int64]:
    """[T] the options that a rule takes, `choose(t, left)` of each request and what is left of the budgets [R]. One that would
    use more of a resource than is left is not served."""
    left, chosen = requests.budget.copy(), np.full(len(requests.value), NONE)
    for t in range(len(chosen)):
        option = choose(t, left)
        if option != NONE and bool((requests.use[t, option] <= left).all()):
            chosen[t] = option
            left -= requests.use[t, option]
    return chosen


def slope(sizes: Sequence[float], numbers: Sequence[float]) -> float:
    """Of log(number) over log(size), by least squares; NaN where a number is not positive.

    >>> round(slope([100, 400, 1600], [3.0, 6.0, 12.0]), 6)
    0.5
    """
    if len(numbers) < 2 or min(numbers) <= 0:
        return math.nan
    return float(np.polyfit(np.log(sizes), np.log(numbers), 1)[0])


def drawn_requests(
    input: str, horizon: int, options: int, resources: int, share: float, draw: np.random.Generator
) -> Requests:
    """A stream whose budgets last for a `share` of what all requests would use with their dearest options, on average.

    "iid": values and uses are even between 0 and 1. "drift": values rise from a half to three halves of that. "adversarial":
    in the first half of the stream values are at most a half, and every option uses more than a half of each resource.
    """
    if input not in get_args(Input):
        raise UserError(
            f"stream={input!r}: there is {', '.join(get_args(Input))}, and a file needs its budgets: --set budgets=views=1000"
        )
    value, use = draw.random((horizon, options)), draw.random((horizon, options, resources))
    late = np.arange(horizon) / horizon
    if input == "drift":
        value *= 0.5 + late[:, None]
    elif input == "adversarial":
        early = late < 0.5
        value[early] /= 2
        use[early] = (1 + use[early]) / 2
    return Requests(value, use, np.full(resources, share * float(use.max(1).mean()) * horizon))


def requests_of(records: Any, budgets: Mapping[str, float]) -> Requests:
    """A user's stream: a row for each option of a request, with `request`, the same in rows of one request, which stand
    together, its `value`, and a column for what it uses of each resource in `budgets`."""
    values: list[list[float]] = []
    uses: list[list[list[float]]] = []
    ended: set[str] = set()
    last: str | None = None
    for place, row in rows_with(records, ("request", "value", *budgets)):
        request = str(row["request"])
        if request != last:
            if request in ended:
                raise UserError(f"{place}: request {request} again; rows of one request stand together")
            ended.add(request)
            last = request
            values.append([])
            uses.append([])
        values[-1].append(number_in(row, "value", place))
        uses[-1].append([number_in(row, resource, place, 0.0) for resource in budgets])
    T, A = len(values), max(map(len, values))
    value, use = np.full((T, A), -np.inf), np.zeros((T, A, len(budgets)))
    for t, (worth, used) in enumerate(zip(values, uses, strict=True)):
        value[t, : len(worth)], use[t, : len(used)] = worth, used
    return Requests(value, use, np.array(list(budgets.values()), float), tuple(budgets))


def table_of(records: Any, columns: tuple[str, str, str], absent: float, high: float = 1.0) -> Array:
    """[V, U] of a user's rows, which name a line, a column and a number from 0 to `high` of a table; lines and columns are in
    the order in which their names first appear."""
    numbers = {
        (str(row[columns[0]]), str(row[columns[1]])): number_in(row, columns[2], place, 0.0, high)
        for place, row in rows_with(records, columns)
    }
    lines, across = ({name: i for i, name in enumerate(dict.fromkeys(names))} for names in zip(*numbers, strict=True))
    table = np.full((len(lines), len(across)), absent)
    for (line, column), number in numbers.items():
        table[lines[line], across[column]] = number
    return table


def rows_with(records: Any, columns: Sequence[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Each row of a user's file, with its place. Refused: a row that cannot be read or has no such column, and no rows."""
    if not len(records):
        raise UserError(f"{records.name} has no rows")
    for row in records:
        place = f"{records.name} {records.place(row.number)}"
        if row.value is None:
            raise UserError(f"{place}: {row.fault}")
        missing = [column for column in columns if row.value.get(column) is None]
        if missing:
            raise UserError(f'{place}: no "{missing[0]}"; a row has {", ".join(columns)}')
        yield place, row.value


def number_in(row: Mapping[str, Any], column: str, place: str, low: float = -math.inf, high: float = math.inf) -> float:
    """The number of a column, which lies between `low` and `high`."""
    try:
        number = float(row[column])
    except (TypeError, ValueError):
        raise UserError(f"{place}: {column} is {row[column]!r}, not a number") from None
    if not low <= number <= high or not math.isfinite(number):
        within = (
            f" between {low:g} and {high:g}" if math.isfinite(high) else ", 0 or more" if math.isfinite(low) else ""
        )
        raise UserError(f"{place}: {column} is {row[column]!r}; it must be a finite number{within}")
    return number
