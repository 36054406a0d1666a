"""Where the ink of a chart lies: paths and places for the SVG of `templates/charts.html`.

At an axis stand round numbers, and they reach around all that is drawn; at that of steps the run's own first and last.
Leaves out: runs. A chart is drawn from a `Curve` or from shares, and numbers keep the keys of where they come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from guerdon.store.svg import Place, scale

WIDTH, HEIGHT = 340, 132
LEFT, RIGHT, TOP, BOTTOM = 58.0, 334.0, 10.0, 112.0


def line_path(value: list[float | None], steps: list[int], x: Place, y: Place) -> str:
    """A path with a gap at every missing value; a lone point is a line of no length, which round caps make a dot."""
    return " ".join(
        "M" + "L".join(f"{px(x(steps[i]))},{px(y(value[i] or 0.0))}" for i in (run if len(run) > 1 else run * 2))
        for run in _runs(value)
    )


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
