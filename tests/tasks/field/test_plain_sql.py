"""Queries that are answered without a box: the same verdicts as with one, and what is left to boxes."""

from __future__ import annotations

import random

import pytest
from changed_queries import changed_query

import guerdon as gd
from guerdon.sandbox.sandbox_pool import shared_sandbox
from guerdon.tasks.field.plain_sql import NotPlainQuery, plain_answer
from guerdon.tasks.field.sql_tasks import LIMITS

MADE = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 'x'), (3, 'y');"


def boxed(script, query):
    ran = shared_sandbox().sql_now(script, query, LIMITS)
    return ran.value["rows"] if ran.ok else None


def test_rows_are_those_of_a_box():
    agrees(levels=(2, 7), problems=2)


@pytest.mark.slow
def test_rows_are_those_of_a_box_at_every_level():
    agrees(levels=range(1, 9), problems=12)


def agrees(levels, problems):
    draw, seen = random.Random(0), 0
    for level in levels:
        family = gd.tasks.text_to_sql(level=level)
        for index in range(problems):
            problem = family.get("train", index)
            queries = [problem.answer, *(query for _, query in problem.meta["wrong"])]
            for query in [*queries, *(changed_query(query, draw) for query in queries)]:
                assert plain_answer(problem.meta["databases"][0], query) == boxed(problem.meta["databases"][0], query)
                seen += 1
    assert seen >= 8 * len(levels) * problems


@pytest.mark.parametrize(
    "query",
    [
        "no query at all",
        "SELECT 'never closed FROM t",
        "SELECT (a FROM t",
        "SELECT a FROM t; DROP TABLE t",
        "SELECT nothing(a) FROM t",
        "(SELECT a FROM t)",
        "SELECT a FROM u",
        "SELECT\x00a FROM t",
    ],
)
def test_what_is_no_query_needs_no_box(query):
    assert plain_answer(MADE, query) is None and boxed(MADE, query) is None
    assert plain_answer(MADE, "SELECT COUNT(*) FROM t") == [[2]]


@pytest.mark.parametrize(
    "query",
    [
        "DELETE FROM t",
        "PRAGMA table_info(t)",
        "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r",
        "SELECT load_extension('x')",
        "SELECT randomblob(1000000000)",
        "SELECT a FROM t WHERE a = '" + "x" * 3000 + "'",
        f"SELECT COUNT(*) FROM {', '.join(['t'] * 40)}",
    ],
)
def test_what_wants_more_is_left_to_boxes(query):
    with pytest.raises(NotPlainQuery):
        plain_answer(MADE, query)
    assert plain_answer(MADE, "SELECT COUNT(*) FROM t") == [[2]], "and nothing came of it"


def test_a_task_may_be_checked_so():
    plain, boxes = (gd.tasks.text_to_sql(level=5, checker=checker) for checker in ("plain", "sandbox"))
    problem = plain.get("test", 0)
    assert problem == boxes.get("test", 0)
    said = [problem.answer, *(query for _, query in problem.meta["wrong"]), "VALUES (1)", ""]
    assert [plain.check(problem, text) for text in said] == [boxes.check(problem, text) for text in said]
    assert plain.check(problem, problem.answer) == 1.0
