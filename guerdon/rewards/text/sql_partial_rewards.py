"""Rewards for queries that are not right yet: whether they run, what they name, and how much they look like the right one.

They say nothing of what a query answers, and all but `sql_form` and `sql_runs` look at the right query: to be added to
`sql_answer` or a task's own check, which must weigh more.
Leaves out: answers (`sql_reward.py`), how queries are read (`tasks/field/sql_reading.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from guerdon.core.part import fingerprint, knob, part
from guerdon.core.task import Task
from guerdon.rewards.asking.function import Leaf
from guerdon.rewards.text.overlap import ngrams
from guerdon.tasks.field.sql_reading import clauses_of, overlap, schema_names, sql_tokens
from guerdon.tasks.field.sql_results import query_of
from guerdon.tasks.field.sql_tasks import Checker, runs_at_all


@part
class sql_links(Leaf):
    r"""Schema linking: Jaccard's $|A \cap B| / |A \cup B|$ of the tables and columns that the query in a completion names and
    those that the right one does (Reasoning-SQL, Pourreza et al. 2025, arXiv:2503.23157). What is no query has 0.

    `measure="recall"` is $|A \cap B| / |B|$, what the authors' training script computes: it costs nothing to name too much.
    Names are read without aliases, in lower case; the right query is the task's `query` in its meta.

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
    group, having, order, limit), of Jaccard's overlap of their items. What is no query has 0.

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

    >>> import guerdon as gd
    >>> made = "CREATE TABLE t (a); INSERT INTO t VALUES (1);"
    >>> task = gd.Task("1", "What is a?", meta={"databases": [made]})
    >>> said = [{"task": task, "completion": f"SELECT {name} FROM t", "meta": task.meta} for name in ("a", "b")]
    >>> gd.score_samples(gd.rewards.sql_runs(), said).whole
    [1.0, 0.0]
    """

    source: Any = None

    def meant(self) -> dict[str, Any]:
        """For the hash: a source stands for what it asks."""
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
