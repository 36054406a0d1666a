"""Rows that were let through as JSON lines, to be taken away: all that the list can show of them, and their texts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from guerdon.core.json_values import json_value
from guerdon.studio.rollouts.rollout_index import PLAIN, RolloutIndex
from guerdon.studio.rollouts.searching import RowOrder, field_of, ordered, told

MOST_ROWS = 10_000
MOST_BYTES = 50_000_000
AT_ONCE = 500


def lines_of(cursor: Any, indexes: Sequence[RolloutIndex], order: RowOrder) -> tuple[bytes, int]:
    """The rows in `hits` in their order, a line each, and how many: the first of them where they are many or long."""
    chosen = cursor.execute(f"SELECT run, id FROM hits ORDER BY {ordered(order)} LIMIT {MOST_ROWS}").fetchall()
    lines: list[bytes] = []
    size = 0
    for start in range(0, len(chosen), AT_ONCE):
        part = chosen[start : start + AT_ONCE]
        rows = {key: row for number, index in enumerate(indexes) for key, row in _rows(cursor, number, index, part)}
        for key in part:
            line = json.dumps(json_value(rows[key]), allow_nan=False).encode() + b"\n"
            size += len(line)
            if size > MOST_BYTES:
                return b"".join(lines), len(lines)
            lines.append(line)
    return b"".join(lines), len(lines)


def _rows(
    cursor: Any, number: int, index: RolloutIndex, part: Sequence[tuple[int, int]]
) -> list[tuple[tuple[int, int], dict[str, Any]]]:
    ids = [id for run, id in part if run == number]
    if not ids:
        return []
    numbers = dict(index.columns)
    names = [*PLAIN, *(name for each in numbers for name in (each, f"{each}:reason"))]
    fields = ", ".join(field_of(name, numbers) for name in names)
    place = f"FROM {index.place}.rows WHERE rowid IN ({', '.join('?' * len(ids))})"
    got = cursor.execute(f"SELECT rowid, {fields} {place}", ids).fetchall()
    named = {"run": index.shelved.name}
    return [((number, id), named | dict(zip(names, map(told, rest), strict=True))) for id, *rest in got]
