"""Where the ink of a chart lies: paths and places for the SVG of `templates/charts.html`.

At an axis stand round numbers, and they reach around all that is drawn; at that of steps the run's own first and last.
Leaves out: runs. A chart is drawn from a `Curve` or from shares, and numbers keep the keys of where they come from.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.display.report.metric_curves import Curve
from guerdon.display.report.shown_numbers import ShownNumber, Style, key_of, number, show
from guerdon.display.svg import Place, scale

WIDTH, HEIGHT = 340, 132
LEFT, RIGHT, TOP, BOTTOM = 58.0, 334.0, 10.0, 112.0


@dataclass(frozen=True)
class ChartTitle:
    """`words` are the report's, `own` the run's, which stand after them."""

    words: str
    own: str = ""


@dataclass(frozen=True)
class Tick:
    """A number at an axis."""

    number: ShownNumber
    x: float
    y: str
    anchor: str = "end"


@dataclass(frozen=True)
class LineChart:
    """A curve with its spread, its axes and its latest value. Places are in the units of the view box, `box`."""

    id: int
    title: ChartTitle
    name: str
    latest: ShownNumber
    latest_spread: ShownNumber | None
    latest_step: ShownNumber
    low: float
    high: float
    axis: tuple[str, str]  # from, to
    value_ticks: list[Tick]
    step_ticks: list[Tick]
    zero: str | None  # where zero lies, when inside
    line: str
    band: str | None
    end: tuple[str, str]
    marks: tuple[str, ...] = ()  # where alarms were raised

    box = (WIDTH, HEIGHT)
    frame = (LEFT, RIGHT, TOP, BOTTOM)
    middle = f"{(LEFT + RIGHT) / 2:g}"

    @property
    def key(self) -> str:
        """Of its curve in the data block."""
        return key_of(self.name)

    @property
    def is_named_in_words(self) -> bool:
        """Whether its name in the events stands beside its title."""
        return self.title != ChartTitle("", self.name)


def line_chart(curve: Curve, title: ChartTitle, id: int) -> LineChart:
    """The chart of a curve. `id` is unique on a page."""
    low, high = curve.range
    ticks = round_ticks(low, high) if high > low else []
    if ticks:
        low, high = ticks[0], ticks[-1]
    x, y = scale(curve.steps[0], curve.steps[-1], LEFT, RIGHT), scale(low, high, BOTTOM, TOP)
    last = curve.valued[-1]
    step, value = curve.steps[last], curve.value[last]
    assert value is not None
    ends = ((curve.steps[0], LEFT, "start"), (curve.steps[-1], RIGHT, "end"))
    return LineChart(
        id,
        title,
        curve.name,
        ShownNumber(key_of("curve", f"{curve.metric}@{step}"), show(value)),
        number(key_of("curve", f"{curve.name}/std@{step}"), curve.std[last] if curve.std is not None else None),
        step_number(step),
        low,
        high,
        (px(y(low)), px(y(high))),
        [axis_tick(curve.name, at, LEFT - 13, y(at) + 3.5) for at in ticks]
        or [Tick(ShownNumber(key_of("most", curve.name), show(high)), LEFT - 13, px(y(high) + 3.5))],
        [
            Tick(step_number(step), at, px(HEIGHT - 4), anchor)
            for step, at, anchor in (ends if len(curve.steps) > 1 else ())
        ],
        px(y(0)) if low < 0 < high else None,
        line_path(curve.value, curve.steps, x, y),
        _band(curve, x, y) if curve.std is not None else None,
        (px(x(step)), px(y(value))),
    )


def round_ticks(low: float, high: float) -> list[float]:
    """Round numbers at even distances, three to six of them, the first not above `low` and the last not below `high`.

    >>> round_ticks(0.0333, 0.91), round_ticks(-0.2, 1.207)
    ([0.0, 0.5, 1.0], [-0.5, 0.0, 0.5, 1.0, 1.5])
    """
    power = math.floor(math.log10((high - low) / 4))
    steps = [(digit, power) for digit in (1, 2, 5)] + [(1, power + 1)]  # a digit before so many zeros
    digit, power = next(s for s in steps if s[0] * 10.0 ** s[1] * 4 >= (high - low) * (1 - 1e-9))
    size = digit * 10.0**power
    first, last = math.floor(low / size + 1e-9), math.ceil(high / size - 1e-9)
    return [float(f"{i * digit}e{power}") for i in range(first, last + 1)]


def axis_tick(name: str, value: float, x: float, y: float, style: Style = "tick") -> Tick:
    """A round number at the axis of values. Its key is itself: it is of no file of the run."""
    return Tick(ShownNumber(key_of("axis", name, repr(value)), show(value, style)), x, px(y))


def step_number(step: int) -> ShownNumber:
    """A step of the run as a number on the page."""
    return ShownNumber(key_of("step", step), show(step))


def spark(curve: Curve) -> str:
    """The path of a curve the size of a word."""
    low, high = curve.plain_range
    x, y = scale(curve.steps[0], curve.steps[-1], 2, 98), scale(low, high, 18, 2)
    return line_path(curve.value, curve.steps, x, y)


def line_path(value: list[float | None], steps: list[int], x: Place, y: Place) -> str:
    """A path with a gap at every missing value; a lone point is a line of no length, which round caps make a dot."""
    return " ".join(
        "M" + "L".join(f"{px(x(steps[i]))},{px(y(value[i] or 0.0))}" for i in (run if len(run) > 1 else run * 2))
        for run in _runs(value)
    )


def _band(curve: Curve, x: Place, y: Place) -> str:
    """One closed outline for every unbroken stretch: along the upper edge, back along the lower one."""
    outlines = []
    for run in _runs(curve.value):
        edges = [(x(curve.steps[i]), y(curve.edges(i)[0]), y(curve.edges(i)[-1])) for i in run]
        outline = [(at, top) for at, _, top in edges] + [(at, bottom) for at, bottom, _ in reversed(edges)]
        outlines.append("M" + "L".join(f"{px(a)},{px(b)}" for a, b in outline) + "Z")
    return " ".join(outlines)


def _runs(value: list[float | None]) -> list[list[int]]:
    """Stretches of places that have a value."""
    runs: list[list[int]] = [[]]
    for i, v in enumerate(value):
        if v is not None:
            runs[-1].append(i)
        elif runs[-1]:
            runs.append([])
    return [run for run in runs if run]


def px(position: float) -> str:
    """A place in a view box, to a hundredth."""
    return f"{position:.2f}".rstrip("0").rstrip(".")


@dataclass(frozen=True)
class Whisker:
    """A dot with its interval, `tone` its class in the style."""

    tone: str
    value: str
    low: str
    high: str
    y: int


@dataclass(frozen=True)
class Whiskers:
    """Shares with their intervals, one below the other, on a line from none to all."""

    rows: list[Whisker]

    ends = ("4", "196")  # where none and all lie

    @property
    def height(self) -> int:
        return 14 * len(self.rows) + 4


def whiskers(rows: Sequence[tuple[str, float, float, float]]) -> Whiskers:
    """Rows are (tone, value, low, high)."""
    none, every = map(float, Whiskers.ends)
    x = scale(0.0, 1.0, none, every)
    return Whiskers(
        [
            Whisker(tone, px(x(value)), px(x(low)), px(x(high)), 9 + 14 * i)
            for i, (tone, value, low, high) in enumerate(rows)
        ]
    )
