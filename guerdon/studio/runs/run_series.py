"""Runs over each other: a series for each arm, which is a run, or runs that differ in the seed alone.

A series of several seeds is their mean at every step at which all of them have a number, and reaches from the lowest to the
highest of them. Whether runs are one arm is decided as in `guerdon compare`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from guerdon.core.errors import Missing
from guerdon.display.run.curves import BUCKETS, X, full_curves, places, sections, sent, smoothed, title_of
from guerdon.display.run.metric_curves import Curve, places_kept
from guerdon.loop.compare.comparison import AFTER, BEFORE, chosen_metric
from guerdon.loop.compare.differences import ArmRate, difference, is_share, rate_of
from guerdon.loop.compare.prompts import shown_prompt
from guerdon.loop.compare.run_arms import RunArm, RunsRead, common, evaluation_curve, exam_numbers, read_arms
from guerdon.loop.compare.settings import differing
from guerdon.loop.compare.words import difference_words, in_words, rate_words
from guerdon.studio.library import Library
from guerdon.studio.runs.run_snapshot import snapshot

MOST = 24  # arms that colours and dashes can distinguish


def arms_of(library: Library, ids: Sequence[str], apart: bool = False) -> tuple[RunsRead, dict[str, str]]:
    """The arms of some runs, each run its own with `apart`; and the ids of the runs by the names of their
    folders. What is gone is noted and left out."""
    gone, runs, named = [], [], {}
    for id in dict.fromkeys(ids):
        try:
            runs.append(snapshot(library.shelved(id)))
            named[runs[-1].folder.named] = id
        except Missing as error:
            gone.append(str(error))
    read = read_arms(runs)
    if apart:
        every = [run for arm in read.arms for run in arm.runs]
        read.arms = [RunArm(f"R{i}" if len(every) > 26 else chr(64 + i), [run]) for i, run in enumerate(every, start=1)]
    read.notes = [*gone, *read.notes]
    if len(read.arms) > MOST:
        read.notes.append(f"the first {MOST} of {len(read.arms)} are shown: more lines are unreadable")
        read.arms = read.arms[:MOST]
    return read, named


def compared(
    library: Library, ids: Sequence[str], x: X, smooth: float, metric: str, apart: bool, also: Sequence[str]
) -> dict[str, Any]:
    """All that the page shows of several runs but what takes long; `also` are curves wanted besides those drawn large."""
    read, named = arms_of(library, ids, apart)
    arms = read.arms
    chosen = chosen_metric(arms, metric or None)
    rates = {arm.letter: [rate_of(arm, chosen, at) if chosen else None for at in (BEFORE, AFTER)] for arm in arms}
    curves = {arm.letter: [full_curves(run.run, run.done) for run in arm.runs] for arm in arms}
    first: dict[str, Curve] = {}
    for own in (run for each in curves.values() for run in each):
        first = {**own, **first}
    groups = sections(first)
    wanted = sent(groups, also)
    steps = {arm.letter: [places(run.done, x) for run in arm.runs] for arm in arms}
    drawn = {
        name: {
            "title": title_of(name),
            "noise": all(
                run[name].flat in ("zero", "rounding") for each in curves.values() for run in each if name in run
            ),
            "series": {
                letter: series([run[name] for run in each if name in run], steps[letter], smooth)
                for letter, each in curves.items()
                if all(name in run for run in each)
            },
        }
        for name in wanted
        if name in first
    }
    return {
        "arms": [
            {
                "letter": arm.letter,
                "runs": [{"id": named[r.named], "name": r.run.path.name, "seed": r.seed, "status": r.status} for r in arm.runs],
                "recipe": arm.first.run.name,
                "task": arm.first.task,
                "rates": [_rate(chosen, rate) for rate in rates[arm.letter]],
                "spent": arm.mean_spent(),
            }
            for arm in arms
        ],
        "notes": read.notes,
        "metric": chosen,
        "metric_words": in_words(chosen) if chosen else "",
        "is_share": bool(chosen) and is_share(chosen),
        "metrics": common([exam_numbers(run) for arm in arms for run in arm.runs]),
        "settings": [asdict(setting) for setting in differing(arms)],
        "held_out": {arm.letter: _held_out(arm, chosen, x) for arm in arms} if chosen else {},
        "sections": groups,
        "curves": drawn,
        "x": x,
    }  # fmt: skip


def series(curves: Sequence[Curve], at: Sequence[Mapping[int, float]], smooth: float = 0.0) -> dict[str, Any]:
    """Curves of one arm as one: the mean over its runs, from the lowest to the highest of them, thinned to what a chart can
    show; `seeds` are how many."""
    points = [dict(zip(c.steps, c.value, strict=True)) for c in curves]
    steps = [step for step in curves[0].steps if all(step in p for p in points)]
    value: list[float | None] = []
    edges: list[tuple[float, ...]] = []
    for step in steps:
        each = [v for p in points if (v := p[step]) is not None]
        value.append(fmean(each) if len(each) == len(points) else None)
        edges.append((min(each), max(each)) if len(each) == len(points) else ())
    kept = places_kept(value, edges, BUCKETS)
    made: dict[str, Any] = {
        "step": [steps[i] for i in kept],
        "x": [fmean(place[steps[i]] for place in at) for i in kept],
        "value": [value[i] for i in kept],
        "seeds": len(curves),
    }
    if len(curves) > 1:
        made["low"] = [edges[i][0] if edges[i] else None for i in kept]
        made["high"] = [edges[i][-1] if edges[i] else None for i in kept]
    if smooth > 0:
        soft = smoothed(value, smooth)
        kept = places_kept(soft, [(v,) if v is not None else () for v in soft], BUCKETS)
        made["smooth"] = {
            "x": [fmean(place[steps[i]] for place in at) for i in kept], "value": [soft[i] for i in kept]
        }  # fmt: skip
    return made


def _held_out(arm: RunArm, metric: str, x: X) -> dict[str, Any] | None:
    """A number of exams over what was spent."""
    own = [curve for run in arm.runs if (curve := evaluation_curve(run, metric)) is not None]
    if len(own) < len(arm.runs):
        return None
    at = []
    for run in arm.runs:
        spent = [cost for cost, _ in run.run.curve]
        done = [e.step + 1 for e in run.evaluated]
        at.append({step: float(step) if x == "steps" else cost[x] for step, cost in zip(done, spent, strict=True)})
    return series(own, at)


def _rate(metric: str, rate: ArmRate | None) -> dict[str, Any] | None:
    return None if rate is None else {**asdict(rate), "words": rate_words(metric, rate)}


def apart_by(library: Library, ids: Sequence[str], metric: str, apart: bool, arm: str, at: str) -> dict[str, Any]:
    """The difference of an arm from the first one, before or after training: per problem where both were evaluated on the
    same ones."""
    arms = arms_of(library, ids, apart)[0].arms
    other = next((each for each in arms[1:] if each.letter == arm), None)
    if other is None:
        raise Missing(f"there is no arm {arm[:8]} to compare with the first")
    chosen = chosen_metric(arms, metric or None)
    between = difference(other, arms[0], chosen, BEFORE if at == "before" else AFTER)
    return {**asdict(between), "verdict": between.verdict, "words": difference_words(chosen, between)}


def prompt_of(library: Library, ids: Sequence[str]) -> dict[str, Any]:
    """The prompt on which the runs differ most, as addresses of the page that shows both sides."""
    read, named = arms_of(library, ids)
    asked = shown_prompt(read.arms, None, None)
    sides = [
        {"arm": each.arm, "run": named[each.run.named], "step": each.step, "mean": each.mean} for each in asked.runs
    ]
    return {
        "task": f"{asked.family}/{asked.id}",
        "prompt": asked.prompt,
        "column": asked.column,
        "sides": sides,
        "note": asked.note,
    }
