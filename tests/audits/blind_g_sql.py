"""Rewards for queries, written as people write them who train models on text to SQL: four with a mistake, four without."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from typing import Any

import guerdon as gd
from guerdon.tasks.field.sql_reading import clauses_of, overlap
from guerdon.tasks.field.sql_results import query_of, rows_of_query, same_rows
from guerdon.tasks.field.sql_tasks import rows_of_strangers

MOST = 5_000  # rows of an answer
STEPS = 2_000_000  # of SQLite's machine


def opened(script: str) -> sqlite3.Connection:
    """A database in memory, which stops a query that takes too long."""
    database = sqlite3.connect(":memory:")
    database.executescript(script)
    database.set_progress_handler(lambda: 1, STEPS)
    return database


def rows_or_none(database: sqlite3.Connection, query: str) -> list[tuple[Any, ...]] | None:
    """What a query gives; None where it does not run."""
    try:
        return database.execute(query).fetchmany(MOST)
    except (sqlite3.Error, sqlite3.Warning, ValueError):
        return None


def block_or_all(completion: str) -> str:
    """The last fenced block, else everything."""
    blocks = re.findall(r"```(?:sql)?\s*\n(.*?)```", completion, re.DOTALL | re.IGNORECASE)
    return (blocks[-1] if blocks else completion).strip().rstrip(";")


# --- with a mistake -------------------------------------------------------------------------------------------------


@gd.reward
def wanted_rows_found(completion: str, answer: str, databases: list[str]) -> float:
    """How many of the reference's rows a query finds, over all databases. Row by row, so that a query which is nearly right has
    something to climb."""
    shares = []
    for script in databases:
        database = opened(script)
        wanted = database.execute(answer).fetchall()
        given = rows_or_none(database, block_or_all(completion)) or []
        shares.append(sum(row in given for row in wanted) / len(wanted))
        database.close()
    return sum(shares) / len(shares)


def without_values(query: str) -> dict[str, set[str]] | None:
    """The clauses of a query with every literal as `value`."""
    clauses = clauses_of(query)
    if clauses is None:
        return None
    return {
        clause: {re.sub(r"'(?:[^']|'')*'|\b\d+(?:\.\d+)?\b", "value", item) for item in items}
        for clause, items in clauses.items()
    }


@gd.reward
def exact_set_match(completion: str, answer: str) -> float:
    """Spider's exact set match: the same items in each clause, in any order. Values are masked, as the official script does:
    'Austria' and "austria" should not decide."""
    mine, theirs = without_values(block_or_all(completion)), without_values(answer)
    if not mine or not theirs:
        return 0.0
    if mine == theirs:
        return 1.0
    return 0.5 * sum(overlap(mine.get(each, set()), theirs[each]) for each in theirs) / len(theirs)


@gd.reward
def same_connection(completion: str, answer: str, databases: list[str]) -> float:
    """Runs the model's query and then ours and compares the rows, as often as each, on every database. One connection serves
    both: filling the tables is what takes the time."""
    for script in databases:
        database = opened(script)
        given = rows_or_none(database, block_or_all(completion))
        wanted = database.execute(answer).fetchall()
        database.close()
        if given is None or Counter(given) != Counter(wanted):
            return 0.0
    return 1.0


def alike(given: tuple[Any, ...], wanted: tuple[Any, ...]) -> bool:
    """Two rows, numbers to four digits."""
    rounded = [[round(value, 4) if isinstance(value, float) else value for value in row] for row in (given, wanted)]
    return rounded[0] == rounded[1]


@gd.reward
def rows_side_by_side(completion: str, answer: str, databases: list[str]) -> float:
    """Sorts both answers and lays them side by side; averages may differ in their last digits, and so rows are compared with a
    rounding. Nothing for a query that does not run."""
    for script in databases:
        database = opened(script)
        given = rows_or_none(database, block_or_all(completion))
        wanted = sorted(database.execute(answer).fetchall(), key=str)
        database.close()
        if given is None:
            return 0.0
        if not all(alike(mine, theirs) for mine, theirs in zip(sorted(given, key=str), wanted, strict=False)):
            return 0.1
    return 1.0


# --- without --------------------------------------------------------------------------------------------------------


def f1_of_rows(given: list[list[Any]], wanted: list[list[Any]]) -> float:
    """F1 of rows, each as often as it is there."""
    mine, theirs = Counter(map(repr, given)), Counter(map(repr, wanted))
    both = sum((mine & theirs).values())
    return 2 * both / (len(given) + len(wanted)) if given or wanted else 0.0


@gd.reward(isolate=False)
def right_rows_or_f1(completion: str, answer: str, databases: list[str], ordered: bool) -> gd.Score:
    """1 for the right rows, in order where it was asked for, on both databases; else 0.4 times the worse F1 of rows."""
    query, worst, right = query_of(completion), 1.0, True
    for script in databases:
        given = (rows_of_strangers(script, query, "plain") if query else None) or []
        wanted = rows_of_query(script, answer)
        right = right and same_rows(given, wanted, ordered)
        worst = min(worst, f1_of_rows(given, wanted))
    return gd.Score(1.0 if right else 0.4 * worst, why="right" if right else f"F1 {worst:.2f}")


READS = {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION}


def read_alone(script: str, query: str) -> list[tuple[Any, ...]] | None:
    """What a query gives that may read a database of its own and do nothing else."""
    database = opened(script)
    database.set_authorizer(lambda action, *_: sqlite3.SQLITE_OK if action in READS else sqlite3.SQLITE_DENY)
    try:
        return rows_or_none(database, query)
    finally:
        database.close()


@gd.reward
def apart_and_read_only(completion: str, answer: str, databases: list[str]) -> float:
    """A database for the model's query, which it can only read, and another for ours. All rows as often as each, on both; a
    twentieth less for `SELECT *`, which hides what was meant."""
    query = query_of(completion)
    for script in databases:
        given, wanted = read_alone(script, query), read_alone(script, answer)
        if not query or given is None or wanted is None or Counter(given) != Counter(wanted):
            return 0.0
    return 0.95 if re.match(r"select\s+(\w+\.)?\*", query, re.IGNORECASE) else 1.0


def to_six_digits(rows: list[tuple[Any, ...]]) -> Counter[tuple[Any, ...]]:
    """Rows with rounded numbers, as often as each."""
    return Counter(tuple(round(value, 6) if isinstance(value, float) else value for value in row) for row in rows)


@gd.reward
def rows_and_clauses(completion: str, answer: str, databases: list[str]) -> float:
    """Right rows are worth 1, counted and not only found. A query that runs and answers otherwise gets up to a quarter for the
    clauses that it has in common with the reference; one that does not run gets nothing."""
    query = query_of(completion)
    answers = [read_alone(script, query) for script in databases] if query else [None]
    if None in answers:
        return 0.0
    wanted = [read_alone(script, answer) for script in databases]
    if all(to_six_digits(mine) == to_six_digits(theirs) for mine, theirs in zip(answers, wanted, strict=True)):
        return 1.0
    mine, theirs = clauses_of(query) or {}, clauses_of(answer) or {}
    every = set(mine) | set(theirs)
    return 0.25 * sum(overlap(mine.get(each, set()), theirs.get(each, set())) for each in every) / max(1, len(every))


@gd.reward
def one_number(completion: str, answer: str, databases: list[str]) -> float:
    """An aggregate is one value: the query's has to be ours to six digits on every database, and alone."""
    query = query_of(completion)
    for script in databases:
        given, wanted = read_alone(script, query), read_alone(script, answer)
        if not given or not wanted or len(given) != 1 or len(given[0]) != 1:
            return 0.0
        mine, ours = given[0][0], wanted[0][0]
        if not isinstance(mine, int | float) or not math.isclose(mine, ours, rel_tol=1e-6, abs_tol=1e-9):
            return 0.0
    return 1.0


number_links_form = gd.blend(
    right=one_number.weight(0.8), links=gd.rewards.sql_links().weight(0.1), form=gd.rewards.sql_form().weight(0.1)
)  # mostly the number; a little for the right names, and for a query without words around it
