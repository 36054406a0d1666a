"""The figures of comparisons: a few curves, many differences, and accuracy against the length of answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.statistics import t_interval
from guerdon.display.svg import Svg, el, scale
from guerdon.evidence.figure import BAD, FAINT, GOOD, INK, PALETTE, ArmCurve, curves, path, px, svg, text

ROW, TOP = 22.0, 40.0  # pixels: of an arm, and above the first


def draw(found: Mapping[str, Any], first: str) -> str:
    """The figure that fits: what differs in length is drawn against it; more arms than colours are told by differences."""
    if found["start"]:
        return lengths(found)
    return few(found) if len(found["arms"]) <= len(PALETTE) else many(found, first)


def few(found: Mapping[str, Any]) -> str:
    lines = [ArmCurve(name, PALETTE[i], arm["curve"]) for i, (name, arm) in enumerate(found["arms"].items())]
    return svg([curves(lines, 50, 700, f"held-out accuracy on {found['task']}", found["unit"])], 860)


def many(found: Mapping[str, Any], first: str) -> str:
    """How each arm differs from the first: a dot a seed, the mean and its interval; the best on top."""
    base = [run["score"] for run in found["arms"][first]["runs"]]
    gaps = {
        name: [100 * (run["score"] - b) for run, b in zip(arm["runs"], base, strict=True)]
        for name, arm in found["arms"].items()
        if name != first
    }
    title = text(f"points more than {first}, held-out accuracy on {found['task']}", 20, 16, weight="600")
    ordered = dict(sorted(gaps.items(), key=lambda item: -sum(item[1])))
    return svg([title, *differences(ordered, 250.0, 700.0)], 780, TOP + ROW * len(gaps) + 26)


def differences(gaps: Mapping[str, Sequence[float]], left: float, right: float, named: bool = True) -> list[Svg]:
    """A row for each name, from the top: a dot a seed, the mean and its interval, around a line at 0."""
    every = [gap for each in gaps.values() for gap in each]
    x, bottom = scale(min([0.0, *every]), max([0.0, *every]), left, right), TOP + ROW * len(gaps)
    drawn: list[Svg] = [el("line", x1=px(x(0)), x2=px(x(0)), y1=TOP - 6, y2=bottom, stroke=INK, stroke_width=0.7)]
    for i, (name, each) in enumerate(gaps.items()):
        y = TOP + ROW * (i + 0.4)
        mean, low, high = interval(each)
        colour = GOOD if low > 0 else BAD if high < 0 else INK
        drawn += [text(name, left - 16, y + 4, anchor="end", colour=colour)] if named else []
        drawn += [el("circle", cx=px(x(gap)), cy=px(y), r=2.5, fill=colour, opacity=0.3) for gap in each]
        drawn.append(el("line", x1=px(x(low)), x2=px(x(high)), y1=px(y), y2=px(y), stroke=colour, stroke_width=2))
        drawn.append(el("circle", cx=px(x(mean)), cy=px(y), r=4.5, fill=colour))
        drawn.append(text(f"{mean:+.1f}".replace("-", "−"), right + 16, y + 4, colour=colour))
    return [*drawn, *_marks({value: x(value) for value in (min(every), 0.0, max(every))}, bottom + 14)]


def interval(values: Sequence[float]) -> tuple[float, float, float]:
    """The mean and the two ends of its 95 % t-interval; of one value that alone.

    >>> interval([2.0])
    (2.0, 2.0, 2.0)
    """
    return t_interval(values)[:3] if len(values) > 1 else (values[0], values[0], values[0])


def lengths(found: Mapping[str, Any]) -> str:
    """Accuracy against the tokens an answer takes: each arm's way from the start to its end, with the end of every seed."""
    ways = {
        name: [(far["mean"], high["mean"]) for far, high in zip(arm["lengths"], arm["curve"], strict=True)]
        for name, arm in found["arms"].items()
    }
    ends = {name: [(run["length"], run["score"]) for run in arm["runs"]] for name, arm in found["arms"].items()}
    points = [point for each in (*ways.values(), *ends.values()) for point in each]
    (low, high), (worst, best) = ((min(axis), max(axis)) for axis in zip(*points, strict=True))
    left, right, top, bottom = 60.0, 520.0, 40.0, 330.0
    x, y = scale(low, high, left, right), scale(worst, best, bottom, top)
    drawn = [
        text(f"held-out accuracy on {found['task']} against tokens an answer takes", 20, 16, weight="600"),
        el("line", x1=left - 8, x2=right, y1=bottom + 8, y2=bottom + 8, stroke=FAINT),
        el("line", x1=left - 8, x2=left - 8, y1=top, y2=bottom + 8, stroke=FAINT),
    ]
    for i, (name, way) in enumerate(ways.items()):
        colour = PALETTE[i % len(PALETTE)]
        placed = [(x(a), y(b)) for a, b in way]
        drawn += [el("circle", cx=px(x(a)), cy=px(y(b)), r=2.5, fill=colour, opacity=0.35) for a, b in ends[name]]
        drawn.append(el("path", d=path(placed), fill="none", stroke=colour, stroke_width=2))
        drawn.append(el("circle", cx=px(placed[-1][0]), cy=px(placed[-1][1]), r=5, fill=colour))
        drawn.append(el("circle", cx=right + 28, cy=px(top + 8 + ROW * i), r=5, fill=colour))
        drawn.append(text(name, right + 40, top + 12 + ROW * i, colour=colour, weight="600"))
    begin = next(iter(ways.values()))[0]
    drawn.append(el("circle", cx=px(x(begin[0])), cy=px(y(begin[1])), r=5, fill="#fff", stroke=INK, stroke_width=1.5))
    drawn.append(text("start", x(begin[0]) + 9, y(begin[1]) + 14))
    drawn += _marks({value: x(value) for value in (low, high)}, bottom + 24)
    drawn += [text(f"{100 * v:.1f} %", left - 14, y(v) + 4, anchor="end", colour="#777") for v in (worst, best)]
    return svg(drawn, 1010, bottom + 36)


def _marks(places: Mapping[float, float], y: float) -> list[Svg]:
    return [text(f"{v:.3g}".replace("-", "−"), at, y, anchor="middle", colour="#777") for v, at in places.items()]
