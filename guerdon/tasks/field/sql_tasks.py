"""Text to SQL on SQLite: generated databases and questions, judged by what a query answers.

Queries that a model wrote run in the sandbox. A query is right if it answers as ours does on two databases of one schema, so
that few wrong ones are right by chance (arXiv:2010.02840).
Leaves out: questions (`sql_questions.py`), databases (`sql_databases.py`), comparing answers (`sql_results.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import Any, Literal

from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.ran_program import Ran
from guerdon.sandbox.sandbox_pool import shared_sandbox
from guerdon.sandbox.shared_questions import shared_questions
from guerdon.tasks.family import HELD_OUT, NearMiss
from guerdon.tasks.field.plain_sql import NotPlainQuery, plain_answer
from guerdon.tasks.field.program_tests import judged
from guerdon.tasks.field.sql_databases import WORLDS, filled, schema
from guerdon.tasks.field.sql_parts import share_of_parts
from guerdon.tasks.field.sql_questions import KINDS, SqlQuestion, World
from guerdon.tasks.field.sql_results import opened_database, query_of, rows_from, rows_of_query, same_rows

LIMITS = Limits(cpu=2.0, wall=20.0)
NAME = "text_to_sql"
Checker = Literal["sandbox", "plain"]
ASKED = "{schema}\n-- {question}\n-- One SQLite query that answers this:\n"


@part
class text_to_sql:
    """Questions in plain words about a small database; the answer is one SQLite query that answers them.

    A level each: rows by a condition, a count, an aggregate, the first few in order, a join, groups, groups with a condition,
    and nested queries. What counts is what the query answers, on two databases: duplicates count, order only where it is
    asked for. The query is the last fenced block of a completion, else all of it, and runs in the sandbox; with
    `checker="plain"` plain questions are answered in this process, some hundred times as fast, and only others go there.

    Args:
        checker: where queries run.

    >>> import guerdon as gd
    >>> family = gd.tasks.text_to_sql(level=1)
    >>> problem = family.get("train", 0)
    >>> print(problem.prompt.splitlines()[2])
    -- What is the name of every airport whose country is Austria?
    >>> family.check(problem, f"```sql\\n{problem.answer};\\n```"), family.check(problem, "SELECT name FROM airports")
    (1.0, 0.0)
    """

    level: int = knob(default=1, ge=1, le=8)
    checker: Checker = knob(default="sandbox", absent="sandbox")

    @property
    def name(self) -> str:
        return NAME

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. Its schema and question decide its split; its rows do not."""
        draw = random.Random(derive(NAME, self.level, split, index))
        while True:
            world, question, prompt = self.asked(split, draw)
            databases = [filled(world, draw) for _ in range(2)]
            if is_sound(question, databases):
                break
        meta = {
            "databases": databases,
            "query": question.query,
            "ordered": question.ordered,
            "wrong": [list(each) for each in question.wrong],
        }
        key = f"{index}-{derive(prompt, *databases) % (1 << 32):08x}"
        return Task(key, prompt, question.query, NAME, self.level, meta)

    def asked(self, split: Split, draw: random.Random) -> tuple[World, SqlQuestion, str]:
        """A schema, a question about it and how it is asked. Without databases, so that text can be written fast; and without
        checking whether one distinguishes right queries from wrong ones."""
        while True:
            world = draw.choice(WORLDS)
            question = KINDS[self.level - 1](world, draw)
            prompt = ASKED.format(schema=schema(world), question=question.words)
            if (derive(NAME, prompt) % HELD_OUT == 0) == (split == "test"):
                return world, question, prompt

    def check(self, task: Task, completion: str) -> float | None:
        query, meta = query_of(completion), task.meta
        return float(answers_alike(query, meta["databases"], task.answer, meta["ordered"], self.checker))

    @property
    def checks_later(self) -> bool:
        return self.checker == "sandbox"

    async def check_later(self, task: Task, completion: str) -> float | None:
        if self.checker == "plain":
            return self.check(task, completion)
        meta = task.meta
        return float(await answers_alike_later(query_of(completion), meta["databases"], task.answer, meta["ordered"]))

    def solution(self, task: Task) -> str:
        return task.answer

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Queries with one typical error each, that answer otherwise on one of the databases."""
        misses = [NearMiss(query, kind, 0) for kind, query in task.meta["wrong"] if _differs(query, task)]
        draw.shuffle(misses)
        return misses


def _differs(query: str, task: Task) -> bool:
    ordered, right = task.meta["ordered"], task.answer
    return any(
        not same_rows(rows_of_query(db, query), rows_of_query(db, right), ordered) for db in task.meta["databases"]
    )


def is_sound(question: SqlQuestion, databases: Sequence[str]) -> bool:
    """Whether a question distinguishes right queries from wrong ones: it has an answer, one order where it asks for one, and
    two kinds of error show."""
    with ExitStack() as stack:
        opened = [stack.enter_context(opened_database(database)) for database in databases]
        answers = [rows_from(database, question.query) for database in opened]
        if not all(answers) or any(row[0] is None or row[-1] is None for rows in answers for row in rows):
            return False
        if question.ordered:
            limit = question.query.partition(" LIMIT ")
            for way in (", 1 ASC", ", 1 DESC"):
                again = limit[0] + way + limit[1] + limit[2]
                if [rows_from(database, again) for database in opened] != answers:
                    return False
        shown = sum(
            any(
                not same_rows(rows_from(database, query), rows, question.ordered)
                for database, rows in zip(opened, answers, strict=True)
            )
            for _, query in question.wrong
        )
        return shown >= 2


def answers_alike(
    query: str, databases: Sequence[str], right: str, ordered: bool, checker: Checker = "sandbox"
) -> bool:
    """Whether an untrusted query answers as ours does on every database."""
    if not query:
        return False
    for database in databases:
        rows = rows_of_strangers(database, query, checker)
        if not _is_right(rows, database, right, ordered, checker):
            return False
    return True


async def answers_alike_later(query: str, databases: Sequence[str], right: str, ordered: bool) -> bool:
    """The same, for a caller that can await: queries about one problem are asked in one box."""
    if not query:
        return False
    asked = shared_questions().query(databases, query, LIMITS)
    for number, database in enumerate(databases):
        rows = _rows(await asked.on(number))
        if not _is_right(rows, database, right, ordered):
            return False
    return True


def _is_right(
    rows: list[list[Any]] | None, database: str, right: str, ordered: bool, checker: Checker = "sandbox"
) -> bool:
    """Whether rows are those that the right query has on a database."""
    if rows is None:
        return False
    plain = checker == "plain"  # where the database is there already
    wanted = rows_of_strangers(database, right, checker) if plain else right_rows(database, right)
    return wanted is not None and same_rows(rows, wanted, ordered)


@lru_cache(maxsize=256)  # the tries at a problem are compared with the same rows
def right_rows(database: str, right: str) -> list[list[Any]]:
    """The rows of our own query."""
    return rows_of_query(database, right)


def rows_of_strangers(database: str, query: str, checker: Checker = "sandbox") -> list[list[Any]] | None:
    """The rows of an untrusted query; None where it does not run."""
    if checker == "plain":
        try:
            return plain_answer(database, query)
        except NotPlainQuery:
            pass
    return _rows(shared_sandbox().sql_now(database, query, LIMITS))


def _rows(ran: Ran) -> list[list[Any]] | None:
    return list(ran.value["rows"]) if judged(ran) else None


async def runs_at_all(query: str, database: str, checker: Checker = "sandbox") -> bool:
    """Whether an untrusted query runs without an error, whatever it answers."""
    if checker == "plain":
        try:
            return plain_answer(database, query) is not None
        except NotPlainQuery:
            pass
    return bool(query) and judged(await shared_questions().sql(database, query, LIMITS))


async def query_score(query: str, databases: Sequence[str], right: str, ordered: bool, parts: float) -> Score:
    """1 for a query that answers as ours does, else `parts` times the share of its parts that are right; and why."""
    why = "no query"
    asked = shared_questions().query(databases, query, LIMITS)
    for number, database in enumerate(databases if query else (), 1):
        ran = await asked.on(number - 1)
        if not judged(ran):
            why = f"{ran.cause}: {ran.error}"
            break
        wanted = right_rows(database, right)
        if not same_rows(ran.value["rows"], wanted, ordered):
            why = (
                f"{len(ran.value['rows'])} rows for {len(wanted)}"
                if len(ran.value["rows"]) != len(wanted)
                else "other rows"
            )
            why += f" on database {number}"
            break
    else:
        if query:
            return Score(1.0, why="the right rows")
    share = share_of_parts(query, right) if parts and query else 0.0
    return Score(parts * share, why=why, parts={"parts": share} if parts else {})
