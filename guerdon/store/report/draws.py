"""What a curriculum drew: the share of each kind of problem among the asks, step by step, as stacked columns.

Kinds of one family stand together in one hue, the stronger the higher the level. Left out: why they were drawn (the
curriculum's own metrics, in the table of all metrics).
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from guerdon.store.event_types import StepDone
from guerdon.store.report.charts import px, scale
from guerdon.store.report.markup import Html, el, free, join, key_of, show

if TYPE_CHECKING:
    from guerdon.store.report.numbers import Numbers

COUNTED = "draws/"
BY_KIND = (COUNTED, "share/", "score/", "history/")  # metrics with a number for each kind: too many for a chart each
COLUMNS = 120  # more steps than that share columns
HUES = 6  # families told apart by colour, those of `style.CSS`
WIDTH, LEFT, RIGHT, TOP = 720.0, 34.0, 716.0, 8.0


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
    rows = [{k.removeprefix(COUNTED): v for k, v in e.metrics.items() if k.startswith(COUNTED)} for e in done]
    kinds = sorted({kind for row in rows for kind in row}, key=split_kind)
    if len(kinds) < 2:
        return None
    n = len(rows)
    columns = min(n, COLUMNS)
    edges = [(c * n // columns, (c + 1) * n // columns) for c in range(columns)]
    found = [_shares(rows[a:b], kinds) for a, b in edges]
    tenth = -(-n // 10)
    return Draws(
        kinds,
        [done[a].step for a, _ in edges],
        [done[b - 1].step for _, b in edges],
        {kind: [column.get(kind) for column in found] for kind in kinds},
        _shares(rows[:tenth], kinds),
        _shares(rows[-tenth:], kinds),
        _shares(rows, kinds),
    )


def split_kind(kind: str) -> tuple[str, int]:
    """Family and level; a metric of somebody's own may be called otherwise, and is a family of its own."""
    family, _, level = kind.rpartition(":")
    return (family, int(level)) if level.isdecimal() else (kind, 0)


def _shares(rows: Sequence[dict[str, float]], kinds: Sequence[str]) -> dict[str, float]:
    """Of each kind over some steps; empty where nothing was counted. A kind that a step does not name was not drawn in it."""
    count = {kind: sum(row.get(kind, 0.0) for row in rows) for kind in kinds}
    total = sum(count.values())
    return {kind: n / total for kind, n in count.items()} if total > 0 else {}


def put_draws(found: Numbers, draws: Draws | None) -> None:
    """The draws, and the numbers that stand beside them."""
    if draws is None:
        return
    found.draws = draws
    for step in (draws.first[0], draws.last[-1]):
        found.put(key_of("step", step), step)
    for stretch, shares in (("early", draws.early), ("late", draws.late), ("whole", draws.whole)):
        for kind, share in shares.items():
            found.put(key_of("drawn", stretch, kind), share)


def draws_section(numbers: Numbers) -> list[Html]:
    """The chart with its legend, or nothing."""
    draws = numbers.draws
    if draws is None:
        return []
    lead = (
        "The kinds of problems asked, as shares of each step's asks"
        + (" (a column is several steps)" if draws.first != draws.last else "")
        + ". Within a family, the stronger the colour the higher the level. Point at a column to read it."
    )
    table = el("table", _legend_head(), el("tbody", *_legend_rows(draws, numbers.values)), class_="list")
    figure = el("figure", _picture(draws, numbers.values), el("div", table, class_="wide"), class_="chart draws")
    return [el("section", el("h2", "What was drawn", id="draws"), el("p", lead, class_="lead"), figure)]


def _picture(draws: Draws, values: dict[str, float]) -> Html:
    bottom = TOP + max(180.0, 24.0 * len(draws.kinds))  # as tall as its legend
    bars = [
        el("path", class_="kind", style=colour, d=_columns(draws, i, bottom), data_kind=i)
        for i, colour in enumerate(colours(draws.kinds))
    ]
    ends = ((draws.first[0], LEFT, "start"), (draws.last[-1], RIGHT, "end"))
    ticks = [
        el("text", show(values[key_of("step", step)]), class_="tick", data_key=key_of("step", step), x=at, y=bottom + 16,
           text_anchor=anchor)
        for step, at, anchor in (ends if draws.first[0] != draws.last[-1] else ends[:1])
    ]  # fmt: skip
    middle = px((LEFT + RIGHT) / 2)
    ticks.append(el("text", "step", class_="tick", x=middle, y=bottom + 16, text_anchor="middle"))
    for word, y in (("all", TOP + 7), ("none", bottom)):
        ticks.append(el("text", word, class_="tick", x=LEFT - 6, y=y, text_anchor="end"))
    columns = [
        [first, last, *(None if (s := draws.share[kind][c]) is None else round(s, 4) for kind in draws.kinds)]
        for c, (first, last) in enumerate(zip(draws.first, draws.last, strict=True))
    ]
    return el(
        "svg",
        *bars,
        *ticks,
        el("rect", class_="cross", x=0, y=TOP, width=px((RIGHT - LEFT) / len(columns)), height=bottom - TOP),
        viewBox=f"0 0 {WIDTH:.0f} {bottom + 20:.0f}",
        role="img",
        aria_labelledby="draws",
        tabindex=0,
        data_draws=json.dumps(columns),
        data_frame=f"{LEFT} {RIGHT}",
    )


def _columns(draws: Draws, i: int, bottom: float) -> str:
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
    """For every kind a style: its family's hue, and how much of it, from the lowest level to the highest."""
    families = list(dict.fromkeys(split_kind(kind)[0] for kind in kinds))
    found = []
    for kind in kinds:
        family = split_kind(kind)[0]
        mates = [k for k in kinds if split_kind(k)[0] == family]
        depth = scale(0, len(mates) - 1, 22, 100)(mates.index(kind)) if len(mates) > 1 else 80
        found.append(f"--hue:var(--hue-{families.index(family) % HUES});--depth:{depth:.0f}%")
    return found


def _legend_head() -> Html:
    names = ("kind", "first tenth", "last tenth")
    cells = [el("th", name, scope="col") for name in names]
    return el("thead", el("tr", *cells, el("th", "in all", scope="col", class_="now")))


def _legend_rows(draws: Draws, values: dict[str, float]) -> list[Html]:
    rows = []
    for i, (kind, colour) in enumerate(zip(draws.kinds, colours(draws.kinds), strict=True)):
        name = el("th", join([el("span", "", class_="swatch", style=colour), free(kind)]), scope="row")
        cells = [_share(values, key_of("drawn", stretch, kind)) for stretch in ("early", "late")]
        rows.append(el("tr", name, *cells, _share(values, key_of("drawn", "whole", kind), "now"), data_kind=i))
    return rows


def _share(values: dict[str, float], key: str, class_: str | None = None) -> Html:
    if key not in values:
        return el("td", el("span", "none", class_="quiet"), class_=class_)
    return el("td", el("data", show(values[key], "share"), data_key=key), class_=class_)
