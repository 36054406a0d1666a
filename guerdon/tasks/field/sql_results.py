"""Answers of queries, compared: rows in order where that is asked for, else as often as each; numbers as numbers.

Leaves out: who runs queries, the sandbox for those that a model wrote (`sql_tasks.py`), SQLite itself for our own.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from guerdon.tasks.field.program_text import FENCED
from guerdon.text.answers import marked

CLOSE = 1e-6  # relative: averages may be added up in another order


def query_of(completion: str) -> str:
    """The query in a completion: its last fenced block, else what stands in `<answer>` tags, else all of it.

    >>> query_of("So:" + chr(10) + "```sql" + chr(10) + "SELECT 1;" + chr(10) + "```"), query_of(" SELECT 2 ; ")
    ('SELECT 1', 'SELECT 2')
    """
    blocks = FENCED.findall(completion)
    text = blocks[-1] if blocks else marked(completion, "<answer>") or completion
    return str(text).strip().rstrip(";").strip()


def rows_of_query(script: str, query: str) -> list[list[Any]]:
    """The rows that a query of ours has. Not for untrusted queries."""
    with opened_database(script) as database:
        return rows_from(database, query)


@contextmanager
def opened_database(script: str) -> Iterator[sqlite3.Connection]:
    """The database that a script of ours makes, for several queries of ours."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(script)
        yield database
    finally:
        database.close()


def rows_from(database: sqlite3.Connection, query: str) -> list[list[Any]]:
    return [list(row) for row in database.execute(query)]


def same_rows(given: Sequence[Sequence[Any]], right: Sequence[Sequence[Any]], ordered: bool) -> bool:
    """Whether two answers are the same: columns by place, rows in order or as often as each.

    >>> same_rows([[1, "a"], [2, "b"]], [[2.0, "b"], [1, "a"]], ordered=False), same_rows([[1], [1]], [[1]], ordered=False)
    (True, False)
    """
    if len(given) != len(right):
        return False
    if not ordered:
        given, right = sorted(given, key=_sorting), sorted(right, key=_sorting)
    return all(_same_row(a, b) for a, b in zip(given, right, strict=True))


def _sorting(row: Sequence[Any]) -> list[tuple[int, float, str]]:
    """Numbers before text, None first; numbers that differ in their last digits stay neighbours."""
    return [
        (0, 0.0, "")
        if value is None
        else (1, round(float(value), 4), "")
        if _is_number(value)
        else (2, 0.0, str(value))
        for value in row
    ]


def _same_row(given: Sequence[Any], right: Sequence[Any]) -> bool:
    return len(given) == len(right) and all(_same_value(a, b) for a, b in zip(given, right, strict=True))


def _same_value(given: Any, right: Any) -> bool:
    if _is_number(given) and _is_number(right):
        return math.isclose(given, right, rel_tol=CLOSE, abs_tol=1e-9)
    return type(given) is type(right) and bool(given == right)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
