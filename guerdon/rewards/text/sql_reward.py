"""The reward of a query by what it answers, and by how many of its parts are right.

Leaves out: running and comparing queries (`tasks/field/sql_tasks.py`), reading them (`tasks/field/sql_parts.py`).
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.sql_results import query_of
from guerdon.tasks.field.sql_tasks import query_score


@part
class sql_answer(Leaf):
    """1 if the query in a completion answers as the task's does, on all its databases; else `parts` times what of it is right.

    What is right: the mean F1 of tables, columns, conditions, aggregates, grouping and order, as sqlglot reads them, which
    needs `pip install 'guerdon[sql]'`; with `parts=0` only answers count, and nothing is needed. Databases, query and whether
    order counts come from the task's meta, as `gd.tasks.text_to_sql` has them. Queries run in the sandbox: one that never ends,
    attaches a file or answers with millions of rows is wrong, and the detail says why.

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
