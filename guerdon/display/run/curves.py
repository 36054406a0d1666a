"""The curves of a run for the page: every metric, grouped and titled as the report has them, thinned to what a chart can show.

Smoothing is done before thinning: the points that are kept of a long curve are its extremes, of which no mean could be taken.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from guerdon.display.run.curve_titles import HEADINGS, chart_title, drawn_names
from guerdon.display.run.draws import BY_KIND, make_draws, shades
from guerdon.display.run.metric_curves import Curve, make_curves, places_kept
from guerdon.runs.event_types import StepDone
from guerdon.runs.headline import now_metric
from guerdon.runs.run import Run

X = Literal["steps", "tokens", "seconds"]
BUCKETS = 80  # each keeps some five points
OTHERS = ("Other metrics", "Whatever else the run measured, by the names in its events.", "other")
LARGE = 60  # curves of a section that are sent unasked
KEPT = 12  # runs
_kept: dict[tuple[str, int], tuple[tuple[StepDone, ...], dict[str, Curve]]] = {}
_lock = threading.Lock()
KINDS = ("By kind of problem", "A number for each kind: draws, shares and scores of a curriculum.", "kind")


def curves_of(run: Run, x: X = "steps", smooth: float = 0.0, also: Sequence[str] | None = ()) -> dict[str, Any]:
    """The sections with the curves that are drawn large and those wanted `also` (None: all), and what the curriculum drew."""
    done = run.events(StepDone)
    curves = full_curves(run, done)
    headline = run.headline
    near = now_metric(headline.key) if headline is not None and headline.source == "exam" else None
    first = next((c.name for c in curves.values() if near and c.metric == near[0]), "")
    at, groups = places(done, x), sections(curves)
    wanted = [*curves] if also is None else sent(groups, also)
    return {
        "x": x,
        "steps_done": run.steps_done,
        "stored": some_of(run.rollout_steps),
        "first": first,
        "curves": {name: shown_curve(curves[name], at, smooth) for name in wanted if name in curves},
        "sections": groups,
        "draws": draws_of(done),
    }


def full_curves(run: Run, done: Sequence[StepDone]) -> dict[str, Curve]:
    """Every point of every metric; those of the runs that were looked at last are kept until the runs change."""
    key = (str(run.path), run.folder.events.stat().st_ino if run.folder.events.exists() else 0)
    with _lock:
        kept = _kept.pop(key, None)
    curves = kept[1] if kept is not None and kept[0] == tuple(done) else make_curves(done, buckets=0)
    with _lock:
        _kept[key] = (tuple(done), curves)
        while len(_kept) > KEPT:
            _kept.pop(next(iter(_kept)))
    return curves


def some_of(steps: Sequence[int], most: int = 2000) -> list[int]:
    """Of many steps as many as that, spread evenly, the first and the last among them."""
    n = len(steps)
    return [*steps] if n <= most else [steps[round(i * (n - 1) / (most - 1))] for i in range(most)]


def sections(curves: Mapping[str, Curve]) -> list[dict[str, Any]]:
    """Rewards, the policy, the rollouts as in the report; then whatever else there is."""
    drawn = drawn_names(curves)
    taken = {name for names in drawn.values() for name in names}
    groups = [(*HEADINGS[tone], tone, names) for tone, names in drawn.items()]
    rest = sorted(name for name in curves if name not in taken)
    by_kind = [name for name in rest if name.startswith(BY_KIND)]
    groups += [(*OTHERS, [name for name in rest if name not in by_kind]), (*KINDS, by_kind)]
    return [
        {"title": title, "lead": lead, "tone": tone, "names": names, "titles": [title_of(name) for name in names]}
        for title, lead, tone, names in groups
        if names
    ]


def sent(groups: Sequence[Mapping[str, Any]], also: Sequence[str]) -> list[str]:
    """Whose numbers go to the page: what the report draws large, as far as it is viewed, and what was asked for."""
    large = [name for group in groups if group["tone"] in HEADINGS for name in group["names"][:LARGE]]
    return [*dict.fromkeys([*large, *also])]


def title_of(name: str) -> str:
    title = chart_title(name)
    return title.words + title.own


def places(done: Sequence[StepDone], x: X) -> dict[int, float]:
    """Where each step lies on an axis: its number, or what had been spent when it was done."""
    if x == "steps":
        return {e.step: e.step for e in done}
    spent, at = 0.0, {}
    for event in done:
        spent += event.spent[x]
        at[event.step] = spent
    return at


def shown_curve(curve: Curve, at: Mapping[int, float], smooth: float) -> dict[str, Any]:
    """A curve as the page draws it, with its title; `value`, and `low` and `high` where it has a spread, over `x`."""
    edges = [curve.edges(i) for i in range(len(curve.steps))]
    kept = places_kept(curve.value, edges, BUCKETS)
    steps = [curve.steps[i] for i in kept]
    shown: dict[str, Any] = {
        "title": title_of(curve.name),
        "metric": curve.metric,
        "flat": curve.flat,
        "count": curve.count,
        "step": steps,
        "x": [at[step] for step in steps],
        "value": [curve.value[i] for i in kept],
    }
    if curve.std is not None:
        shown["low"] = [edges[i][0] if edges[i] else None for i in kept]
        shown["high"] = [edges[i][-1] if edges[i] else None for i in kept]
    if smooth > 0:
        soft = smoothed(curve.value, smooth)
        kept = places_kept(soft, [(v,) if v is not None else () for v in soft], BUCKETS)
        steps = [curve.steps[i] for i in kept]
        shown["smooth"] = {"step": steps, "x": [at[step] for step in steps], "value": [soft[i] for i in kept]}
    return shown


def smoothed(values: Sequence[float | None], weight: float) -> list[float | None]:
    """The mean of all values so far, each counting `weight` times as much as the one after it; gaps stay gaps.

    >>> smoothed([1.0, 0.0, None, 0.0], 0.5)
    [1.0, 0.3333333333333333, None, 0.14285714285714285]
    """
    total = count = 0.0
    soft: list[float | None] = []
    for value in values:
        if value is not None:
            total, count = weight * total + value, weight * count + 1
        soft.append(None if value is None else total / count)
    return soft


def draws_of(done: Sequence[StepDone]) -> dict[str, Any] | None:
    """What a curriculum drew, as shares of each column of steps; None where there is only one."""
    draws = make_draws(done)
    if draws is None:
        return None
    kinds = [
        {
            "kind": kind,
            "hue": hue,
            "depth": depth,
            "share": draws.share[kind],
            "early": draws.early.get(kind),
            "late": draws.late.get(kind),
            "whole": draws.whole.get(kind),
        }
        for kind, (hue, depth) in zip(draws.kinds, shades(draws.kinds), strict=True)
    ]
    return {"first": draws.first, "last": draws.last, "kinds": kinds}
