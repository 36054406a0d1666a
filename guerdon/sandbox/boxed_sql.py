"""A query that nobody trusts, asked of a database in memory that a script has made.

Runs inside a box. The query can read and change that database and nothing else: it may not attach another, load an
extension, or set what SQLite is set to. Leaves out: other databases than SQLite.
"""

from __future__ import annotations

from typing import Any

MOST_ROWS = 10_000
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


def answer_query(script: str, query: str) -> dict[str, Any]:
    """Columns and rows of the query's answer."""
    import sqlite3  # here, for most boxes do without it

    database = sqlite3.connect(":memory:", isolation_level=None)
    try:
        database.executescript(script)
    except sqlite3.Error as error:
        raise ValueError(f"the script that makes the database failed: {error}") from None
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
