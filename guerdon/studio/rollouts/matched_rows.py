"""The rows that a filter lets through, to be counted, ordered and shown.

Texts are read once for a question: where it is about texts, what passes is noted by its place in the table (`hits`), and all
that is asked then goes by that. Numbers and words are so quick to go through that they are asked each time, of the columns that
are wanted and no others: a table of all that is let through would take more memory than there is for a million rows.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from guerdon.core.errors import UserError, require_extra, unknown

try:
    import duckdb
except ModuleNotFoundError as error:
    raise require_extra("duckdb", "studio") from error
from guerdon.studio.rollouts.index_shelf import SECONDS, IndexShelf
from guerdon.studio.rollouts.rollout_filters import RolloutFilter
from guerdon.studio.rollouts.rollout_index import PLAIN, Indexed, RolloutIndex


class MatchedRows:
    """Of some runs together, as they are at one moment."""

    def __init__(self, cursor: Any, indexes: Sequence[RolloutIndex], asked: RolloutFilter) -> None:
        self.indexes, self.asked = indexes, asked
        self.numbers = [dict(index.columns) for index in indexes]  # of that moment: more may come while it is asked
        self._cursor = cursor
        conditions = [self._conditions(number) for number in range(len(indexes))]
        if asked.reads_texts:
            parts = [
                f"SELECT {n} AS run, rowid AS id FROM {self._from(n)} WHERE {sql}"
                for n, (sql, _) in enumerate(conditions)
            ]
            values = [value for _, bound in conditions for value in bound]
            cursor.execute(f"CREATE TEMP TABLE hits AS {' UNION ALL '.join(parts)}", values)
            conditions = [(f"rowid IN (SELECT id FROM hits WHERE run = {n})", []) for n in range(len(indexes))]
        self._where = conditions

    def ask(self, statement: str, columns: Sequence[str], bound: Sequence[Any] = ()) -> list[Any]:
        """What a statement about `matched` gives: a table of `run` (which of those asked for), `id`, `row`, and the columns as
        k0, k1, ..., NULL where a run has not got one."""
        parts = []
        for n, (where, _) in enumerate(self._where):
            fields = [f"{field_of(name, self.numbers[n])} AS k{k}" for k, name in enumerate(columns)]
            parts.append(
                f"SELECT {', '.join([f'{n} AS run', 'rowid AS id', 'row', *fields])} FROM {self._from(n)} WHERE {where}"
            )
        values = [value for _, each in self._where for value in each]
        matched = " UNION ALL ".join(parts)
        rows: list[Any] = self._cursor.execute(f"WITH matched AS ({matched}) {statement}", [*values, *bound]).fetchall()
        return rows

    def everything(self) -> int:
        """How many rows there are, let through or not."""
        counts = [f"(SELECT count(*) FROM {self._from(n)})" for n in range(len(self.indexes))]
        return int(self._cursor.execute(f"SELECT {' + '.join(counts)}").fetchone()[0])

    def whole(self, number: int, ids: Sequence[int], fields: Sequence[str], bound: Sequence[Any] = ()) -> list[Any]:
        """Fields of some rows of a run, their ids first."""
        place = f"FROM {self._from(number)} WHERE rowid IN ({', '.join('?' * len(ids))})"
        rows: list[Any] = self._cursor.execute(
            f"SELECT {', '.join(['rowid', *fields])} {place}", [*bound, *ids]
        ).fetchall()
        return rows

    def _from(self, number: int) -> str:
        return f"{self.indexes[number].place}.rows"

    def _conditions(self, number: int) -> tuple[str, list[Any]]:
        conditions = [term.on(self.numbers[number]) for term in self.asked.terms]
        where = [sql for sql, _ in conditions]
        values = [value for _, bound in conditions for value in bound]
        if self.asked.keys is not None:
            keys = sorted(self.asked.keys.get(self.indexes[number].shelved.id, ()))
            is_one = "(step, episode, segment) IN (SELECT unnest(?), unnest(?), unnest(?))" if keys else "false"
            where.append(f"NOT {is_one}" if self.asked.without else is_one)
            values += [list(each) for each in zip(*keys, strict=True)]
        return " AND ".join(f"({sql})" for sql in where) or "true", values


@contextlib.contextmanager
def matching(
    shelf: IndexShelf,
    indexes: Sequence[RolloutIndex],
    asked: RolloutFilter,
    order: str = "step",
    wait: float = 0.0,
    seconds: float = SECONDS,
) -> Iterator[tuple[MatchedRows, list[Indexed]]]:
    """The rows that a filter lets through, to be ordered by a column; and how far the indexes are."""
    state = [index.look(wait) for index in indexes]
    _check_columns(indexes, state, [*asked.columns, order])
    with shelf.question(seconds) as cursor:
        _check_patterns(cursor, asked)
        yield MatchedRows(cursor, indexes, asked), state


def field_of(name: str, numbers: Mapping[str, int]) -> str:
    """A column of the table; `NAME:reason` is that of why there is no number."""
    if name in PLAIN:
        return f'"{name}"'
    if name in numbers:
        return f"c{numbers[name]}"
    reason = numbers.get(name.removesuffix(":reason")) if name.endswith(":reason") else None
    return "NULL" if reason is None else f"r{reason}"


def _check_patterns(cursor: Any, asked: RolloutFilter) -> None:
    """Refuse what is not a regular expression, in the words of who reads them."""
    for pattern in asked.tried:
        try:
            cursor.execute("SELECT regexp_matches('', ?, 'is')", [pattern]).fetchall()
        except duckdb.InvalidInputException as error:
            why = str(error).splitlines()[0].removeprefix("Invalid Input Error: ")
            raise UserError(f"re:{pattern} is not a regular expression: {why}") from error


def _check_columns(indexes: Sequence[RolloutIndex], state: Sequence[Indexed], names: Sequence[str]) -> None:
    """Refuse a column that no run has, once all is read."""
    if all(each.done for each in state):
        there = {name for index in indexes for name in index.columns}
        for name in names:
            if name not in PLAIN and name not in there:
                raise unknown("column", name, [*PLAIN, *there])
