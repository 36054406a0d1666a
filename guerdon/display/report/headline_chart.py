"""The first chart of the report: what the run is about, over its steps.

A line is what each step found on the problems it trained on; points with whiskers are the held-out evaluations.
Both stand over the number of steps that had been taken: a step's own tries were played by the weights before its update.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from guerdon.display.report.charts import Tick, axis_tick, line_path, px, round_ticks
from guerdon.display.report.metric_curves import Curve
from guerdon.display.report.shown_numbers import ShownNumber, Style, key_of, number, show
from guerdon.display.svg import Place, scale
from guerdon.runs.headline import Headline, Point, now_metric

WIDTH, HEIGHT = 720, 200
LEFT, RIGHT, TOP, BOTTOM = 48.0, 712.0, 8.0, 172.0


@dataclass(frozen=True)
class HeldOut:
    """A held-out evaluation: where it lies, and the ends of its interval where it has one."""

    x: str
    y: str
    low: str | None
    high: str | None


@dataclass(frozen=True)
class HeadlineChart:
    """`name` is the curve of the steps, empty where there is none."""

    words: str
    name: str
    latest: ShownNumber | None
    low: float
    high: float
    last: int  # steps at the right end
    is_share: bool
    has_intervals: bool
    value_ticks: list[Tick]
    step_ticks: list[Tick]
    line: str
    points: list[HeldOut]

    box = (WIDTH, HEIGHT)
    frame = (LEFT, RIGHT, TOP, BOTTOM)
    middle = f"{(LEFT + RIGHT) / 2:g}"

    @property
    def key(self) -> str:
        """Of its curve in the data block."""
        return key_of(self.name)


def headline_chart(headline: Headline | None, curves: Mapping[str, Curve]) -> HeadlineChart | None:
    """None where there is nothing to draw over steps: of a study, of a run without an exam and without right and wrong."""
    if headline is None or headline.source == "result" or headline.key == "reward/mean":
        return None
    points = headline.points if headline.source == "exam" else ()
    about = now_metric(headline.key) if points else None
    metric = about[0] if about is not None else "" if points else headline.key
    curve = next((c for c in curves.values() if c.metric == metric), None)
    if curve is None and len(points) < 2:
        return None
    last = max([p.steps_done for p in points] + ([curve.steps[-1]] if curve is not None else []))
    values = [e for p in points for e in (p.value, p.low, p.high) if e is not None]
    values += curve.plain_range if curve is not None else []
    ticks = [0.0, 0.25, 0.5, 0.75, 1.0]
    if not headline.is_share:
        low, high = min(values), max(values)
        ticks = round_ticks(low, high) if high > low else [low]
    style: Style = "tick_share" if headline.is_share else "tick"
    x, y = scale(0, last, LEFT, RIGHT), scale(ticks[0], ticks[-1], BOTTOM, TOP)
    return HeadlineChart(
        headline.words,
        curve.name if curve is not None else "",
        _latest(curve, headline.is_share),
        ticks[0],
        ticks[-1],
        last,
        headline.is_share,
        any(p.low is not None for p in points),
        [axis_tick(headline.key, at, LEFT - 10, y(at) + 4, style) for at in ticks],
        [_step_tick(at, x(at), last) for at in _steps(last)],
        line_path(curve.value, curve.steps, x, y) if curve is not None else "",
        [_held_out(p, x, y) for p in points],
    )


def _held_out(point: Point, x: Place, y: Place) -> HeldOut:
    low, high = (None if end is None else px(y(end)) for end in (point.low, point.high))
    return HeldOut(px(x(point.steps_done)), px(y(point.value)), low, high)


def _latest(curve: Curve | None, is_share: bool) -> ShownNumber | None:
    if curve is None:
        return None
    i = curve.valued[-1]
    return number(
        key_of("curve", f"{curve.metric}@{curve.steps[i]}"), curve.value[i], "share" if is_share else "number"
    )


def _steps(last: int) -> list[int]:
    """Round numbers of steps, and the last."""
    if last < 2:
        return [0, 1][: last + 1]
    inside = [int(at) for at in round_ticks(0, last) if at == int(at) and at < last * 0.93]
    return [*inside, last]


def _step_tick(step: int, x: float, last: int) -> Tick:
    anchor = "start" if step == 0 else "end" if step == last else "middle"
    return Tick(
        ShownNumber(key_of("axis", "steps", repr(float(step))), show(step, "count")), x, px(BOTTOM + 13), anchor
    )
