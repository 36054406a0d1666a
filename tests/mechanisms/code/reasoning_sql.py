"""Reasoning-SQL: a wrong query is paid for what it already has: it runs, names the right columns, looks like the right one."""

from __future__ import annotations

from harness import Mechanism, World, credited, made, said_tries

import guerdon as gd
from guerdon.rewards.text.queries import sql_clauses, sql_form, sql_links, sql_ngrams, sql_runs
from guerdon.tasks.field.sql_reading import clauses_of, overlap, schema_names

RIGHT = "SELECT a FROM t WHERE b > 3"
META = {"databases": ["CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4);"], "query": RIGHT, "ordered": False}
PROBLEM = gd.Task("1", "", RIGHT, "text_to_sql", 1, META)
TASK = gd.tasks.text_to_sql(level=1, checker="plain")
NONE = dict.fromkeys(("execution", "judge", "syntax", "schema", "ngrams", "formed"), 0.0)
BOUND, BARE, OTHER = "SELECT a FROM t WHERE b > 1", "so:\n```sql\nSELECT a FROM t\n```", "SELECT c FROM t WHERE b > 3"


def recipe(**knobs):
    return made("reasoning-sql", TASK, **knobs)


def pay(*completions, problem=PROBLEM, **knobs):
    samples = [{"task": problem, "completion": text, "meta": problem.meta} for text in completions]
    return gd.score_samples(recipe(**knobs).stages.scores[-1].reward, samples).whole


def alone(knob, *completions, **knobs):
    return pay(*completions, **{**NONE, knob: 1.0, **knobs})


def items(query):
    return {clause: sorted(each) for clause, each in (clauses_of(query) or {}).items()}


def preferred(**knobs):
    """The advantage of a query that lacks a condition over one of another column, both of which run and are wrong."""
    worth = pay(BARE.split("\n")[2], "SELECT b FROM t WHERE a < 9", **knobs)
    near, far = credited(recipe(**knobs), said_tries([((0,), worth[0]), ((0,), worth[1])], column="reward"))
    return near - far


OF = "{{' '.join({}) for {} in ngrams({}, self.n)}}"
JOINED = "SELECT p.a, b FROM t p JOIN u ON p.id = u.id WHERE b > 1 AND (c OR d) OR e = 2 ORDER BY a LIMIT 3"

mechanism = Mechanism(
    "reasoning-sql",
    source="arXiv:2503.23157, section 3.2: weights 3, 2, 1, 1, 1, 1; Jaccard's overlap of names and of pairs of tokens",
    also=[sql_links, sql_ngrams, sql_clauses, sql_runs.__call__, sql_form, schema_names, clauses_of, overlap],
    numbers={
        "the right query": (lambda: pay(RIGHT), [3 + 1 + 1 + 1 + 1]),
        "right in other words: five pairs of nine": (
            lambda: pay("SELECT a FROM t WHERE b >= 4"),
            [3 + 1 + 1 + 5 / 9 + 1],
        ),
        "another bound: two clauses of three, six pairs of eight": (
            lambda: pay(BOUND),
            [2 * 2 / 3 + 1 + 1 + 6 / 8 + 1],
        ),
        "a clause less, in words: two names of three, three pairs of seven": (
            lambda: pay(BARE),
            [2 * 2 / 3 + 1 + 2 / 3 + 3 / 7],
        ),
        "a column that is not there": (lambda: pay(OTHER), [2 * 2 / 3 + 2 / 4 + 5 / 9 + 1]),
        "no query": (lambda: pay("the rows of t", ""), [0.0, 0.0]),
        "execution": (lambda: alone("execution", RIGHT, BOUND), [1.0, 0.0]),
        "a judge of wrong ones": (lambda: alone("judge", RIGHT, BOUND), [0.0, 2 / 3]),
        "it runs": (lambda: alone("syntax", BOUND, OTHER), [1.0, 0.0]),
        "names": (lambda: alone("schema", BOUND, OTHER, "a"), [1.0, 0.5, 0.0]),
        "pairs of tokens": (lambda: alone("ngrams", RIGHT, BOUND, "SELECT", "'"), [1.0, 0.75, 0.0, 0.0]),
        "form": (
            lambda: alone("formed", RIGHT + ";", BARE, "SELECT 1; SELECT 2", "WITH x AS (SELECT 1) SELECT 1", "'"),
            [1.0, 0.0, 0.0, 1.0, 0.0],
        ),
        "tags": (
            lambda: alone("formed", f"<reasoning>a</reasoning><answer>{RIGHT}</answer>", RIGHT, form="tags"),
            [1.0, 0.0],
        ),
        "recall of names": (lambda: sql_links("recall")("SELECT a, c FROM t", RIGHT), 2 / 3),
        "triples": (lambda: [sql_ngrams(3)(RIGHT, "SELECT a FROM t"), sql_ngrams(3)("SELECT a", RIGHT)], [2 / 6, 0.0]),
        "as many tokens as are in a row": (lambda: sql_ngrams(2)("SELECT a", RIGHT), 1 / 7),
        "tables and columns": (lambda: [sorted(each) for each in schema_names(JOINED)], [["t", "u"], [*"abcde", "id"]]),
        "clauses": (
            lambda: items(JOINED),
            {
                "select": ["a", "b"],
                "from": ["t join u on id = id"],
                "where": ["( c or d )", "b > 1", "e = 2", "or"],
                "order": ["a"],
                "limit": ["3"],
            },
        ),
        "a subquery stays whole, an empty clause is none": (
            lambda: items("SELECT a FROM t WHERE b IN (SELECT c, d FROM u) ORDER BY"),
            {"select": ["a"], "from": ["t"], "where": ["b in ( select c , d from u )"]},
        ),
        "no clause": (lambda: [items("nothing"), overlap(set(), set())], [{}, 1.0]),
        "only the reward differs": (
            lambda: [repr(stage).split("(")[0] for stage in recipe().stages],
            ["verified", "score", "centre", "Learn"],
        ),
    },
    world=World(
        says="no query is right: the one that lacks a condition is preferred to one about another column",
        measure=preferred,
        off={"judge": 0.0, "schema": 0.0, "ngrams": 0.0},
        moves=1.0,
    ),
    equal=dict.fromkeys(
        (
            "sql_links.__call__: overlap(...) with wanted before given & wanted if self.measure == 'recall' else given",
            f"sql_ngrams.__call__: overlap(...) with {OF.format(*'ee', 'theirs')} before {OF.format('each', 'each', 'mine')}",
            "sql_clauses.__call__: overlap(...) with theirs.get(clause, set()) before mine.get(clause, set())",
        ),
        "Jaccard's overlap is symmetric",
    ),
)
