"""The chart of what a curriculum drew: the share of each kind of problem among the asks, step by step, as stacked columns.

Kinds of one family stand together in one hue, the stronger the higher the level.
Leaves out: why they were drawn, which the curriculum's own metrics show in the table of all metrics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.svg import scale
from guerdon.runs.event_types import StepDone
from guerdon.runs.headline import DRAWS, finite

BY_KIND = (DRAWS, "share/", "score/", "history/")  # metrics with a number for each kind: too many for a chart each
COLUMNS = 120  # more steps than that share columns
HUES = 6  # one colour for each family


@dataclass(frozen=True)
class Draws:
    """`share[kind][c]` is that of the asks in column `c`, the steps `first[c]` to `last[c]`; None where nothing was counted.
    Kinds are in order: families by name, then levels."""

    kinds: list[str]
    first: list[int]
    last: list[int]
    share: dict[str, list[float | None]]
    early: dict[str, float]  # over the first tenth of the steps
    late: dict[str, float]  # over the last tenth
    whole: dict[str, float]


def make_draws(done: Sequence[StepDone]) -> Draws | None:
    """None where no more than one kind was ever drawn."""
    rows = [
        {k.removeprefix(DRAWS): v for k, v in e.metrics.items() if k.startswith(DRAWS) and _is_count(v)} for e in done
    ]
    kinds = sorted({kind for row in rows for kind in row}, key=split_kind)
    if len(kinds) < 2:
        return None
    n = len(rows)
    columns = min(n, COLUMNS)
    edges = [(c * n // columns, (c + 1) * n // columns) for c in range(columns)]
    shares = [_shares(rows[a:b], kinds) for a, b in edges]
    tenth = -(-n // 10)
    return Draws(
        kinds,
        [done[a].step for a, _ in edges],
        [done[b - 1].step for _, b in edges],
        {kind: [column.get(kind) for column in shares] for kind in kinds},
        _shares(rows[:tenth], kinds),
        _shares(rows[-tenth:], kinds),
        _shares(rows, kinds),
    )


def split_kind(kind: str) -> tuple[str, int]:
    """Family and level; a user's metric may have another name, and is a family of its own."""
    family, _, level = kind.rpartition(":")
    return (family, int(level)) if level.isdecimal() else (kind, 0)


def _is_count(value: Any) -> bool:
    """Whether a metric counts something; a user's own may be anything."""
    return finite(value) is not None and value >= 0


def _shares(rows: Sequence[dict[str, float]], kinds: Sequence[str]) -> dict[str, float]:
    """Of each kind over some steps; empty where nothing was counted. A kind that a step does not name was not drawn in it."""
    count = {kind: sum(row.get(kind, 0.0) for row in rows) for kind in kinds}
    total = sum(count.values())
    return {kind: n / total for kind, n in count.items()} if total > 0 else {}


def shades(kinds: Sequence[str]) -> list[tuple[int, float]]:
    """For every kind the number of its family's hue, and how many percent of it, from the lowest level to the highest."""
    families = list(dict.fromkeys(split_kind(kind)[0] for kind in kinds))
    each = []
    for kind in kinds:
        family = split_kind(kind)[0]
        mates = [k for k in kinds if split_kind(k)[0] == family]
        depth = scale(0, len(mates) - 1, 22, 100)(mates.index(kind)) if len(mates) > 1 else 80
        each.append((families.index(family) % HUES, depth))
    return each
