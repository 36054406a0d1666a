"""What rows that a filter lets through are like: how many of each kind, end, role and reason, and how their numbers spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.studio.rollouts.matched_rows import MatchedRows
from guerdon.studio.rollouts.rollout_index import PLAIN

COUNTED = ("kind", "end", "role", "learned")
SPREAD = ("reward", "advantage", "length")
BINS = 24
MOST_VALUES = 60  # of a facet, the most frequent
MOST_COLUMNS = 60  # whose reasons are counted


def facets(matched: MatchedRows) -> dict[str, Any]:
    """Counts by value, the most frequent first; histograms of what is there and finite."""
    measured = list(dict.fromkeys(name for numbers in matched.numbers for name in numbers))
    spread = [name for name in SPREAD if name in PLAIN or name in measured]
    reasons = [f"{name}:reason" for name in measured[:MOST_COLUMNS]]
    ends, some = _ends(matched, spread, reasons)
    groups = _groups(matched, [*COUNTED, *some, *(name for name in spread if ends[name])], ends)
    every = [[name.removesuffix(":reason"), word, many] for name in some for word, many in groups[name]]
    return {
        **{name: groups[name] for name in COUNTED},
        "reason": sorted(every, key=lambda each: -each[2]),
        "histograms": {name: _histogram(ends[name], groups[name]) for name in spread if ends[name]},
    }


Ends = dict[str, tuple[float, float, int] | None]


def _ends(matched: MatchedRows, spread: Sequence[str], reasons: Sequence[str]) -> tuple[Ends, list[str]]:
    """The least, the most and how many there are of each; and the columns of which any number is missing."""
    fields = []
    for n in range(len(spread)):
        is_there = f"FILTER (WHERE isfinite(k{n}::DOUBLE))"
        fields += [f"min(k{n}) {is_there}", f"max(k{n}) {is_there}", f"count(*) {is_there}"]
    fields += [f"count(k{len(spread) + n})" for n in range(len(reasons))]
    (told,) = matched.ask(f"SELECT {', '.join(fields)} FROM matched", [*spread, *reasons])
    ends: Ends = {}
    for n, name in enumerate(spread):
        low, high, many = told[3 * n : 3 * n + 3]
        ends[name] = (float(low), float(high), many) if many else None
    return ends, [name for name, many in zip(reasons, told[3 * len(spread) :], strict=True) if many]


def _groups(matched: MatchedRows, columns: Sequence[str], ends: Ends) -> dict[str, list[list[Any]]]:
    """[value, how many] of each column, in one go through all rows; of what spreads, the number of the bin."""
    fields, bound = [], []
    for n, name in enumerate(columns):
        low, high, _ = ends.get(name) or (0.0, 0.0, 0)
        if name not in ends:
            fields.append(f"k{n} AS g{n}")
        elif high > low:
            place = f"least({BINS - 1}, floor((k{n} - ?) / ?))::INTEGER"
            fields.append(f"CASE WHEN isfinite(k{n}::DOUBLE) THEN {place} END AS g{n}")
            bound += [low, (high - low) / BINS]
        else:
            fields.append(f"CASE WHEN isfinite(k{n}::DOUBLE) THEN 0 END AS g{n}")
    names = [f"g{n}" for n in range(len(columns))]
    sets = ", ".join(f"({name})" for name in names)
    which = [f"GROUPING({name}) = 0" for name in names]
    values = ", ".join(f"CASE WHEN {is_it} THEN {name}::VARCHAR END" for is_it, name in zip(which, names, strict=True))
    rows = matched.ask(
        f"SELECT list_position([{', '.join(which)}], true) - 1, coalesce({values}), count(*)"
        f" FROM (SELECT {', '.join(fields)} FROM matched) GROUP BY GROUPING SETS ({sets})",
        columns,
        bound,
    )
    groups: dict[str, list[list[Any]]] = {name: [] for name in columns}
    for number, value, many in rows:
        if value is not None:
            groups[columns[number]].append([_value(columns[number], value, ends), many])
    return {
        name: sorted(each, key=lambda pair: (-pair[1], str(pair[0])))[: MOST_VALUES if name not in ends else BINS]
        for name, each in groups.items()
    }


def _value(name: str, text: str, ends: Ends) -> Any:
    return int(text) if name in ends else text == "true" if name == "learned" else text


def _histogram(ends: tuple[float, float, int] | None, groups: Sequence[Sequence[int]]) -> dict[str, Any]:
    """Equal steps from the least to the most."""
    low, high, many = ends or (0.0, 0.0, 0)
    bins = [0] * (BINS if high > low else 1)
    for number, each in groups:
        bins[number] = each
    return {"low": low, "high": high, "bins": bins, "count": many}
