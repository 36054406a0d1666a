"""What reinforcement added in each world, as a table and a figure, from the numbers that `worlds.py` tells.

Leaves out: the words around them, which people write in the page.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from guerdon.core.statistics import t_interval
from guerdon.display.svg import Svg, el, scale
from guerdon.evidence.figure import FAINT, GOOD, INK, path, px, svg, text

BEST = "pass@16"
LOWEST, HIGHEST = 0.10, 0.80  # success of a start that has room in both directions
PLACE = re.compile(r"(<!-- worlds: bench/worlds.py -->\n).*?(<!-- end of worlds -->)", re.DOTALL)
ACROSS, WIDTH, HEIGHT = 4, 250.0, 200.0  # panels in a row, and the room of each
LEFT, RIGHT, TOP, BOTTOM = 36.0, 232.0, 46.0, 168.0  # of a panel: where its curve is drawn
WAITS, MUTED = "#8a6d3b", "#777"  # what could already be done in many tries; words of lesser weight


def renewed(page: str, told: Mapping[str, Any]) -> str:
    """A page with these numbers in their place."""
    body = f"![success over steps in every world](figures/worlds.svg)\n\n{table(told)}\n"
    return PLACE.sub(lambda place: f"{place[1]}{body}{place[2]}", page)


def table(told: Mapping[str, Any]) -> str:
    """Success before and after, what was gained seed by seed, what many tries already did, and what a run took."""
    numbers = ["before", "after", "gained", f"{BEST} before", "of that room", "tokens a try", "seconds"]
    head = ["world", "task", "exam", *numbers]
    rows = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(head) - 2)}"]
    for world in told["worlds"].values():
        runs, gain = world["runs"], gains(world)
        mean, low, high, _ = t_interval(gain)
        room = headroom(world)
        cells = [
            world["title"],
            f"`{world['task']}`",
            _asked(runs),
            f"{100 * fmean(run['start'] for run in runs):.1f}",
            _percent([run["score"] for run in runs]),
            f"{100 * mean:+.1f} ({100 * low:+.1f} to {100 * high:+.1f})",
            "" if room is None else f"{100 * room:.1f}",
            _share(world, mean),
            f"{fmean(run['lengths'][0] for run in runs):.0f} to {fmean(run['lengths'][1] for run in runs):.0f}",
            f"{fmean(run['spent']['seconds'] for run in runs):.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join([*rows, "", _notes(told)])


def _notes(told: Mapping[str, Any]) -> str:
    worlds = list(told["worlds"].values())
    last = max((run for world in worlds for run in world["runs"]), key=lambda run: str(run["created"]))
    seeds = sorted({len(world["runs"]) for world in worlds})
    outside = [world["title"] for world in worlds if not LOWEST <= _start(world) <= HIGHEST]
    allowed = f"{100 * LOWEST:.0f} to {100 * HIGHEST:.0f} %"
    refused = (
        f" Starts outside of {allowed}, with little room in one direction: {', '.join(outside)}." if outside else ""
    )
    number = str(seeds[0]) if len(seeds) == 1 else f"{seeds[0]} to {seeds[-1]}"
    return (
        f"{told['model']}; {number} seeds; percent of held-out problems, in brackets 95 % intervals over"
        f" seeds. Gains are seed by seed."
        f" Seconds are of training on {last['versions']['device']}, {last['at_a_time']} runs at a time.{refused}"
    )


def gains(world: Mapping[str, Any]) -> list[float]:
    """What each seed gained over its own start, on its own exam."""
    return [run["score"] - run["start"] for run in world["runs"]]


def headroom(world: Mapping[str, Any]) -> float | None:
    """The share of problems that some of many tries of the start solves, where it was measured."""
    return fmean(each[BEST] for each in world["before"]) if world["before"] else None


def _start(world: Mapping[str, Any]) -> float:
    return fmean(run["start"] for run in world["runs"])


def _share(world: Mapping[str, Any], gain: float) -> str:
    """How much of what lay between one try and many was gained; nothing where nothing lay there."""
    room = headroom(world)
    return "" if room is None or room <= _start(world) else f"{100 * gain / (room - _start(world)):.0f} %"


def _asked(runs: Sequence[Mapping[str, Any]]) -> str:
    """How many problems an exam has, and how many of them differ, of the seed that has fewest."""
    asked, different = min((run["exam"] for run in runs), key=lambda exam: exam[1])
    return f"{asked:,}" if different == asked else f"{asked:,}, {different:,} different"


def _percent(values: Sequence[float]) -> str:
    mean, low, high, _ = t_interval(values)
    return f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


# --- the figure ---------------------------------------------------------------------------------------------------


def draw(told: Mapping[str, Any]) -> str:
    """A panel a world: success over steps, its mean with its interval and each seed faintly; a dashed line where many tries of
    the start are. All have one scale."""
    worlds = list(told["worlds"].values())
    across = min(ACROSS, len(worlds))
    panels = [part for i, world in enumerate(worlds) for part in _panel(world, i % across, i // across)]
    return svg(panels, WIDTH * across + 20, HEIGHT * -(-len(worlds) // across) + 10)


def _panel(world: Mapping[str, Any], column: int, row: int) -> list[Svg]:
    x0, y0 = 10 + WIDTH * column, HEIGHT * row
    end = max(point["spent"] for run in world["runs"] for point in run["curve"])
    x, y = scale(0.0, end, x0 + LEFT, x0 + RIGHT), scale(0.0, 1.0, y0 + BOTTOM, y0 + TOP)
    gained = f"{100 * fmean(gains(world)):+.1f} points".replace("-", "−")
    drawn = [
        text(world["title"], x0, y0 + 16, weight="600"),
        text(gained, x0 + RIGHT, y0 + 31, anchor="end", colour=GOOD, weight="600"),
        text(world["task"], x0, y0 + 31, colour=MUTED),
        text("0", x(0), y0 + BOTTOM + 16, anchor="middle", colour=MUTED),
        text(f"{end:.0f} steps", x(end), y0 + BOTTOM + 16, anchor="end", colour=MUTED),
    ]
    for share in (0.0, 0.5, 1.0):
        at = px(y(share))
        drawn.append(el("line", x1=px(x(0)), x2=px(x(end)), y1=at, y2=at, stroke=FAINT, stroke_width=0.5))
        drawn.append(text(f"{100 * share:.0f} %", x(0) - 6, y(share) + 4, anchor="end", colour=MUTED))
    for run in world["runs"]:
        seed = path([(x(p["spent"]), y(p["value"])) for p in run["curve"]])
        drawn.append(el("path", d=seed, fill="none", stroke=GOOD, stroke_width=0.7, opacity=0.3))
    points = world["curve"]
    upper = [(x(p["spent"]), y(min(1.0, p["high"]))) for p in points]
    lower = [(x(p["spent"]), y(max(0.0, p["low"]))) for p in reversed(points)]
    drawn.append(el("path", d=path([*upper, *lower]) + "Z", fill=GOOD, opacity=0.15))
    middle = path([(x(p["spent"]), y(p["mean"])) for p in points])
    drawn.append(el("path", d=middle, fill="none", stroke=GOOD, stroke_width=2))
    drawn.append(el("circle", cx=px(x(0)), cy=px(y(_start(world))), r=3.5, fill="#fff", stroke=INK, stroke_width=1.2))
    room = headroom(world)
    return drawn if room is None else [*drawn, *_waits(x(0), x(end), y(room))]


def _waits(left: float, right: float, y: float) -> list[Svg]:
    """The line of what many tries of the start already do."""
    line = el(
        "line", x1=px(left), x2=px(right), y1=px(y), y2=px(y), stroke=WAITS, stroke_width=1.5, stroke_dasharray="5 3"
    )
    return [line, text(f"{BEST} before", right, y - 4, anchor="end", colour=WAITS)]
