"""Charts as inline SVG. Axes are range frames: what stands at an axis is the run's own first, last, lowest and highest.

A chart draws from a `Curve` and labels by key; it knows nothing of runs.
"""

from __future__ import annotations

from collections.abc import Callable

from guerdon.store.report.markup import Html, el, free, join, key_of, show
from guerdon.store.report.metric_curves import Curve

WIDTH, HEIGHT = 340.0, 132.0
LEFT, RIGHT, TOP, BOTTOM = 58.0, 334.0, 10.0, 112.0
Place = Callable[[float], float]


def scale(low: float, high: float, start: float, end: float) -> Place:
    """Linear from [low, high] to [start, end]; a range without width lies in the middle."""
    if high <= low:
        return lambda _: (start + end) / 2
    return lambda v: start + (v - low) / (high - low) * (end - start)


def line_chart(curve: Curve, title: str, number: int, values: dict[str, float]) -> Html:
    """A figure: title, the latest value (a read-out when pointed at), the curve and its spread."""
    low, high = curve.range
    x, y = scale(curve.steps[0], curve.steps[-1], LEFT, RIGHT), scale(low, high, BOTTOM, TOP)
    last = curve.valued[-1]
    point = curve.value[last]
    assert point is not None
    drawn = [_frame(curve, low, high, y, values)]
    if curve.std is not None:
        drawn.append(el("path", class_="band", d=_band(curve, x, y)))
    drawn += [
        el("path", class_="line", d=_line(curve.value, curve.steps, x, y)),
        el("circle", class_="end", cx=px(x(curve.steps[last])), cy=px(y(point)), r=3),
        el("line", class_="cross", x1=0, x2=0, y1=TOP, y2=BOTTOM),
        el("circle", class_="spot", cx=0, cy=0, r=3.5),
    ]
    head = el(
        "figcaption",
        el("span", title if title != curve.name else free(curve.name), class_="name", id=f"chart-{number}"),
        el("output", *_latest(curve, last, values), class_="now", id=f"chart-{number}-now"),
    )
    picture = el(
        "svg",
        *drawn,
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="img",
        aria_labelledby=f"chart-{number} chart-{number}-now",
        tabindex=0,
        data_curve=key_of(curve.name),
        data_low=low,
        data_high=high,
        data_frame=f"{LEFT} {RIGHT} {TOP} {BOTTOM}",
    )
    code = free(curve.name, "code", class_="code") if title != curve.name else Html("")
    return el("figure", head, code, picture, class_="chart")


def _latest(curve: Curve, last: int, values: dict[str, float]) -> list[Html]:
    step = curve.steps[last]
    said = [_number(values, key_of("curve", f"{curve.metric}@{step}"), "data", "value")]
    spread = key_of("curve", f"{curve.name}/std@{step}")
    if spread in values:
        said += [el("span", " ± ", class_="quiet"), _number(values, spread, "data", "quiet")]
    at = _number(values, key_of("step", step), "data", "quiet")
    return [*said, el("span", " at step ", class_="quiet"), at]


def _number(values: dict[str, float], key: str, tag: str, class_: str, **more: str | float) -> Html:
    return el(tag, show(values[key]), class_=class_, data_key=key, **more)


def _frame(curve: Curve, low: float, high: float, y: Place, values: dict[str, float]) -> Html:
    """The two axes, as long as the data, labelled at their ends; and zero, when it lies well inside."""
    parts = [
        el("line", class_="axis", x1=LEFT - 8, x2=LEFT - 8, y1=px(y(low)), y2=px(y(high))),
        _number(
            values, key_of("high", curve.name), "text", "tick", x=LEFT - 13, y=px(y(high) + 3.5), text_anchor="end"
        ),
    ]
    if high > low:
        key = key_of("low", curve.name)
        parts.append(_number(values, key, "text", "tick", x=LEFT - 13, y=px(y(low) + 3.5), text_anchor="end"))
    if low < 0 < high and min(abs(y(0) - TOP), abs(y(0) - BOTTOM)) > 12:
        parts.append(el("line", class_="zero", x1=LEFT, x2=RIGHT, y1=px(y(0)), y2=px(y(0))))
        parts.append(el("text", "zero", class_="tick", x=LEFT - 13, y=px(y(0) + 3.5), text_anchor="end"))
    ends = ((curve.steps[0], LEFT, "start"), (curve.steps[-1], RIGHT, "end"))
    for step, at, anchor in ends if len(curve.steps) > 1 else ():
        parts.append(_number(values, key_of("step", step), "text", "tick", x=at, y=HEIGHT - 4, text_anchor=anchor))
    parts.append(el("text", "step", class_="tick", x=px((LEFT + RIGHT) / 2), y=HEIGHT - 4, text_anchor="middle"))
    return join(parts)


def _line(value: list[float | None], steps: list[int], x: Place, y: Place) -> str:
    """A path with a gap at every missing value; a lone point is a line of no length, which round caps make a dot."""
    return " ".join(
        "M" + "L".join(f"{px(x(steps[i]))},{px(y(value[i] or 0.0))}" for i in (run if len(run) > 1 else run * 2))
        for run in _runs(value)
    )


def _band(curve: Curve, x: Place, y: Place) -> str:
    """One closed outline for every unbroken stretch: along the upper edge, back along the lower one."""
    found = []
    for run in _runs(curve.value):
        edges = [(x(curve.steps[i]), y(curve.edges(i)[0]), y(curve.edges(i)[-1])) for i in run]
        outline = [(at, top) for at, _, top in edges] + [(at, bottom) for at, bottom, _ in reversed(edges)]
        found.append("M" + "L".join(f"{px(a)},{px(b)}" for a, b in outline) + "Z")
    return " ".join(found)


def _runs(value: list[float | None]) -> list[list[int]]:
    """Stretches of places that have a value."""
    found: list[list[int]] = [[]]
    for i, v in enumerate(value):
        if v is not None:
            found[-1].append(i)
        elif found[-1]:
            found.append([])
    return [run for run in found if run]


def px(position: float) -> str:
    return f"{position:.2f}".rstrip("0").rstrip(".")


def spark(curve: Curve) -> Html:
    """A curve the size of a word."""
    low, high = curve.range if curve.std is None else _plain_range(curve)
    x, y = scale(curve.steps[0], curve.steps[-1], 2, 98), scale(low, high, 18, 2)
    line = el("path", class_="line", d=_line(curve.value, curve.steps, x, y))
    return el("svg", line, class_="spark", viewBox="0 0 100 20", aria_hidden="true")


def _plain_range(curve: Curve) -> tuple[float, float]:
    plain = [v for v in curve.value if v is not None]
    return min(plain), max(plain)


def whiskers(rows: list[tuple[str, float, float, float]]) -> Html:
    """One line a row over shares from none to all: a dot with its interval. Rows are (class, value, low, high)."""
    x = scale(0.0, 1.0, 4, 196)
    height = 14 * len(rows) + 4
    parts = [el("line", class_="axis", x1=x(0), x2=x(1), y1=height - 1, y2=height - 1)]
    for i, (kind, value, low, high) in enumerate(rows):
        at = 9 + 14 * i
        parts.append(el("line", class_=f"whisker {kind}", x1=px(x(low)), x2=px(x(high)), y1=at, y2=at))
        parts.append(el("circle", class_=f"dot {kind}", cx=px(x(value)), cy=at, r=3.5))
    return el("svg", *parts, class_="whiskers", viewBox=f"0 0 200 {height}", aria_hidden="true")
