"""The chart of what a curriculum drew: the share of each kind of problem among the asks, step by step, as stacked columns.

Kinds of one family stand together in one hue, the stronger the higher the level.
Leaves out: why they were drawn, which the curriculum's own metrics show in the table of all metrics.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.report.charts import Tick, px, step_number
from guerdon.display.report.shown_numbers import ShownNumber, key_of, number
from guerdon.display.svg import scale
from guerdon.runs.event_types import StepDone
from guerdon.runs.headline import DRAWS, finite

BY_KIND = (DRAWS, "share/", "score/", "history/")  # metrics with a number for each kind: too many for a chart each
COLUMNS = 120  # more steps than that share columns
HUES = 6  # one colour for each family, those of `style.css`
WIDTH, LEFT, RIGHT, TOP = 720, 34.0, 716.0, 8.0


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


@dataclass(frozen=True)
class DrawnKind:
    """One kind: its colour, its pieces of all columns as a path, and its line in the legend."""

    name: str
    style: str
    path: str
    early: ShownNumber | None
    late: ShownNumber | None
    whole: ShownNumber | None


@dataclass(frozen=True)
class DrawsChart:
    """The draws, laid out. `columns` is what the script reads out, as JSON: first step, last step, a share for each kind."""

    kinds: list[DrawnKind]
    columns: str
    ticks: list[Tick]
    bottom: float
    column_width: str
    has_wide_columns: bool  # of several steps

    width = WIDTH
    frame = (LEFT, RIGHT)
    top = TOP
    middle = f"{(LEFT + RIGHT) / 2:g}"


def draws_chart(done: Sequence[StepDone]) -> DrawsChart | None:
    """The chart with its legend; None where there is only one."""
    draws = make_draws(done)
    if draws is None:
        return None
    bottom = TOP + max(180.0, 24.0 * len(draws.kinds))  # as tall as its legend
    kinds = [
        DrawnKind(kind, style, _pieces(draws, i, bottom), *_legend(draws, kind))
        for i, (kind, style) in enumerate(zip(draws.kinds, colours(draws.kinds), strict=True))
    ]
    first, last = draws.first[0], draws.last[-1]
    ends = [Tick(step_number(first), LEFT, px(bottom + 16), "start"), Tick(step_number(last), RIGHT, px(bottom + 16))]
    columns = [
        [begin, end, *(None if (s := draws.share[kind][c]) is None else round(s, 4) for kind in draws.kinds)]
        for c, (begin, end) in enumerate(zip(draws.first, draws.last, strict=True))
    ]
    return DrawsChart(
        kinds,
        json.dumps(columns),
        ends if first != last else ends[:1],
        bottom,
        px((RIGHT - LEFT) / len(columns)),
        draws.first != draws.last,
    )


def _legend(draws: Draws, kind: str) -> list[ShownNumber | None]:
    """Its shares over the first tenth, the last tenth and all steps."""
    stretches = {"early": draws.early, "late": draws.late, "whole": draws.whole}
    return [number(key_of("drawn", name, kind), shares.get(kind), "share") for name, shares in stretches.items()]


def _pieces(draws: Draws, i: int, bottom: float) -> str:
    """One kind's piece of every column. The first kind is on top, as in the legend."""
    x, y = scale(0, len(draws.first), LEFT, RIGHT), scale(0, 1, TOP, bottom)
    pieces = []
    for c in range(len(draws.first)):
        above = sum(draws.share[kind][c] or 0.0 for kind in draws.kinds[:i])
        here = draws.share[draws.kinds[i]][c] or 0.0
        if here:
            pieces.append(f"M{px(x(c))},{px(y(above))}H{px(x(c + 1))}V{px(y(above + here))}H{px(x(c))}Z")
    return "".join(pieces)


def colours(kinds: Sequence[str]) -> list[str]:
    """For every kind a style: its family's hue, and how much of it."""
    return [f"--hue:var(--hue-{hue});--depth:{depth:.0f}%" for hue, depth in shades(kinds)]


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
