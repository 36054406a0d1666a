"""Queries of a model answered in this process: some hundred times as many a second as boxes do, and where there are no boxes.

SQLite is restricted to reading a database in memory: no other file, only plain functions, a limited number of steps.
That contains accidents. It is not a security boundary: what needs more, or takes long, runs in the sandbox.
Leaves out: comparing answers (`sql_results.py`).
"""

from __future__ import annotations

import sqlite3
import threading
from functools import lru_cache
from typing import Any

from guerdon.tasks.field.sql_reading import sql_tokens

LONGEST = 2_000  # characters of a query
LARGEST = 100_000  # bytes of a value
MOST_ROWS = 10_000  # as in a box
STEPS, MOST_CALLS = 1_000, 1_000  # of SQLite's machine: a million in all, some 10 ms
FUNCTIONS = {
    *("count", "sum", "avg", "min", "max", "total", "abs", "round", "length", "lower", "upper", "coalesce", "ifnull"),
    *("nullif", "substr", "instr", "trim", "ltrim", "rtrim", "sign", "typeof", "iif", "like", "glob"),
}
STATEMENTS = {  # what SQLite knows besides: another beginning is an error, whatever follows
    *("alter", "analyze", "attach", "begin", "commit", "create", "delete", "detach", "drop", "end", "explain"),
    *("insert", "pragma", "reindex", "release", "replace", "rollback", "savepoint", "update", "vacuum", "values"),
    *("with", ";"),
}
_READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}
_ONE_AT_A_TIME = threading.Lock()  # databases are shared, and so is what watches a query


class NotPlainQuery(Exception):
    """A query that is not answered in this process: the sandbox may run it."""


def plain_answer(script: str, query: str) -> list[list[Any]] | None:
    """The rows of a query on the database that a script of ours makes; None where SQLite says that it is none.

    >>> made = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4);"
    >>> plain_answer(made, "SELECT a FROM t WHERE b > 3"), plain_answer(made, "SELECT c FROM t")
    ([[3]], None)
    """
    tokens = sql_tokens(query)
    if tokens is None or (tokens and tokens[0] not in {"select", *STATEMENTS}):
        return None
    if not tokens or tokens[0] != "select" or len(query) > LONGEST:
        raise NotPlainQuery(query[:LONGEST])
    with _ONE_AT_A_TIME:
        database, watch = _database(script)
        watch.begin()
        try:
            rows = database.execute(query).fetchmany(MOST_ROWS + 1)
        except (sqlite3.Error, sqlite3.Warning, ValueError) as error:  # a warning: two statements; a value: no text
            if watch.refused or isinstance(error, sqlite3.DataError):
                raise NotPlainQuery(query) from None
            return None
    return [list(row) for row in rows] if len(rows) <= MOST_ROWS else None


class _Watch:
    """What a query wants and how long it takes."""

    def begin(self) -> None:
        self.left, self.refused = MOST_CALLS, False

    def allowed(self, action: int, first: str | None, second: str | None, *_: Any) -> int:
        plain = action in _READS and (action != sqlite3.SQLITE_FUNCTION or (second or "").lower() in FUNCTIONS)
        self.refused |= not plain
        return sqlite3.SQLITE_OK if plain else sqlite3.SQLITE_DENY

    def goes_on(self) -> int:
        """0: it may. SQLite asks every so many steps."""
        self.left -= 1
        self.refused |= self.left < 0
        return int(self.left < 0)


@lru_cache(maxsize=256)  # the tries at a problem ask the same two databases
def _database(script: str) -> tuple[sqlite3.Connection, _Watch]:
    """A database that can be read and nothing else."""
    database, watch = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False), _Watch()
    database.executescript(script)
    database.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, LARGEST)
    watch.begin()
    database.set_authorizer(watch.allowed)
    database.set_progress_handler(watch.goes_on, STEPS)
    return database, watch
