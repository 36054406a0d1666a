"""Metrics as curves: a value at each recorded step, with its spread where there is one.

A long curve is thinned to what a chart can show, and keeps its peaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.store.event_types import StepDone
from guerdon.store.headline import finite

BUCKETS = 200  # a chart is a few hundred pixels wide; each bucket keeps its ends and its extremes


@dataclass(frozen=True)
class Curve:
    """`metric` is the name of the value in the events; `std`, when there is one, is `name/std` there.

    `value` is None at steps where the metric has no finite number. `count` says at how many of all steps it has one.
    """

    name: str
    metric: str
    steps: list[int]
    value: list[float | None]
    std: list[float | None] | None
    count: int

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
        return (value - std, value + std) if std is not None else (value,)


def make_curves(done: Sequence[StepDone]) -> dict[str, Curve]:
    """Every metric by name, `X/mean` and `X/std` together as `X`; and the speed, which is tokens over seconds."""
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
        curves[name] = _thin(Curve(name, metric, [e.step for e in done], value, std, count))
    return curves


def _counts(event: StepDone) -> dict[str, float]:
    counts = {"tokens": event.tokens, "calls": event.calls, "episodes": event.episodes, "seconds": event.seconds}
    counts |= {"read": event.read, "updates": event.updates}
    return {**counts, "tokens_per_second": event.tokens / event.seconds} if event.seconds > 0 else counts


def _thin(curve: Curve) -> Curve:
    """At most a few points a bucket: its first and last step, its lowest and highest point, its first gap."""
    n = len(curve.steps)
    if n <= 4 * BUCKETS:
        return curve
    kept: set[int] = {curve.valued[0], curve.valued[-1]}
    for b in range(BUCKETS):
        inside = range(b * n // BUCKETS, (b + 1) * n // BUCKETS)
        valued = [i for i in inside if curve.value[i] is not None]
        kept |= {inside[0], inside[-1], *[i for i in inside if curve.value[i] is None][:1]}
        if valued:
            # the value's own extremes and, for a curve with a spread, those of its band
            kept |= {pick(valued, key=lambda i: curve.value[i] or 0.0) for pick in (min, max)}
            kept |= {min(valued, key=lambda i: curve.edges(i)[0]), max(valued, key=lambda i: curve.edges(i)[-1])}
    at = sorted(kept)
    return Curve(
        curve.name,
        curve.metric,
        [curve.steps[i] for i in at],
        [curve.value[i] for i in at],
        [curve.std[i] for i in at] if curve.std is not None else None,
        curve.count,
    )
