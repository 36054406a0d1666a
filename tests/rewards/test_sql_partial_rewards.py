"""What queries that are not right yet are worth, by hand."""

from __future__ import annotations

import pytest

import guerdon as gd
from guerdon.rewards import sql_clauses, sql_form, sql_links, sql_ngrams, sql_runs

RIGHT = "SELECT p.name FROM airports p JOIN flights c ON c.airport_id = p.id WHERE c.delay > 90 AND p.country = 'Peru'"
# names: airports flights | name airport_id id delay country


@pytest.mark.parametrize(
    ("said", "jaccard", "recall"),
    [
        (RIGHT.replace("90", "30"), 1, 1),  # values are no names
        ("SELECT name FROM airports", 2 / 7, 2 / 7),
        ("SELECT airports.name, gates FROM airports", 2 / 8, 2 / 7),  # one too many
        (f"```sql\n{RIGHT};\n```", 1, 1),
        ("name airports flights", 0, 0),
        ("SELECT (name FROM airports", 0, 0),
        ("SELECT 1", 0, 0),
    ],
)
def test_names_by_hand(said, jaccard, recall):
    assert sql_links()(said, RIGHT) == pytest.approx(jaccard)
    assert sql_links("recall")(said, RIGHT) == pytest.approx(recall)


@pytest.mark.parametrize(
    ("said", "n", "by_hand"),
    [
        ("select a from t", 2, 3 / 3),
        ("SELECT b FROM t", 2, 1 / 5),  # from t; select a, a from, select b, b from
        ("SELECT b FROM t", 1, 3 / 5),
        ("SELECT a FROM t WHERE a > 1", 2, 3 / 7),
        ("SELECT", 2, 0),
        ("SELECT 'a", 2, 0),
    ],
)
def test_tokens_in_a_row_by_hand(said, n, by_hand):
    assert sql_ngrams(n)(said, "SELECT a FROM t") == pytest.approx(by_hand)


@pytest.mark.parametrize(
    ("said", "by_hand"),
    [
        ("SELECT a, b FROM t WHERE c = 2 AND d > 1 ORDER BY a", 1),  # in another order
        ("SELECT x.a, x.b FROM t AS x WHERE d > 1 AND c = 2 ORDER BY x.a", 1),  # in other words
        ("SELECT a FROM t WHERE d > 1 AND c = 3 ORDER BY a", (1 / 2 + 1 + 1 / 3 + 1) / 4),
        ("SELECT a, b FROM t WHERE d > 1 OR c = 2 ORDER BY a", (1 + 1 + 2 / 3 + 1) / 4),
        ("SELECT a, b FROM t WHERE d > 1 AND c = 2", 3 / 4),
        ("SELECT a, b FROM t WHERE d > 1 AND c = 2 ORDER BY a LIMIT 3", 4 / 5),
        ("a, b", 0),
    ],
)
def test_clauses_by_hand(said, by_hand):
    assert sql_clauses()(said, "SELECT a, b FROM t WHERE d > 1 AND c = 2 ORDER BY a") == pytest.approx(by_hand)


PLAIN = gd.tasks.text_to_sql(level=1, checker="plain")


@pytest.mark.parametrize("source", [None, PLAIN, gd.tasks.mixture("sql", [PLAIN])], ids=["boxed", "plain", "mixed"])
def test_a_query_that_runs_may_be_wrong(source):
    databases = ["CREATE TABLE t (a); INSERT INTO t VALUES (1);", "CREATE TABLE t (b);"]
    said = ("SELECT a FROM t", "SELECT a FROM t WHERE 0", "SELECT b FROM t", "SELECT", "", "DROP TABLE t")
    task = gd.Task("1", "", "", "text_to_sql", 1, {"databases": databases})
    samples = [{"completion": text, "task": task, "meta": task.meta} for text in said]
    assert gd.score_samples(sql_runs(source), samples).whole == [1, 1, 0, 0, 0, 1]


@pytest.mark.parametrize(
    ("said", "formed"),
    [
        (" SELECT a FROM t ;\n", 1),
        ("with x as (select 1) select * from x", 1),
        ("SELECT 1; SELECT 2", 0),
        ("```sql\nSELECT 1\n```", 0),
        ("the query is SELECT 1", 0),
        ("SELECT 'a", 0),
        ("", 0),
    ],
)
def test_one_query_and_nothing_else(said, formed):
    assert sql_form()(said) == formed
