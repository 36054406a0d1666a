"""The list of runs: searched, filtered, sorted, one page at a time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from guerdon.core.errors import unknown

Row = dict[str, Any]
KEPT_BACK = ("words", "spent")  # of a row, which the list does not show
CHOICES = 200  # of a filter
FILTERS = ("recipe", "task", "status")
STATUSES = ("running", "complete", "stopped", "unreadable", "reading")


@dataclass(frozen=True)
class Wanted:
    """`within` asks for the runs of a study; otherwise those that stand by themselves are listed, a study if it or a run in it
    fits."""

    search: str = ""
    chosen: Mapping[str, Sequence[str]] = field(default_factory=dict)  # filter: values of which one must fit
    sort: str = "date"
    down: bool = True
    offset: int = 0
    limit: int = 200
    within: str = ""


def _after(row: Row) -> float | None:
    return row["headline"]["after"]["value"] if row.get("headline") else None


SORTS: dict[str, Callable[[Row], Any]] = {
    "name": lambda row: row["path"].lower(),
    "recipe": lambda row: row.get("recipe", "").lower() or None,
    "task": lambda row: row.get("task", "").lower() or None,
    "model": lambda row: row.get("model", "").lower() or None,
    "reward": lambda row: row.get("reward", "").lower() or None,
    "seed": lambda row: row.get("seed"),
    "progress": lambda row: (row.get("progress") or {}).get("share"),
    "status": lambda row: STATUSES.index(row["status"]),
    "date": lambda row: row.get("created") or None,
    "headline": _after,
}


def listing(rows: Sequence[Row], wanted: Wanted) -> dict[str, Any]:
    """A page of the rows that fit, how many there are, and how many each choice of a filter would leave."""
    if wanted.sort not in SORTS:
        raise unknown("column to sort by", wanted.sort, SORTS)
    if wanted.within:
        own = [row for row in rows if row["within"] == wanted.within]
        return {"rows": _shown(_sorted(own, wanted)[: wanted.limit]), "total": len(own)}
    words = wanted.search.lower().split()
    said = [row for row in rows if all(word in row["words"] for word in words)]
    fits = [row for row in said if _fits(row, wanted.chosen)]
    by_study = Counter(row["within"] for row in fits if row["within"])
    own_fit = {row["id"] for row in fits}
    top = [row for row in rows if not row["within"] and (row["id"] in own_fit or by_study[row["id"]])]
    page = _sorted(top, wanted)[wanted.offset : wanted.offset + wanted.limit]
    narrowed = bool(words or any(wanted.chosen.values()))
    return {
        "rows": _shown({**row, "inner_fit": by_study[row["id"]] if narrowed else row["inner"]} for row in page),
        "total": len(top),
        "all": len(rows),
        "counts": {name: _counts(said, wanted.chosen, name) for name in FILTERS},
    }


def _fits(row: Row, chosen: Mapping[str, Sequence[str]], but: str = "") -> bool:
    return all(name == but or not values or str(row.get(name, "")) in values for name, values in chosen.items())


def _counts(rows: Sequence[Row], chosen: Mapping[str, Sequence[str]], name: str) -> list[tuple[str, int]]:
    """How many rows each value would leave with what is chosen elsewhere, the most first."""
    counted = Counter(str(row.get(name, "")) for row in rows if _fits(row, chosen, but=name))
    for value in chosen.get(name, ()):
        counted[value] += 0
    return [(value, count) for value, count in counted.most_common(CHOICES) if value]


def _sorted(rows: Sequence[Row], wanted: Wanted) -> list[Row]:
    """By a column; what has nothing there comes last, whichever way."""
    key = SORTS[wanted.sort]
    named = sorted(rows, key=SORTS["name"])
    there = sorted((row for row in named if key(row) is not None), key=key, reverse=wanted.down)
    return there + [row for row in named if key(row) is None]


def _shown(rows: Any) -> list[Row]:
    return [{name: value for name, value in row.items() if name not in KEPT_BACK} for row in rows]
