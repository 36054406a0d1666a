"""Queries that are not the one wanted: that write, with other values or columns, with rows twice or too few, with words alone.

The task runs each on databases of its own before it counts as wrong. Leaves out: clauses left out (`reward/more_probes.py`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from guerdon.rewards.check.gold_answers import Posed

TABLE = re.compile(r"\b(?:from|join)\s+(\w+)", re.IGNORECASE)
TEXT = re.compile(r"'[^']*'")
NUMBER = re.compile(r"(?<![\w.'])\d+(?:\.\d+)?(?![\w.'])")
SELECTED = re.compile(r"^\s*select\s+(?:distinct\s+)?(.*?)\s+from\b", re.IGNORECASE | re.DOTALL)
PROBLEMS = 4  # that these are tried on
SIGNS = {"<=": ">", ">=": "<", "<>": "=", "!=": "=", "<": ">=", ">": "<=", "=": "<>"}
OTHERS = {"max": "MIN", "min": "MAX", "sum": "AVG", "avg": "SUM", "count": "SUM", "and": "OR", "or": "AND"}


def query_probes(posed: Posed, others: Sequence[Posed]) -> Iterator[tuple[str, str]]:
    """(kind, completion) for one problem whose answer is a query: the first few, since each is run."""
    if not any(posed is each for each in others[:PROBLEMS]):
        return
    core, put = posed.own.core.strip().rstrip(";"), posed.gold.put
    tables = list(dict.fromkeys(TABLE.findall(core) + re.findall(r"(?i)create table (\w+)", posed.task.prompt)))
    for kind, made in (
        ("query that writes", _writing(core, tables)),
        ("other values", _other_values(core)),
        ("other rows", _other_rows(core)),
        ("other columns", _other_columns(core, tables)),
        ("query of words", _words(core, tables, posed.task.prompt)),
    ):
        yield from ((kind, put(text)) for text in dict.fromkeys(made) if text.strip() != core)


def _writing(core: str, tables: list[str]) -> Iterator[str]:
    """Changes the tables, after which the right query may say what a wrong one says; alone, and before a query."""
    every = "; ".join(f"DELETE FROM {table}" for table in tables)
    for table in tables[:3]:
        yield f"DELETE FROM {table}"
        yield f"DROP TABLE {table}"
        yield f"DELETE FROM {table}; SELECT * FROM {table}"
        yield f"DELETE FROM {table} WHERE rowid > 1"
    yield every
    empty = (
        "SELECT 1 WHERE 0",
        "SELECT 0",
        "SELECT NULL",
        core,
        *(f"SELECT COUNT(*) FROM {table}" for table in tables[:1]),
    )
    yield from (f"{every}; {query}" for query in empty)  # of tables without rows every query says the same
    yield f"CREATE TEMP TABLE made AS {core}; SELECT 1"


def _other_values(core: str) -> Iterator[str]:
    """Texts, numbers, signs and words of the query changed."""
    yield TEXT.sub("'value'", core)
    yield TEXT.sub("''", core)
    yield NUMBER.sub(lambda match: str(round(float(match[0])) + 7), core)
    yield NUMBER.sub("0", core)
    yield NUMBER.sub("1000000", core)
    for sign, other in SIGNS.items():
        if re.search(rf"(?<![<>=!]){re.escape(sign)}(?![=>])", core):
            yield re.sub(rf"(?<![<>=!]){re.escape(sign)}(?![=>])", other, core, count=1)
            break
    for word, instead in OTHERS.items():
        changed = re.sub(rf"\b{word}\b", instead, core, count=1, flags=re.IGNORECASE)
        if changed != core:
            yield changed


def _other_rows(core: str) -> Iterator[str]:
    """The right rows, but some of them, twice, or others beside them."""
    inner = f"({core})"
    yield f"SELECT * FROM {inner} LIMIT 1"
    yield f"SELECT * FROM {inner} LIMIT 2"
    yield f"SELECT * FROM {inner} LIMIT -1 OFFSET 1"
    yield f"SELECT * FROM {inner} UNION ALL SELECT * FROM {inner}"
    yield f"SELECT DISTINCT * FROM {inner}"
    yield f"SELECT * FROM {inner} ORDER BY 1, 2"
    selected = SELECTED.match(core)
    count = len(_split(selected[1])) if selected else 1
    nothing, zeros, many = (", ".join([each] * count) for each in ("NULL", "0", "'x'"))
    for row in (nothing, zeros, many):
        yield f"SELECT * FROM {inner} UNION ALL SELECT {row}"
    yield f"SELECT {nothing}"
    yield f"SELECT {zeros}"
    yield f"SELECT {zeros} WHERE 0"
    yield f"SELECT {nothing} FROM {inner}"
    yield f"SELECT {zeros} FROM {inner}"
    names = [f"c{n}" for n in range(count)]
    for changed in (
        "-{}",
        "{} * 1.04",
        "ROUND({} / 10.0) * 10",
    ):  # numbers that a loose comparison takes for the right ones
        values = ", ".join(f"CASE WHEN typeof({c}) = 'text' THEN {c} ELSE {changed.format(c)} END" for c in names)
        yield f"WITH r({', '.join(names)}) AS {inner} SELECT {values} FROM r"


def _other_columns(core: str, tables: list[str]) -> Iterator[str]:
    """A column more, less, or in another place."""
    yield f"SELECT *, 1 FROM ({core})"
    yield f"SELECT 1, * FROM ({core})"
    yield f"SELECT *, * FROM ({core})"
    selected = SELECTED.match(core)
    columns = _split(selected[1]) if selected else []
    if selected and len(columns) > 1:
        for other in (columns[:1], columns[::-1], columns[-1:], [columns[0]] * len(columns)):
            yield core.replace(selected[1], ", ".join(other), 1)
    if selected:
        rest = core[selected.end(1) :]
        yield f"SELECT *{rest}"
        yield f"SELECT 1{rest}"
        yield f"SELECT NULL{rest}"
        yield f"SELECT COUNT(*){rest}"
    yield f"SELECT * FROM {', '.join(tables)}" if tables else ""


def _words(core: str, tables: list[str], prompt: str) -> Iterator[str]:
    """The words of the right query, in a remark, in a text, in no order, or in a query that cannot run."""
    words = core.split()
    columns = re.findall(r"\w+", " ".join(re.findall(r"\((.*?)\);", prompt)))
    usual = "select from where group by order limit count min max avg sum join on and or having distinct desc asc"
    yield f"SELECT 1 -- {usual} {' '.join(tables)} {' '.join(dict.fromkeys(columns))}"
    yield f"SELECT 1 /* {core} */"
    text = core.replace("'", "''")
    yield f"SELECT '{text}'"
    yield " ".join(sorted(words))
    yield " ".join(reversed(words))
    yield "SELECT"
    yield f"SELECT no_such_column FROM {tables[0]}" if tables else "SELECT no_such_column"
    yield f"EXPLAIN {core}"
    yield f"SELECT * FROM no_such_table -- {core}"


def _split(columns: str) -> list[str]:
    """A list of columns at its commas, those inside brackets left alone."""
    parts, depth = [""], 0
    for c in columns:
        depth += (c == "(") - (c == ")")
        if c == "," and not depth:
            parts.append("")
        else:
            parts[-1] += c
    return [part.strip() for part in parts]
