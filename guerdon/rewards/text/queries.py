"""Rewards of a query: by what it returns, and for queries that are not right yet by their parts.

Partial rewards look at whether a query runs, what it names, and how similar it is to the right one. They ignore what it
returns, and all but `sql_form` and `sql_runs` read the right query: add them to `sql_answer` or a task's own check, which
must weigh more. Leaves out: running and comparing queries (`tasks/field/sql_tasks.py`), reading them
(`tasks/field/sql_parts.py`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from typing import Any, Literal

from guerdon.core.errors import UserError
from guerdon.core.part import fingerprint, knob, part
from guerdon.core.score import Score
from guerdon.core.task import Task
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.text.overlap import ngrams
from guerdon.tasks.field.sql_reading import clauses_of, overlap, schema_names, sql_tokens
from guerdon.tasks.field.sql_results import query_of
from guerdon.tasks.field.sql_tasks import Checker, query_score, runs_at_all


@part
class sql_answer(Leaf):
    """1 if the query in a completion answers as the task's does, on all its databases; else `parts` times what of it is right.

    What is right: the mean F1 of tables, columns, conditions, aggregates, grouping and order, as sqlglot reads them, which
    needs `pip install 'guerdon[sql]'`; with `parts=0` only answers count, and nothing is needed. Databases, query and whether
    order counts come from the task's meta, as `gd.tasks.text_to_sql` has them. Queries run in the sandbox: one that never ends,
    attaches a file or answers with millions of rows is wrong, and the detail has the reason.

    Args:
        parts: value of a wrong query whose parts are all right.

    >>> import asyncio
    >>> import guerdon as gd
    >>> made = "CREATE TABLE t (a, b); INSERT INTO t VALUES (1, 2), (3, 4);"
    >>> score = asyncio.run(gd.sql_answer()("SELECT a FROM t WHERE b > 3", [made], "SELECT a FROM t WHERE b > 1"))
    >>> round(score.value, 3), score.why
    (0.333, '1 rows for 2 on database 1')
    """

    parts: float = knob(default=0.5, ge=0.0, le=1.0)

    def __post_init__(self) -> None:
        if self.parts and importlib.util.find_spec("sqlglot") is None:
            raise UserError(
                "sqlglot is not installed: pip install 'guerdon[sql]' (or parts=0, where only answers count)"
            )

    async def __call__(self, completion: str, databases: Sequence[str], query: str, ordered: bool = False) -> Score:
        return await query_score(query_of(completion), databases, query, ordered, self.parts)


@part
class sql_links(Leaf):
    r"""Schema linking: Jaccard's $|A \cap B| / |A \cup B|$ of the tables and columns that the query in a completion names and
    those that the right one does (Reasoning-SQL, Pourreza et al. 2025, arXiv:2503.23157). What is not a query has 0.

    `measure="recall"` is $|A \cap B| / |B|$, what the authors' training script computes: it costs nothing to name too much.
    Names are read without aliases, in lower case; the right query is the task's `query` in its meta.

    Args:
        measure: "jaccard" or "recall".

    >>> import guerdon as gd
    >>> right = "SELECT name FROM airports WHERE gates > 3"
    >>> gd.rewards.sql_links()("SELECT name FROM airports WHERE country = 'Peru'", right)  # 2 names of 4
    0.5
    """

    measure: Literal["jaccard", "recall"] = "jaccard"

    def __call__(self, completion: str, query: str) -> float:
        mine, theirs = schema_names(query_of(completion)), schema_names(query)
        if mine is None or theirs is None:
            return 0.0
        given, wanted = mine[0] | mine[1], theirs[0] | theirs[1]
        return overlap(given & wanted if self.measure == "recall" else given, wanted)


@part
class sql_ngrams(Leaf):
    r"""Jaccard's $|A \cap B| / |A \cup B|$ of the sets of `n` tokens in a row, of the query in a completion and of the right
    one (Reasoning-SQL, Pourreza et al. 2025, arXiv:2503.23157, which takes two). Tokens are names, words, signs and values;
    all but texts are the same in any case. A query too short for any has 0.

    Args:
        n: tokens in a row.

    >>> import guerdon as gd
    >>> gd.rewards.sql_ngrams()("select name from flights", "SELECT name FROM airports")  # 2 pairs of 4
    0.5
    """

    n: int = knob(default=2, ge=1)

    def __call__(self, completion: str, query: str) -> float:
        mine, theirs = sql_tokens(query_of(completion)), sql_tokens(query)
        if mine is None or theirs is None or len(mine) < self.n:
            return 0.0
        return overlap({" ".join(each) for each in ngrams(mine, self.n)}, {" ".join(e) for e in ngrams(theirs, self.n)})


@part
class sql_clauses(Leaf):
    """How much of a query a reader would call right: the mean, over the clauses that either query has (select, from, where,
    group, having, order, limit), of Jaccard's overlap of their items. What is not a query has 0.

    A rule in the place of a judge that is shown both queries: it sees which conditions, columns and orders agree, in whatever
    order they stand, and does not see that two conditions mean the same.

    >>> import guerdon as gd
    >>> gd.rewards.sql_clauses()("SELECT name FROM t WHERE a > 2", "SELECT name FROM t WHERE a > 3")  # 1, 1 and 0
    0.6666666666666666
    """

    def __call__(self, completion: str, query: str) -> float:
        mine, theirs = clauses_of(query_of(completion)), clauses_of(query)
        if mine is None or theirs is None:
            return 0.0
        every = {*mine, *theirs}
        return sum(overlap(mine.get(clause, set()), theirs.get(clause, set())) for clause in every) / len(every)


@part
class sql_runs(Leaf):
    """1 if the query in a completion runs on the task's first database without an error, whatever it answers; else 0. It
    runs in the sandbox, and a sandbox that fails is *failed*. Given the `source` that a problem came from, `text_to_sql` or a
    mixture of its levels, it runs as that runs queries (`checker="plain"`).

    Args:
        source: where the problem comes from; with it queries run as that runs them.

    >>> import guerdon as gd
    >>> made = "CREATE TABLE t (a); INSERT INTO t VALUES (1);"
    >>> task = gd.Task("1", "What is a?", meta={"databases": [made]})
    >>> said = [{"task": task, "completion": f"SELECT {name} FROM t", "meta": task.meta} for name in ("a", "b")]
    >>> gd.score_samples(gd.rewards.sql_runs(), said).whole
    [1.0, 0.0]
    """

    source: Any = None

    def meant(self) -> dict[str, Any]:
        """For the hash: a source is replaced by its problems."""
        return {"source": fingerprint(self.source)}

    async def __call__(self, task: Task, completion: str, databases: Sequence[str]) -> float:
        source = self.source.of(task) if hasattr(self.source, "of") else self.source
        checker: Checker = getattr(source, "checker", "sandbox")
        return float(await runs_at_all(query_of(completion), databases[0], checker))


@part
class sql_form(Leaf):
    """1 if a completion is one query and nothing else; else 0: no words around it, no fence, no second statement.

    >>> import guerdon as gd
    >>> gd.rewards.sql_form()("SELECT 1;"), gd.rewards.sql_form()("So: SELECT 1")
    (1.0, 0.0)
    """

    def __call__(self, completion: str) -> float:
        tokens = sql_tokens(completion.strip().rstrip(";")) or [""]
        return float(tokens[0] in ("select", "with") and ";" not in tokens)
