"""Text to SQL: the task's promises, answers compared, hostile queries, and partial credit by hand."""

from __future__ import annotations

import asyncio
import random

import pytest

import guerdon as gd
from guerdon.tasks.field.sql_parts import parts_of_query, share_of_parts
from guerdon.tasks.field.sql_results import query_of, rows_of_query, same_rows

LEVELS = range(1, 9)


def test_it_keeps_its_promises():
    promises(7, 1)


@pytest.mark.slow
@pytest.mark.parametrize("level", LEVELS)
def test_every_level_keeps_its_promises(level):
    promises(level, 25)


def promises(level, problems):
    family = gd.tasks.text_to_sql(level=level)
    gd.check_task(family, problems=problems)
    for index in range(problems):
        problem = family.get("train", index)
        misses = family.near_misses(problem, random.Random(0))
        assert len({miss.kind for miss in misses}) >= 2
        assert not any(family.check(problem, miss.text) for miss in misses)


def test_problems_of_train_and_test_ask_other_things():
    for level in (1, 8):
        family = gd.tasks.text_to_sql(level=level)
        asked = {split: {family.get(split, i).prompt for i in range(4)} for split in ("train", "test")}
        assert not asked["train"] & asked["test"]


@pytest.mark.parametrize("level", LEVELS)
def test_text_alone_is_of_the_same_split_and_asks_for_the_query_that_is_with_it(level):
    family, draw = gd.tasks.text_to_sql(level=level), random.Random(0)
    written = {split: [family.asked(split, draw) for _ in range(40)] for split in ("train", "test")}
    prompts = {split: {prompt for _, _, prompt in each} for split, each in written.items()}
    assert not prompts["train"] & prompts["test"]
    for world, question, prompt in written["train"]:
        made = "".join(line for line in prompt.splitlines() if not line.startswith("--"))
        assert question.words in prompt and all(table.name in made for table in world)
        rows_of_query(made, question.query)  # the query fits the schema that the prompt shows


def test_right_in_other_words_is_right():
    family = gd.tasks.text_to_sql(level=1)
    problem = family.get("train", 0)
    where = problem.answer.partition(" WHERE ")
    assert family.check(problem, f"```sql\n{where[0]} AS t WHERE NOT ({where[2]});\n```") == 0.0
    assert family.check(problem, f"<answer>{where[0]} AS t WHERE ({where[2]}) IS TRUE ORDER BY 1 DESC</answer>") == 1.0


@pytest.mark.parametrize(
    ("given", "right", "ordered", "same"),
    [
        ([[1], [2]], [[2], [1]], False, True),
        ([[1], [2]], [[2], [1]], True, False),
        ([["a"], ["a"]], [["a"]], False, False),
        ([[0.1 + 0.2, None]], [[0.3, None]], True, True),
        ([[1]], [["1"]], False, False),
        ([[1, 2]], [[2, 1]], False, False),
        ([[2.0, "b"], [1, "a"]], [[1.0, "a"], [2, "b"]], False, True),
        ([], [[1]], False, False),
    ],
)
def test_rows_are_compared(given, right, ordered, same):
    assert same_rows(given, right, ordered) is same


@pytest.mark.parametrize("costly", [False, pytest.param(True, marks=pytest.mark.slow)], ids=["refused", "without end"])
def test_hostile_queries_are_wrong_and_typed(costly):
    made, right = "CREATE TABLE t (a); INSERT INTO t VALUES (1), (2), (3);", "SELECT a FROM t"
    endless = "WITH RECURSIVE r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r"
    costs = {
        endless: "cpu",
        "SELECT zeroblob(1000000000)": "memory",
        f"SELECT COUNT(*) FROM {', '.join(['t'] * 30)}": "cpu",
    }
    refused = {
        "ATTACH 'x.db' AS x": "may not ATTACH",
        "SELECT load_extension('x')": "may not call load_extension()",
        "SELECT 1; DROP TABLE t": "one statement",
        "DELETE FROM t": "0 rows for 3",
    }
    hostile = costs if costly else refused
    samples = [{"completion": query, "meta": {"databases": [made], "query": right}} for query in hostile]
    scores = gd.score_samples(gd.sql_answer(parts=0.0), samples)
    assert scores.whole == [0.0] * len(hostile)
    for why, detail in zip(hostile.values(), scores.details, strict=True):
        assert why in str(detail)


def test_parts_of_a_query_by_hand():
    pytest.importorskip("sqlglot")
    right = "SELECT city, COUNT(*) FROM t WHERE age > 3 GROUP BY city"
    assert share_of_parts("select city, count(*) from T as x where x.age > 3 group by x.city", right) == 1.0, (
        "in other words"
    )
    # tables 1, columns {city, city, age}, conditions 0, aggregates 1, grouping 1
    assert share_of_parts(right.replace("> 3", "> 4"), right) == pytest.approx(4 / 5)
    # no grouping: tables 1, columns F1 of {city, age} and {city, city, age} = 4/5, conditions 1, aggregates 1, grouping 0
    assert share_of_parts(right.partition(" GROUP")[0], right) == pytest.approx((1 + 0.8 + 1 + 1 + 0) / 5)
    assert share_of_parts("no query", right) == share_of_parts("DROP TABLE t", right) == 0.0
    assert sum(parts_of_query("SELECT a FROM t WHERE a > 1 AND (b < 2 OR c = 3)")["conditions"].values()) >= 2


def test_a_query_that_answers_right_has_all_of_the_reward():
    made = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4);"
    score = asyncio.run(gd.sql_answer()("SELECT max(a) FROM t", [made], "SELECT a FROM t ORDER BY a DESC LIMIT 1"))
    assert score.value == 1.0 and query_of("SELECT 1 ;") == "SELECT 1"
