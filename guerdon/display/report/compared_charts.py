"""Curves of several runs in one chart: one scale for all, a line and a colour each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.display.report.charts import BOTTOM, HEIGHT, LEFT, RIGHT, TOP, WIDTH, line_path, px
from guerdon.display.report.shown_numbers import show
from guerdon.display.run.curve_titles import ChartTitle
from guerdon.display.run.metric_curves import Curve
from guerdon.store.svg import scale


@dataclass(frozen=True)
class ComparedLine:
    """One curve: `hue` is its colour's number, `latest` its last value."""

    name: str
    hue: int
    path: str
    end: tuple[str, str]
    latest: str


@dataclass(frozen=True)
class ComparedChart:
    """Lines over the same axes. Places are in the units of the view box, `box`."""

    title: ChartTitle
    name: str
    lines: list[ComparedLine]
    value_ticks: list[tuple[str, str]]  # text, place
    step_ticks: tuple[str, str]

    box = (WIDTH, HEIGHT)
    frame = (LEFT, RIGHT, TOP, BOTTOM)


def compared_chart(title: ChartTitle, name: str, curves: Sequence[tuple[str, int, Curve]]) -> ComparedChart:
    """Curves come with the name and the hue of whose they are."""
    ranges = [curve.plain_range for _, _, curve in curves]
    low, high = min(r[0] for r in ranges), max(r[1] for r in ranges)
    steps = [step for _, _, curve in curves for step in curve.steps]
    x, y = scale(min(steps), max(steps), LEFT, RIGHT), scale(low, high, BOTTOM, TOP)
    lines = []
    for owner, hue, curve in curves:
        last = curve.valued[-1]
        value = curve.value[last] or 0.0
        end = px(x(curve.steps[last])), px(y(value))
        lines.append(ComparedLine(owner, hue, line_path(curve.value, curve.steps, x, y), end, show(value)))
    ticks = [(show(high), px(y(high) + 3.5)), *([(show(low), px(y(low) + 3.5))] if high > low else [])]
    return ComparedChart(title, name, lines, ticks, (show(min(steps)), show(max(steps))))
