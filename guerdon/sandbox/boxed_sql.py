"""A query that nobody trusts, asked of a database in memory that a script has made.

Runs inside a box. The query can read and change that database and nothing else: it may not attach another, load an extension, or set what
SQLite is set to. Leaves out: other databases than SQLite.
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


def answer_query(script: str, query: str) -> dict[str, Any]:
    """Columns and rows of the query's answer."""
    import sqlite3  # here, for most boxes do without it

    database = sqlite3.connect(":memory:", isolation_level=None)
    database.executescript(script)
    database.set_authorizer(_authorized)
    try:
        cursor = database.execute(query)
        rows = cursor.fetchmany(MOST_ROWS + 1)
    except sqlite3.DatabaseError as error:
        if "not authorized" in str(error) or "prohibited" in str(error):
            raise PermissionError(f"the query may not do that: {error}") from None
        raise
    if len(rows) > MOST_ROWS:
        raise ValueError(f"more than {MOST_ROWS:,} rows")
    return {"columns": [column[0] for column in cursor.description or ()], "rows": [list(row) for row in rows]}


def _authorized(action: int, first: str | None, second: str | None, database: str | None, trigger: str | None) -> int:
    refused = (
        action in (_ATTACH, _DETACH)
        or (action == _PRAGMA and (first or "").lower() not in _READING_PRAGMAS)
        or (action == _FUNCTION and (second or "").lower() in _REFUSED_FUNCTIONS)
    )
    return 1 if refused else 0
