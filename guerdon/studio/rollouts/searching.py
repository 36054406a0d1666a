"""A page of the rows that a filter lets through, in some order, and what is true of all of them.

A page begins after a row, not at a number, so rows that come meanwhile are neither lost nor shown twice. What is shown of a row
is fetched for the rows of the page alone.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError
from guerdon.studio.rollouts.matched_rows import MatchedRows, field_of
from guerdon.studio.rollouts.rollout_index import PLAIN
from guerdon.studio.rollouts.snippets import snippet

PAGE = 100
MOST = 500  # rows of a page
MEASURED = ("reward", "correct", "advantage")
SHOWN = [name for name in PLAIN if name not in ("prompt", "completion", "answer")]


@dataclass(frozen=True)
class RowOrder:
    """By a column, up or down, what has no number last; then the newest step first, and as they lie in the file."""

    column: str = "step"
    down: bool = True

    @classmethod
    def of(cls, text: str) -> RowOrder:
        return cls(text.removeprefix("-"), text.startswith("-")) if text else cls()


@dataclass(frozen=True)
class RowPlace:
    """Where a row stands in an order: what comes after it, or before, is asked for by it."""

    value: Any
    step: int
    run: str
    row: int

    @classmethod
    def of(cls, text: str) -> RowPlace:
        try:
            value, step, run, row = json.loads(base64.urlsafe_b64decode(text.encode()))
            if not isinstance(value, str | int | float | None) or not isinstance(run, str):
                raise ValueError
            return cls(value, int(step), run, int(row))
        except (ValueError, TypeError, OverflowError, binascii.Error, RecursionError) as error:
            raise UserError("after= and before= take what an earlier answer gave as `next` or `previous`") from error

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(json.dumps([self.value, self.step, self.run, self.row]).encode()).decode()


@dataclass(frozen=True)
class RowPage:
    """What was asked for of the rows: an order, where to begin, how many, and which columns of the batch."""

    order: RowOrder = RowOrder()
    after: RowPlace | None = None
    before: RowPlace | None = None
    size: int = PAGE
    columns: tuple[str, ...] = MEASURED


def search(matched: MatchedRows, page: RowPage) -> dict[str, Any]:
    """A page of the rows that were let through, and what is true of all of them."""
    indexes, flip = matched.indexes, page.before is not None and page.after is None
    place = page.before if flip else page.after
    beyond, bound = _beyond(place, page.order, flip, [each.shelved.id for each in indexes])
    about = f"SELECT count(*), min(k0), max(k0), avg(k2), count(*) FILTER (WHERE NOT ({beyond})) FROM matched"
    ((total, first, last, mean, passed),) = matched.ask(about, ["step", page.order.column, "reward"], bound)
    first_of = f"WHERE {beyond} ORDER BY {ordered(page.order, flip)} LIMIT {page.size + 1}"
    chosen = matched.ask(f"SELECT run, id, row, k0, k1 FROM matched {first_of}", ["step", page.order.column], bound)
    has_more, chosen = len(chosen) > page.size, chosen[: page.size]
    if flip:
        chosen.reverse()
    before = total - passed - len(chosen) if flip else passed
    places = [str(RowPlace(value, step, indexes[run].shelved.id, row)) for run, _, row, step, value in chosen]
    is_after, is_before = (True, has_more) if flip else (has_more, before > 0)
    return {
        "total": total,
        "all": matched.everything(),
        "steps": None if first is None else [first, last],
        "mean_reward": mean,
        "from": before,
        "rows": _shown(matched, page, chosen),
        "next": places[-1] if places and is_after else None,
        "previous": places[0] if places and is_before else None,
    }


def ordered(order: RowOrder, flip: bool = False) -> str:
    down, up = ("ASC", "DESC") if flip else ("DESC", "ASC")
    return f"(k1 IS NULL) {up}, k1 {down if order.down else up}, k0 {down}, run {up}, row {up}"


def _beyond(place: RowPlace | None, order: RowOrder, flip: bool, runs: Sequence[str]) -> tuple[str, list[Any]]:
    """The condition that a row comes after a place in the order, or before it where that is turned round."""
    if place is None:
        return "true", []
    run = runs.index(place.run) if place.run in runs else len(runs) if not flip else -1
    down, up = ("<", ">")[:: -1 if flip else 1]
    ties = f"(k0 {down} ? OR (k0 = ? AND (run {up} ? OR (run = ? AND row {up} ?))))"
    tied = [place.step, place.step, run, run, place.row]
    if place.value is None:
        return (f"(k1 IS NULL AND {ties})" + (" OR k1 IS NOT NULL" if flip else "")), tied
    kind = PLAIN.get(order.column, "DOUBLE")
    value = f"CAST(? AS {kind})"
    nulls = "" if flip else " OR k1 IS NULL"
    return f"coalesce(k1 {down if order.down else up} {value} OR (k1 = {value} AND {ties}), false){nulls}", [
        place.value, place.value, *tied,
    ]  # fmt: skip


def _shown(matched: MatchedRows, page: RowPage, chosen: Sequence[Any]) -> list[dict[str, Any]]:
    """The rows of a page as the list shows them."""
    by_key: dict[tuple[int, int], dict[str, Any]] = {}
    patterns = matched.asked.patterns
    for number, index in enumerate(matched.indexes):
        ids = [row[1] for row in chosen if row[0] == number]
        if not ids:
            continue
        columns = [name for name in page.columns if name in matched.numbers[number]]
        names = [*SHOWN, *(name for each in columns for name in (each, f"{each}:reason"))]
        fitting = ["regexp_extract(completion, ?, 0, 'is')" for _ in patterns]
        fields = [
            *fitting,
            "characters",
            "prompt",
            "completion",
            *(field_of(n, matched.numbers[number]) for n in names),
        ]
        for id, *rest in matched.whole(number, ids, fields, patterns):
            fits, (characters, prompt, completion), rest = (
                rest[: len(patterns)],
                rest[len(patterns) :][:3],
                rest[len(patterns) + 3 :],
            )
            values = dict(zip(names, rest, strict=True))
            by_key[number, id] = {
                "run": index.shelved.id,
                **{name: values[name] for name in SHOWN},
                "characters": characters,
                "values": {name: told(values[name]) for name in columns},
                "reasons": {name: values[f"{name}:reason"] for name in columns if values[f"{name}:reason"] is not None},
                **snippet(completion or "", prompt or "", [*matched.asked.literal, *filter(None, fits)]),
            }
    return [by_key[row[0], row[1]] for row in chosen]


def told(value: Any) -> Any:
    """A number for the page; infinities by their names, which JSON has no numbers for."""
    return str(value) if isinstance(value, float) and math.isinf(value) else value
