"""What rows that a filter lets through are like: how many of each kind, end, role and reason, and how their numbers spread."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.studio.rollouts.rollout_filters import REASONS
from guerdon.studio.rollouts.rollout_index import PLAIN, RolloutIndex

COUNTED = ("kind", "end", "role", "learned")
SPREAD = ("reward", "advantage", "length")
BINS = 24
MOST_VALUES = 60  # of a facet, the most frequent
MOST_COLUMNS = 60  # whose reasons are counted


def facet_columns(indexes: Sequence[RolloutIndex]) -> list[str]:
    """What `facets` wants to have in `hits`."""
    measured = list(dict.fromkeys(name for index in indexes for name in index.columns))
    spread = [name for name in SPREAD if name in PLAIN or name in measured]
    return [*COUNTED, *spread, *(f"{name}:reason" for name in measured[:MOST_COLUMNS])]


def facets(cursor: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Counts by value of the rows in `hits`, the most frequent first; histograms of what is there and finite."""
    at = {name: f"k{n + 3}" for n, name in enumerate(columns)}
    histograms = {name: _histogram(cursor, at[name]) for name in SPREAD if name in at}
    return {
        **{name: _counts(cursor, at[name]) for name in COUNTED},
        "reason": _reasons(
            cursor, {name.removesuffix(":reason"): k for name, k in at.items() if name.endswith(":reason")}
        ),
        "histograms": {name: each for name, each in histograms.items() if each},
    }


def _counts(cursor: Any, column: str) -> list[list[Any]]:
    many = f"SELECT {column}, count(*) AS n FROM hits WHERE {column} IS NOT NULL GROUP BY 1"
    return [list(row) for row in cursor.execute(f"{many} ORDER BY n DESC, 1 LIMIT {MOST_VALUES}").fetchall()]


def _histogram(cursor: Any, column: str) -> dict[str, Any] | None:
    """Equal steps from the least to the most; None where there is nothing."""
    low, high, count = cursor.execute(
        f"SELECT min({column}), max({column}), count(*) FROM hits WHERE isfinite({column}::DOUBLE)"
    ).fetchone()
    if not count:
        return None
    low, high = float(low), float(high)
    wide = (high - low) / BINS
    bins = [0] * (BINS if wide > 0 else 1)
    if wide > 0:
        place = f"least({BINS - 1}, floor(({column} - ?) / ?))::INTEGER"
        counted = f"SELECT {place}, count(*) FROM hits WHERE isfinite({column}::DOUBLE) GROUP BY 1"
        for number, many in cursor.execute(counted, [low, wide]).fetchall():
            bins[number] = many
    else:
        bins[0] = count
    return {"low": low, "high": high, "bins": bins, "count": count}


def _reasons(cursor: Any, columns: dict[str, str]) -> list[list[Any]]:
    """[column, reason, how many], of those there are."""
    asked = [
        (name, word, f"count(*) FILTER (WHERE {at} = '{word}')") for name, at in columns.items() for word in REASONS
    ]
    if not asked:
        return []
    counted = cursor.execute(f"SELECT {', '.join(sql for *_, sql in asked)} FROM hits").fetchone()
    every = [[name, word, many] for (name, word, _), many in zip(asked, counted, strict=True) if many]
    return sorted(every, key=lambda each: -each[2])
