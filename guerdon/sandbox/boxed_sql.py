"""A query that nobody trusts, asked of a database in memory that a script has made.

Runs inside a box. The query can read and change that database and nothing else: it may not attach another, load an
extension, or set what SQLite is set to. Several queries may share a box: each has a connection and a database of its own,
and what ends in any way that another could have had a part in (time, memory, size) counts for nothing, and is asked alone.
Leaves out: other databases than SQLite.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from guerdon.sandbox.plain_data import plain_form

MOST_ROWS = 10_000
STEPS = 1_000  # of SQLite's machine, after which it asks whether a query may go on
SHARED_CPU = 0.1  # seconds of processor that a query may take in a box that it shares
SHARED_PART = 0.25  # of the box's processor time, after which the queries that are left are asked elsewhere
SHARED_BYTES = 16 << 10  # of an answer
_PLAIN_CODES = {
    1,
    19,
    20,
    25,
}  # SQLite's: an error in the query, a constraint, a mismatch, a range. None is of memory or time
_PRAGMA, _ATTACH, _DETACH, _FUNCTION = 19, 24, 25, 31  # SQLite's own numbers
_READING_PRAGMAS = {
    "table_info",
    "table_xinfo",
    "table_list",
    "index_list",
    "index_info",
    "foreign_key_list",
    "database_list",
}
_REFUSED_FUNCTIONS = {"load_extension", "readfile", "writefile", "edit", "fts3_tokenizer"}


class RefusedQuery(Exception):
    """A query that wants what no query may."""


class AskAlone(Exception):
    """A query that is to be asked in a box of its own."""


def answer_query(script: str, query: str) -> dict[str, Any]:
    """Columns and rows of the query's answer."""
    return _answered(_made(script), query)


def answer_queries(
    scripts: list[str], queries: list[str], cpu: float, in_words: Callable[[BaseException], tuple[str, str, str]]
) -> list[list[Any]]:
    """For each query, by script as far as it answers: columns and rows, or how it raised, told by `in_words`. Its list ends
    with that, or before what is to be asked alone. `cpu` is the processor time of the whole box."""
    until = time.process_time() + SHARED_PART * cpu
    answers: list[list[Any]] = [[] for _ in queries]
    for query, told in zip(queries, answers, strict=True):
        for script in scripts:
            if time.process_time() > until:
                return answers
            try:
                told.append(_answered_beside_others(script, query, in_words))
            except AskAlone:
                break
            if not isinstance(told[-1], dict):
                break
    return answers


def _answered_beside_others(
    script: str, query: str, in_words: Callable[[BaseException], tuple[str, str, str]]
) -> dict[str, Any] | tuple[str, str, str]:
    """One of several in this process. AskAlone where it came to an end that has to do with more than itself."""
    import sqlite3

    database: sqlite3.Connection | None = None
    try:
        database = _made(script)
        until = time.thread_time() + SHARED_CPU
        database.set_progress_handler(lambda: int(time.thread_time() > until), STEPS)
        try:
            answer = _answered(database, query)
        except (sqlite3.Error, sqlite3.Warning, ValueError, RefusedQuery) as error:
            code = getattr(error, "sqlite_errorcode", None)
            if time.thread_time() > until or (code is not None and code & 0xFF not in _PLAIN_CODES):
                raise AskAlone from None
            return in_words(error)
        if time.thread_time() > until or len(json.dumps(plain_form(answer))) > SHARED_BYTES:
            raise AskAlone
        return answer
    except (MemoryError, RecursionError, OSError, sqlite3.Error, ValueError):  # of making the database, too
        raise AskAlone from None
    finally:
        if database is not None:
            database.close()


def _made(script: str) -> Any:
    import sqlite3  # here, for most boxes do without it

    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.executescript(script)
    except sqlite3.Error as error:
        raise ValueError(f"the script that makes the database failed: {error}") from None
    return database


def _answered(database: Any, query: str) -> dict[str, Any]:
    import sqlite3

    refused: list[str] = []
    database.set_authorizer(lambda action, first, second, *_: _refused(action, first or "", second or "", refused))
    try:
        cursor = database.execute(query)
        rows = cursor.fetchmany(MOST_ROWS + 1)
    except sqlite3.DatabaseError:
        if refused:
            raise RefusedQuery(f"the query may not {refused[0]}") from None
        raise
    if len(rows) > MOST_ROWS:
        raise ValueError(f"more than {MOST_ROWS:,} rows")
    return {"columns": [column[0] for column in cursor.description or ()], "rows": [list(row) for row in rows]}


def _refused(action: int, first: str, second: str, refused: list[str]) -> int:
    """Whether SQLite is to refuse a step of a query; notes it in words."""
    if action in (_ATTACH, _DETACH):  # VACUUM attaches a database of its own
        refused.append("ATTACH, DETACH or VACUUM")
    elif action == _PRAGMA and first.lower() not in _READING_PRAGMAS:
        refused.append(f"use PRAGMA {first}")
    elif action == _FUNCTION and second.lower() in _REFUSED_FUNCTIONS:
        refused.append(f"call {second}()")
    return 1 if refused else 0
