"""A comparison as the studio shows it: its JSON, and the page of `guerdon compare --html`, one file that loads nothing.

A series of several seeds is their mean at every step at which all of them have a number, and reaches from the lowest to the
highest of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from statistics import fmean
from typing import Any

from guerdon.display.report.document import document
from guerdon.display.report.samples import Samples, place_of
from guerdon.display.run.curves import BUCKETS, X, full_curves, places, sections, sent, smoothed, title_of
from guerdon.display.run.metric_curves import Curve, places_kept
from guerdon.results.compare.compared import ComparedRuns
from guerdon.results.compare.differences import AFTER, BEFORE, ArmRate, is_share, rate_of
from guerdon.results.compare.prompts import PromptInRun, told_apart
from guerdon.results.compare.run_arms import RunArm, common, evaluation_curve, exam_numbers
from guerdon.results.compare.settings import differing
from guerdon.results.compare.words import difference_lines, difference_words, in_words, plain, rate_words

SCRIPT = "comparison.js"
AXES: tuple[X, ...] = ("steps", "tokens", "seconds")


def comparison_page(compared: ComparedRuns) -> str:
    title = " against ".join(arm.first.run.path.name for arm in compared.arms)
    ids = {run.named: run.named for arm in compared.arms for run in arm.runs}
    notes: list[str] = []
    sides = [_side(run, compared.prompt.column, notes) for run in compared.prompt.runs]
    shown = {
        x: compared_arms(compared.arms, compared.metric, [*compared.notes, *notes], ids, x, also=None) for x in AXES
    }
    differences = {
        f"{each.arm}/{each.at}": {
            **asdict(each), "verdict": each.verdict, "words": difference_words(compared.metric, each)
        }
        for each in compared.differences
    }  # fmt: skip
    prompt = {"prompt": compared.prompt.prompt, "note": compared.prompt.note, "sides": sides}
    data = {"title": title, "compared": shown, "differences": differences, "prompt": prompt}
    return document(title, SCRIPT, data, [title, *_lines(compared)])


def _side(run: PromptInRun, column: str, notes: list[str]) -> dict[str, Any]:
    """What one run said to the prompt: rollouts with labels, and the studio's answers about them."""
    samples, batch = Samples(run.run.run, notes.append), run.run.run.batch(run.step)
    tries = []
    for each, times in told_apart(run.tries):
        score = f"{column} {plain(each.reward)}" if each.reward is not None else column
        episode, segment = place_of(batch, each.track)
        if samples.hold(run.step, episode):
            label = f"{score}, {times} times" if times > 1 else score
            tries.append({"label": label, "episode": episode, "segment": segment})
    title = f"{run.arm}: {run.run.named}, step {run.step:,}"
    return {"title": title, "step": run.step, "samples": tries, "run": run.run.named, "answers": samples.data}


def _lines(compared: ComparedRuns) -> list[str]:
    """The essentials in words."""
    arms = []
    for arm in compared.arms:
        ends = [rate_words(compared.metric, rate) for rate in compared.rates[arm.letter] if rate is not None]
        arms.append(f"{arm.letter}: {arm.name}{', ' if ends else ''}{' → '.join(ends)}")
    settings = [f"{setting.name}: {', '.join(setting.values)}" for setting in compared.settings]
    return [*arms, *difference_lines(compared.metric, compared.differences), *settings, *compared.notes]


# --- the studio's answer ------------------------------------------------------------------------------------------------


def compared_arms(
    arms: Sequence[RunArm],
    chosen: str,
    notes: Sequence[str],
    ids: Mapping[str, str],
    x: X = "steps",
    smooth: float = 0.0,
    also: Sequence[str] | None = (),
) -> dict[str, Any]:
    """All that the page shows of compared runs but what takes long. `chosen` is a number of the exams; `ids` are those of the
    runs by their folders' names; `also` are curves wanted besides those drawn large (None: all)."""
    rates = {arm.letter: [rate_of(arm, chosen, at) if chosen else None for at in (BEFORE, AFTER)] for arm in arms}
    curves = {arm.letter: [full_curves(run.run, run.done) for run in arm.runs] for arm in arms}
    first: dict[str, Curve] = {}
    for own in (run for each in curves.values() for run in each):
        first = {**own, **first}
    groups = sections(first)
    wanted = [*first] if also is None else sent(groups, also)
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
                "runs": [{"id": ids[r.named], "name": r.run.path.name, "seed": r.seed, "status": r.status} for r in arm.runs],
                "recipe": arm.first.run.name,
                "task": arm.first.task,
                "rates": [_rate(chosen, rate) for rate in rates[arm.letter]],
                "spent": arm.mean_spent(),
            }
            for arm in arms
        ],
        "notes": [*notes],
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
