"""Metrics as curves: a value at each recorded step, with its spread where there is one.

A long curve is thinned to what a chart can show, and keeps its peaks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from guerdon.runs.event_types import StepDone
from guerdon.runs.headline import finite

ROUNDING = 1e-6  # what is smaller, beside numbers of the size of one, is what single precision leaves of a sum
BUCKETS = 200  # a chart is a few hundred pixels wide; each bucket keeps its ends and its extremes


@dataclass(frozen=True)
class Curve:
    """`metric` is the name of the value in the events; `std`, when there is one, is `name/std` there.

    `value` is None at steps where the metric has no finite number. `count` says at how many of all steps it has one. Nothing
    can lie outside of `bounds`, so neither is a spread drawn there.
    """

    name: str
    metric: str
    steps: list[int]
    value: list[float | None]
    std: list[float | None] | None
    count: int
    bounds: tuple[float, float] = (-math.inf, math.inf)

    @property
    def flat(self) -> Literal["", "zero", "rounding", "constant"]:
        """Whether there is nothing to be seen in it: zero in every step, zero but for rounding, or the same number in all. A
        learning rate may be as small as it likes."""
        low, high = self.plain_range
        size, spread = max(abs(low), abs(high)), [s for s in self.std or () if s is not None] or [0.0]
        if self.count < 2 or max(spread) - min(spread) > ROUNDING * max(size, 1.0):
            return ""
        if size < ROUNDING and max(spread) < ROUNDING and not self.name.endswith("/lr"):
            return "rounding" if size else "zero"
        return "constant" if high - low <= ROUNDING * size else ""

    @property
    def valued(self) -> list[int]:
        """The places that have a value; never empty."""
        return [i for i, v in enumerate(self.value) if v is not None]

    @property
    def plain_range(self) -> tuple[float, float]:
        """The lowest and the highest value, the spread left out."""
        values = [v for v in self.value if v is not None]
        return min(values), max(values)

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest point drawn, the spread included."""
        edges = [e for i in range(len(self.steps)) for e in self.edges(i)]
        return min(edges), max(edges)

    def edges(self, i: int) -> tuple[float, ...]:
        """What is drawn at a place: the value, or the two ends of its spread."""
        value, std = self.value[i], self.std[i] if self.std is not None else None
        if value is None:
            return ()
        if std is None:
            return (value,)
        least, most = self.bounds
        return max(least, value - std), min(most, value + std)


def make_curves(done: Sequence[StepDone], buckets: int = BUCKETS) -> dict[str, Curve]:
    """Every metric by name, `X/mean` and `X/std` together as `X`; and the speed, which is tokens over seconds. Long ones are
    thinned to what so many buckets keep; with 0 none is."""
    rows = [{**e.metrics, **_counts(e)} for e in done]
    names = list(dict.fromkeys(name for row in rows for name in row))
    curves = {}
    for metric in names:
        base = metric.removesuffix("/mean")
        spread = f"{base}/std" if metric.endswith("/mean") and f"{base}/std" in names else None
        if metric.endswith("/std") and f"{metric.removesuffix('/std')}/mean" in names:
            continue
        value = [finite(row.get(metric)) for row in rows]
        std = [finite(row.get(spread)) for row in rows] if spread else None
        if all(v is None for v in value):
            continue
        name = base if spread and base not in names else metric  # a metric may be called like a column
        count = sum(v is not None for v in value)
        bounds = _bounds(name, value, std)
        curve = Curve(name, metric, [e.step for e in done], value, std, count, bounds)
        curves[name] = _thin(curve, buckets) if buckets else curve
    return curves


def _bounds(name: str, value: Sequence[float | None], std: Sequence[float | None] | None) -> tuple[float, float]:
    """Bounds of the averaged values, as far as they are known: a length is not below zero; what has the spread
    of zeros and ones is made of them."""
    if name.partition("@")[0] == "length":
        return 0.0, math.inf
    both = [(v, s) for v, s in zip(value, std or (), strict=False) if v is not None and s is not None]
    if both and all(0 <= v <= 1 and abs(s * s - v * (1 - v)) < ROUNDING for v, s in both):
        return 0.0, 1.0
    return -math.inf, math.inf


def _counts(event: StepDone) -> dict[str, float]:
    counts = {"tokens": event.tokens, "calls": event.calls, "episodes": event.episodes, "seconds": event.seconds}
    counts |= {"read": event.read, "updates": event.updates}
    if event.env_steps:
        counts |= {"env_steps": event.env_steps}
    return {**counts, "tokens_per_second": event.tokens / event.seconds} if event.seconds > 0 else counts


def places_kept(value: Sequence[float | None], band: Sequence[Sequence[float]], buckets: int) -> list[int]:
    """Which places of a long curve are kept: of each bucket its first and last, the lowest and the highest value, those of
    the band around it (`band[i]` are the edges at a place, the lowest first), and the first gap."""
    n = len(value)
    if n <= 4 * buckets:
        return [*range(n)]
    there = [i for i, v in enumerate(value) if v is not None]
    kept: set[int] = {there[0], there[-1]} if there else set()
    for b in range(buckets):
        inside = range(b * n // buckets, (b + 1) * n // buckets)
        valued = [i for i in inside if value[i] is not None]
        kept |= {inside[0], inside[-1], *[i for i in inside if value[i] is None][:1]}
        if valued:
            kept |= {pick(valued, key=lambda i: value[i] or 0.0) for pick in (min, max)}
            kept |= {min(valued, key=lambda i: band[i][0]), max(valued, key=lambda i: band[i][-1])}
    return sorted(kept)


def _thin(curve: Curve, buckets: int) -> Curve:
    at = places_kept(curve.value, [curve.edges(i) for i in range(len(curve.steps))], buckets)
    if len(at) == len(curve.steps):
        return curve
    return Curve(
        curve.name,
        curve.metric,
        [curve.steps[i] for i in at],
        [curve.value[i] for i in at],
        [curve.std[i] for i in at] if curve.std is not None else None,
        curve.count,
        curve.bounds,
    )
