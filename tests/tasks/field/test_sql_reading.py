"""Queries read word by word: by hand, and as sqlglot reads them."""

from __future__ import annotations

import random

import pytest
from changed_queries import changed_query

import guerdon as gd
from guerdon.tasks.field.plain_sql import plain_answer
from guerdon.tasks.field.sql_parts import parts_of_query
from guerdon.tasks.field.sql_reading import clauses_of, overlap, read_query, schema_names, sql_tokens

WRITTEN = {
    "SELECT a.x, COUNT(*) n FROM t AS a WHERE a.y > 3 GROUP BY a.x ORDER BY n DESC": ("t", "n x y"),
    "SELECT * FROM a, b WHERE a.id = b.id": ("a b", "id"),
    "SELECT c.* FROM c": ("c", "*"),
    "WITH r(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM r) SELECT COUNT(*) FROM r": ("r", "n"),
    "WITH x AS (SELECT a FROM t), y AS (SELECT b FROM u) SELECT a, b FROM x JOIN y ON x.a = y.b": ("t u x y", "a b"),
    "SELECT CASE WHEN a > 1 THEN b ELSE c END d FROM t": ("t", "a b c"),
    "SELECT CAST(a AS INTEGER) FROM t": ("t", "a"),
    "SELECT x FROM (SELECT y AS x FROM t) s": ("t", "x y"),
    "SELECT a FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.i = t.i)": ("t u", "a i"),
    "SELECT a FROM t JOIN u USING (id)": ("t u", "a"),
    'SELECT "a b", `c`, [d] FROM t': ("t", "a b|c|d"),
    "select max(A), b from T left join u on t.a=u.b where not c is null order by b collate nocase": ("t u", "a b c"),
    "SELECT a FROM t UNION SELECT b FROM u -- both": ("t u", "a b"),
    "SELECT DISTINCT a FROM t WHERE b BETWEEN 1 AND .5 OR c LIKE 'd''e%' /* f */": ("t", "a b c"),
    "SELECT AVG(d.x) OVER (PARTITION BY d.y ORDER BY d.z) FROM d": ("d", "x y z"),
}


def names(text):
    return set(text.split("|" if "|" in text else " "))


@pytest.mark.parametrize("query", WRITTEN)
def test_tables_and_columns_by_hand(query):
    assert schema_names(query) == tuple(map(names, WRITTEN[query]))


@pytest.mark.parametrize("query", WRITTEN)
def test_tables_and_columns_are_those_that_sqlglot_finds(query):
    pytest.importorskip("sqlglot")
    parts = parts_of_query(query)
    assert schema_names(query) == (set(parts["tables"]), set(parts["columns"]))


@pytest.mark.slow
def test_of_queries_that_run_sqlglot_finds_the_same():
    """Those of the task, right and wrong, and what is left of them with a word changed."""
    pytest.importorskip("sqlglot")
    draw, ran = random.Random(0), 0
    for level in range(1, 9):
        family = gd.tasks.text_to_sql(level=level)
        for index in range(8):
            problem = family.get("train", index)
            queries = [problem.answer, *(query for _, query in problem.meta["wrong"])]
            for query in [*queries, *(changed_query(query, draw) for query in queries)]:
                if plain_answer(problem.meta["databases"][0], query) is not None:
                    parts = parts_of_query(query)
                    assert schema_names(query) == (set(parts["tables"]), set(parts["columns"])), query
                    ran += 1
    assert ran > 300


@pytest.mark.parametrize("text", ["", "DROP TABLE t", "SELECT (a FROM t", "SELECT a) FROM t", "SELECT 'a FROM t", "no"])
def test_what_is_no_query(text):
    assert read_query(text) is None and schema_names(text) is None and clauses_of(text) is None


def test_tokens_keep_texts_as_they_are():
    assert sql_tokens("SELECT A FROM t WHERE b<>'It''s A' AND c>=1.5") == [
        *("select", "a", "from", "t", "where", "b", "<>", "'It''s A'", "and", "c", ">=", "1.5")
    ]
    assert sql_tokens("SELECT 'a") is None and sql_tokens("") == []


def test_clauses_by_hand():
    query = "SELECT p.name, COUNT(*) FROM a p JOIN b c ON c.k = p.id WHERE c.x > 1 AND c.y IN (SELECT z FROM d WHERE w OR v)"
    assert clauses_of(f"{query} GROUP BY p.id HAVING COUNT(*) >= 2 ORDER BY COUNT(*) DESC, p.name LIMIT 3") == {
        "select": {"name", "count ( * )"},
        "from": {"a join b on k = id"},
        "where": {"x > 1", "y in ( select z from d where w or v )"},
        "group": {"id"},
        "having": {"count ( * ) >= 2"},
        "order": {"count ( * ) desc", "name"},
        "limit": {"3"},
    }


def test_overlap_by_hand():
    assert overlap({"a", "b", "c"}, {"b", "c", "d"}) == 0.5 and overlap(set(), set()) == 1.0
    assert overlap({"a"}, set()) == 0.0
