"""The figures of evidence, as SVG files: curves with their intervals, and differences seed by seed.

Drawn from evidence files alone.
Colours can be distinguished by people who see few, and arms are named at the ends of their lines.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.display.svg import Place, Svg, el, join, scale

COLOURS = {"method": "#0b6e99", "baseline": "#8a6d3b", "ablation": "#9a9a9a", "plain": "#588157"}
PALETTE = ("#0b6e99", "#c8553d", "#588157", "#8a6d3b", "#7b5ea7", "#d17b0f", "#5a6b7b", "#b5487a")
GOOD, BAD, INK, FAINT = "#0b6e99", "#c8553d", "#333", "#bbb"
HEIGHT, TOP, BOTTOM = 250.0, 26.0, 206.0
PANEL, APART = 200.0, 70.0  # the width of a panel of differences, and what is left before the next
DOTS = 0.55  # of a column's width, for its seeds


@dataclass(frozen=True)
class ArmCurve:
    """An arm's curve: points of what was spent, mean, low and high."""

    label: str
    colour: str
    points: Sequence[Mapping[str, float]]


def figure(claim: Mapping[str, Any]) -> str:
    """A claim's result: the arms' curves to the left, the paired differences to the right; of a cheaper method also those of
    what it must keep."""
    colours = arm_colours(claim["arms"])
    lines = [ArmCurve(name, colours[name], arm["curve"]) for name, arm in claim["arms"].items() if arm["curve"]]
    claimed = claim["claim"]
    on_task = f" on {claimed['task']}" if claimed["task"] else ""
    parts = [curves(lines, 40, 400, claimed["metric"] + on_task, claimed["unit"])] if lines else []
    left = 470.0 if lines else 60.0
    panels = [(claim["against"], _title(claimed))]
    if claim.get("quality"):
        panels.append(({"baseline": claim["quality"]}, f"{claimed['keeps']}: method minus"))
    for against, title in panels:
        parts.append(differences(against, left, left + PANEL, title, _first(claimed)))
        left += PANEL + APART
    return svg(parts, left - APART + 40)


def arm_colours(names: Iterable[str]) -> dict[str, str]:
    """Arms have colours of their own; the points of a slope take those of the palette."""
    return {name: COLOURS.get(name, PALETTE[i % len(PALETTE)]) for i, name in enumerate(names)}


def _title(claimed: Mapping[str, Any]) -> str:
    titles = {"slope": "gain of a doubling", "bound": f"beyond {claimed['bound']:g}, by"}
    usual = "method minus" if claimed["better"] == "higher" else "method lower than, by"
    return titles.get(claimed["kind"], usual)


def _first(claimed: Mapping[str, Any]) -> str:
    """What the differences are from: a slope and a bound have no other arm."""
    return "seeds" if claimed["kind"] in ("slope", "bound") else "baseline"


def svg(parts: Sequence[Svg], width: float, height: float = HEIGHT) -> str:
    document = el(
        "svg",
        el("rect", x=0, y=0, width=width, height=height, fill="#fff"),
        *parts,
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {width:.0f} {height:.0f}",
        width=width,
        height=height,
        font_family="system-ui, sans-serif",
        font_size=11,
    )
    return f"{document}\n"


def curves(lines: Sequence[ArmCurve], left: float, right: float, title: str, unit: str) -> Svg:
    """Means with their 95 % intervals over what was spent."""
    points = [p for line in lines for p in line.points]
    low, high = min(p["low"] for p in points), max(p["high"] for p in points)
    end = max(p["spent"] for p in points)
    x, y = scale(0.0, end, left, right - 90), scale(low, high, BOTTOM, TOP)
    drawn = [text(title, left - 20, 14, weight="600"), _ends(low, high, left, y)]
    for line in lines:
        upper = [(x(p["spent"]), y(p["high"])) for p in line.points]
        lower = [(x(p["spent"]), y(p["low"])) for p in reversed(line.points)]
        drawn.append(el("path", d=path([*upper, *lower]) + "Z", fill=line.colour, opacity=0.13))
        middle = [(x(p["spent"]), y(p["mean"])) for p in line.points]
        drawn.append(el("path", d=path(middle), fill="none", stroke=line.colour, stroke_width=2))
    drawn += _names(lines, x(end) + 6, y)
    drawn.append(text("0", x(0), BOTTOM + 16, anchor="middle", colour="#777"))
    drawn.append(text(f"{_short(end)} {unit}", x(end), BOTTOM + 16, anchor="end", colour="#777"))
    return join(drawn)


def _names(lines: Sequence[ArmCurve], x: float, y: Place) -> list[Svg]:
    """Each arm's name at the end of its line, moved apart where lines end together."""
    placed: list[Svg] = []
    last = -1e9
    for line in sorted(lines, key=lambda each: -each.points[-1]["mean"]):
        at = max(y(line.points[-1]["mean"]) + 4, last + 13)
        last = at
        placed.append(text(line.label, x, at, colour=line.colour, weight="600"))
    return placed


def differences(against: Mapping[str, Any], left: float, right: float, title: str, first: str = "baseline") -> Svg:
    """How much better the method is than each other arm: a dot a seed, hollow for fresh seeds, the mean over all of them with
    its interval, and the minimum effect as a shade. `first` is what stands below the baseline's."""
    every = [d for result in against.values() for d in (*result["differences"], result["low"], result["high"])]
    effect = max(result["effect"] for result in against.values())
    low, high = min(*every, -effect), max(*every, effect)
    y = scale(low, high, BOTTOM, TOP)
    drawn = [
        text(title, left - 20, 14, weight="600"),
        el("rect", x=left, y=px(y(effect)), width=right - left, height=px(y(-effect) - y(effect)), fill="#eee"),
        el("line", x1=left, x2=right, y1=px(y(0)), y2=px(y(0)), stroke=INK, stroke_width=0.7),
        _ends(low, high, left, y),
    ]
    width = (right - left) / len(against)
    for i, (name, result) in enumerate(against.items()):
        middle = left + width * (i + 0.5)
        drawn += _dots(result["differences"], result["first"], middle, width, y, COLOURS[name])
        colour = GOOD if result["low"] > 0 else BAD if result["high"] < 0 else INK
        low_y, high_y = px(y(result["low"])), px(y(result["high"]))
        drawn.append(el("line", x1=px(middle), x2=px(middle), y1=low_y, y2=high_y, stroke=colour, stroke_width=2))
        drawn.append(el("circle", cx=px(middle), cy=px(y(result["mean"])), r=4.5, fill=colour))
        label = first if name == "baseline" else name
        drawn.append(text(label, middle, BOTTOM + 16, anchor="middle", colour=COLOURS[name], weight="600"))
    return join(drawn)


def _dots(values: Sequence[float], first: int, middle: float, width: float, y: Place, colour: str) -> list[Svg]:
    """A dot a seed, side by side; those after the `first` ones are hollow."""
    step = min(4.0, DOTS * width / max(1, len(values)))
    places = [middle + (j - (len(values) - 1) / 2) * step for j in range(len(values))]
    looks: list[dict[str, str | float]] = [
        {"fill": colour, "opacity": 0.55} if j < first else {"fill": "none", "stroke": colour}
        for j in range(len(values))
    ]
    return [
        el("circle", cx=px(x), cy=px(y(value)), r=2.5, **look)
        for x, value, look in zip(places, values, looks, strict=True)
    ]


def _ends(low: float, high: float, left: float, y: Place) -> Svg:
    marks = [
        (v, text(f"{v:.3g}".replace("-", "−"), left - 6, y(v) + 4, anchor="end", colour="#777")) for v in (low, high)
    ]
    axis = el("line", x1=left - 2, x2=left - 2, y1=px(y(low)), y2=px(y(high)), stroke=FAINT)
    return join([axis, *(mark for _, mark in marks)])


def text(words: str, x: float, y: float, anchor: str = "start", colour: str = INK, weight: str = "400") -> Svg:
    return el("text", words, x=px(x), y=px(y), text_anchor=anchor, fill=colour, font_weight=weight)


def path(points: Sequence[tuple[float, float]]) -> str:
    return "M" + "L".join(f"{px(a)},{px(b)}" for a, b in points)


def px(position: float) -> str:
    return f"{position:.1f}"


def _short(number: float) -> str:
    return f"{number / 1e6:.3g}M" if number >= 1e6 else f"{number / 1e3:.3g}k" if number >= 1e4 else f"{number:.3g}"
