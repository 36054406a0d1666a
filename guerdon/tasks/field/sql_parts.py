"""How much of a query is right, part by part: its tables, columns, conditions, aggregates, grouping and order, by sqlglot.

Leaves out: running queries (`sql_results.py`).
"""

from __future__ import annotations

import importlib
from collections import Counter
from typing import Any


def parts_of_query(query: str) -> dict[str, Counter[str]] | None:
    """The parts of a query by their kind, names without their table's; None where it is not a query.

    >>> parts = parts_of_query("SELECT a.x, COUNT(*) FROM t AS a WHERE a.y > 3 GROUP BY a.x")
    >>> {kind: sorted(counter) for kind, counter in parts.items() if counter}
    {'tables': ['t'], 'columns': ['x', 'y'], 'conditions': ['y > 3'], 'aggregates': ['COUNT(*)'], 'grouping': ['x']}
    """
    sqlglot: Any = importlib.import_module("sqlglot")
    exp = sqlglot.exp
    try:
        tree = sqlglot.parse_one(query, read="sqlite")
    except (sqlglot.errors.SqlglotError, RecursionError, ValueError):
        return None
    if not isinstance(tree, exp.Query):
        return None
    for column in tree.find_all(exp.Column):
        column.set("table", None)
    wheres = [node.this for kind in (exp.Where, exp.Having) for node in tree.find_all(kind)]
    return {
        "tables": Counter(table.name.lower() for table in tree.find_all(exp.Table)),
        "columns": Counter(column.name.lower() for column in tree.find_all(exp.Column)),
        "conditions": Counter(_said(part) for where in wheres for part in _split(where, exp)),
        "aggregates": Counter(_said(each) for each in tree.find_all(exp.AggFunc)),
        "grouping": Counter(_said(each) for group in tree.find_all(exp.Group) for each in group.expressions),
        "order": Counter(_said(each) for order in tree.find_all(exp.Order) for each in order.expressions),
        "limit": Counter(_said(limit) for limit in tree.find_all(exp.Limit)),
    }


def _said(node: Any) -> str:
    return str(node.sql(dialect="sqlite"))


def _split(where: Any, exp: Any) -> list[Any]:
    """The conditions that And and Or join."""
    if not isinstance(where, exp.And | exp.Or):
        return [where]
    return [*_split(where.left, exp), *_split(where.right, exp)]


def share_of_parts(given: str, right: str) -> float:
    """The mean F1 over the kinds of parts that either query has; 0 for what is not a query.

    >>> share_of_parts("SELECT name FROM t WHERE a > 2", "SELECT name FROM t WHERE a > 3")
    0.6666666666666666
    """
    mine, wanted = parts_of_query(given), parts_of_query(right)
    if mine is None or wanted is None:
        return 0.0
    scores = []
    for kind, parts in wanted.items():
        count = parts.total() + mine[kind].total()
        if count:
            scores.append(2 * (parts & mine[kind]).total() / count)
    return sum(scores) / len(scores) if scores else 0.0
