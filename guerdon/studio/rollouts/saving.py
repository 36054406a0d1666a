"""Rows that were let through as JSON lines, to be taken away: all that the list can show of them, and their texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from guerdon.core.json_values import json_value
from guerdon.studio.rollouts.matched_rows import MatchedRows, field_of
from guerdon.studio.rollouts.rollout_index import PLAIN
from guerdon.studio.rollouts.searching import RowOrder, ordered, told

MOST_ROWS = 10_000
MOST_BYTES = 50_000_000
AT_ONCE = 500


def lines_of(matched: MatchedRows, order: RowOrder) -> tuple[bytes, int]:
    """The rows in their order, a line each, and how many: the first of them where they are many or long."""
    first = f"SELECT run, id FROM matched ORDER BY {ordered(order)} LIMIT {MOST_ROWS}"
    chosen = matched.ask(first, ["step", order.column])
    lines: list[bytes] = []
    size = 0
    for start in range(0, len(chosen), AT_ONCE):
        part = chosen[start : start + AT_ONCE]
        rows = {key: row for number in range(len(matched.indexes)) for key, row in _rows(matched, number, part)}
        for key in part:
            line = json.dumps(json_value(rows[key]), allow_nan=False).encode() + b"\n"
            size += len(line)
            if size > MOST_BYTES:
                return b"".join(lines), len(lines)
            lines.append(line)
    return b"".join(lines), len(lines)


def _rows(
    matched: MatchedRows, number: int, part: Sequence[tuple[int, int]]
) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    ids, numbers = [id for run, id in part if run == number], matched.numbers[number]
    if not ids:
        return []
    names = [*PLAIN, *(name for each in numbers for name in (each, f"{each}:reason"))]
    rows = matched.whole(number, ids, [field_of(name, numbers) for name in names])
    named = {"run": matched.indexes[number].shelved.name}
    return [((number, id), named | dict(zip(names, map(told, rest), strict=True))) for id, *rest in rows]
