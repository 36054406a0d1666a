"""Rows that a filter lets through: how many they are, and a page of them in some order.

A page begins after a row, not at a number, so rows that come meanwhile are neither lost nor shown twice. The table is gone
through once for a question: what passes stands in a table `hits` of few columns, of which pages and facets are made; what is
shown of a row is fetched for the rows of the page alone.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError, require_extra, unknown

try:
    import duckdb
except ModuleNotFoundError as error:
    raise require_extra("duckdb", "studio") from error
from guerdon.studio.rollouts.index_shelf import SECONDS, IndexShelf
from guerdon.studio.rollouts.rollout_filters import RolloutFilter
from guerdon.studio.rollouts.rollout_index import PLAIN, Indexed, RolloutIndex
from guerdon.studio.rollouts.snippets import snippet

PAGE = 100
MOST = 500  # rows of a page
MEASURED = ("reward", "correct", "advantage")
SHOWN = [name for name in PLAIN if name not in ("prompt", "completion", "answer")]


@dataclass(frozen=True)
class RowOrder:
    """By a column, up or down, what has no number last; then the newest step first, and as they lie in the file."""

    column: str = "step"
    down: bool = True

    @classmethod
    def of(cls, text: str) -> RowOrder:
        return cls(text.removeprefix("-"), text.startswith("-")) if text else cls()


@dataclass(frozen=True)
class RowPlace:
    """Where a row stands in an order: what comes after it, or before, is asked for by it."""

    value: Any
    step: int
    run: str
    row: int

    @classmethod
    def of(cls, text: str) -> RowPlace:
        try:
            value, step, run, row = json.loads(base64.urlsafe_b64decode(text.encode()))
            if not isinstance(value, str | int | float | None) or not isinstance(run, str):
                raise ValueError
            return cls(value, int(step), run, int(row))
        except (ValueError, TypeError, OverflowError, binascii.Error, RecursionError) as error:
            raise UserError("after= and before= take what an earlier answer gave as `next` or `previous`") from error

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.value, self.step, self.run, self.row]).encode()).decode()


@dataclass(frozen=True)
class RowPage:
    """What was asked for of the rows: an order, where to begin, how many, and which columns of the batch."""

    order: RowOrder = RowOrder()
    after: RowPlace | None = None
    before: RowPlace | None = None
    size: int = PAGE
    columns: tuple[str, ...] = MEASURED


def _hits(indexes: Sequence[RolloutIndex], asked: RolloutFilter, columns: Sequence[str]) -> tuple[str, list[Any]]:
    """SQL of the rows that a filter lets through, of all runs together, and what is bound in it."""
    parts, values = [], []
    for number, index in enumerate(indexes):
        numbers = dict(index.columns)  # of one moment: a filler may add to them
        fields = [f"{field_of(name, numbers)} AS k{n}" for n, name in enumerate(columns)]
        conditions = [term.on(numbers) for term in asked.terms]
        values += [value for _, bound in conditions for value in bound]
        where = [sql for sql, _ in conditions]
        if asked.keys is not None:
            keys = sorted(asked.keys.get(index.shelved.id, ()))
            where.append("(step, episode, segment) IN (SELECT unnest(?), unnest(?), unnest(?))" if keys else "false")
            values += [list(each) for each in zip(*keys, strict=True)]
        parts.append(
            f"SELECT {number} AS run, rowid AS id, {', '.join(['row', *fields])} FROM {index.place}.rows"
            f" WHERE {' AND '.join(f'({sql})' for sql in where) or 'true'}"
        )
    return " UNION ALL ".join(parts), values


def field_of(name: str, numbers: Mapping[str, int]) -> str:
    """A column of the table; `NAME:reason` is that of why there is no number."""
    if name in PLAIN:
        return f'"{name}"'
    if name in numbers:
        return f"c{numbers[name]}"
    reason = numbers.get(name.removesuffix(":reason")) if name.endswith(":reason") else None
    return "NULL" if reason is None else f"r{reason}"


@contextlib.contextmanager
def matching(
    shelf: IndexShelf,
    indexes: Sequence[RolloutIndex],
    asked: RolloutFilter,
    order: RowOrder,
    columns: Sequence[str],
    wait: float,
    seconds: float = SECONDS,
) -> Iterator[tuple[Any, list[Indexed]]]:
    """A cursor with a table `hits` of the rows that a filter lets through, and how far the indexes are. It has `run` (which of
    those asked for), `id`, `row`, k0 the step, k1 what they are ordered by, k2 the reward, k3 and so on the columns asked for;
    NULL where a run has not got one."""
    state = [index.look(wait) for index in indexes]
    check_columns(indexes, state, [*asked.columns, order.column])
    with shelf.question(seconds) as cursor:
        check_patterns(cursor, asked)
        statement, values = _hits(indexes, asked, ["step", order.column, "reward", *columns])
        cursor.execute(f"CREATE TEMP TABLE hits AS {statement}", values)
        yield cursor, state


def search(cursor: Any, indexes: Sequence[RolloutIndex], asked: RolloutFilter, page: RowPage) -> dict[str, Any]:
    """A page of the rows in `hits`, and what is true of all of them."""
    flip = page.before is not None and page.after is None
    beyond, bound = _beyond(
        page.before if flip else page.after, page.order, flip, [each.shelved.id for each in indexes]
    )
    about = f"SELECT count(*), min(k0), max(k0), avg(k2), count(*) FILTER (WHERE NOT ({beyond})) FROM hits"
    total, first, last, mean, passed = cursor.execute(about, bound).fetchone()
    first_of = f"WHERE {beyond} ORDER BY {ordered(page.order, flip)} LIMIT {page.size + 1}"
    chosen = cursor.execute(f"SELECT run, id, row, k0, k1 FROM hits {first_of}", bound).fetchall()
    has_more, chosen = len(chosen) > page.size, chosen[: page.size]
    if flip:
        chosen.reverse()
    before = total - passed - len(chosen) if flip else passed
    places = [str(RowPlace(value, step, indexes[run].shelved.id, row)) for run, _, row, step, value in chosen]
    is_after, is_before = (True, has_more) if flip else (has_more, before > 0)
    return {
        "total": total,
        "steps": None if first is None else [first, last],
        "mean_reward": mean,
        "from": before,
        "rows": _shown(cursor, indexes, asked, page, chosen),
        "next": places[-1] if places and is_after else None,
        "previous": places[0] if places and is_before else None,
    }


def check_patterns(cursor: Any, asked: RolloutFilter) -> None:
    """Refuse what is no regular expression, in the words of who reads them."""
    for pattern in asked.tried:
        try:
            cursor.execute("SELECT regexp_matches('', ?, 'is')", [pattern]).fetchall()
        except duckdb.InvalidInputException as error:
            why = str(error).splitlines()[0].removeprefix("Invalid Input Error: ")
            raise UserError(f"re:{pattern} is no regular expression: {why}") from error


def check_columns(indexes: Sequence[RolloutIndex], state: Sequence[Indexed], names: Sequence[str]) -> None:
    """Refuse a column that no run has, once all is read."""
    if all(each.done for each in state):
        there = {name for index in indexes for name in index.columns}
        for name in names:
            if name not in PLAIN and name not in there:
                raise unknown("column", name, [*PLAIN, *there])


def ordered(order: RowOrder, flip: bool = False) -> str:
    down, up = ("ASC", "DESC") if flip else ("DESC", "ASC")
    return f"(k1 IS NULL) {up}, k1 {down if order.down else up}, k0 {down}, run {up}, row {up}"


def _beyond(place: RowPlace | None, order: RowOrder, flip: bool, runs: Sequence[str]) -> tuple[str, list[Any]]:
    """The condition that a row comes after a place in the order, or before it where that is turned round."""
    if place is None:
        return "true", []
    run = runs.index(place.run) if place.run in runs else len(runs) if not flip else -1
    down, up = ("<", ">")[:: -1 if flip else 1]
    ties = f"(k0 {down} ? OR (k0 = ? AND (run {up} ? OR (run = ? AND row {up} ?))))"
    tied = [place.step, place.step, run, run, place.row]
    if place.value is None:
        return (f"(k1 IS NULL AND {ties})" + (" OR k1 IS NOT NULL" if flip else "")), tied
    kind = PLAIN.get(order.column, "DOUBLE")
    value = f"CAST(? AS {kind})"
    nulls = "" if flip else " OR k1 IS NULL"
    return f"coalesce(k1 {down if order.down else up} {value} OR (k1 = {value} AND {ties}), false){nulls}", [
        place.value, place.value, *tied,
    ]  # fmt: skip


def _shown(
    cursor: Any, indexes: Sequence[RolloutIndex], asked: RolloutFilter, page: RowPage, chosen: Sequence[Any]
) -> list[dict[str, Any]]:
    """The rows of a page as the list shows them."""
    by_key: dict[tuple[int, int], dict[str, Any]] = {}
    for number, index in enumerate(indexes):
        ids = [row[1] for row in chosen if row[0] == number]
        if not ids:
            continue
        numbers = dict(index.columns)
        columns = [name for name in page.columns if name in numbers]
        fields = [*SHOWN, *(name for each in columns for name in (each, f"{each}:reason"))]
        fitting = ["regexp_extract(completion, ?, 0, 'is')" for _ in asked.patterns]
        select = ", ".join(
            ["rowid", "characters", "prompt", "completion", *(field_of(n, numbers) for n in fields), *fitting]
        )
        place = f"FROM {index.place}.rows WHERE rowid IN ({', '.join('?' * len(ids))})"
        for id, characters, prompt, completion, *rest in cursor.execute(
            f"SELECT {select} {place}", [*asked.patterns, *ids]
        ).fetchall():
            values = dict(zip(fields, rest[: len(fields)], strict=True))
            marks = [*asked.literal, *filter(None, rest[len(fields) :])]
            by_key[number, id] = {
                "run": index.shelved.id,
                **{name: values[name] for name in SHOWN},
                "characters": characters,
                "values": {name: told(values[name]) for name in columns},
                "reasons": {name: values[f"{name}:reason"] for name in columns if values[f"{name}:reason"] is not None},
                **snippet(completion or "", prompt or "", marks),
            }
    return [by_key[row[0], row[1]] for row in chosen]


def told(value: Any) -> Any:
    """A number for the page; infinities by their names, which JSON has no numbers for."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value
