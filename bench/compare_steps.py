"""The comparison of ways to reward steps: who says which line was right, and what that does to a policy. Table and figure.

Leaves out: running it (`compare.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from bench.compare_figures import differences
from guerdon.core.recipe import Claim
from guerdon.core.statistics import t_interval
from guerdon.evidence.figure import svg, text
from guerdon.recipes.process.process_claims import PRM, STEPS

ARMS = {  # who says which steps were right: the recipe that is paid so
    "process_grpo process=0 outcome=1": "nobody: the outcome alone",
    "process_grpo": "the task's step checker",
    "process_grpo scorer=prm": "a trained PRM, as it stands",
    "clip-delta-prm-reward": "the same PRM, clipped and in deltas",
    "prime": "an implicit PRM, taught online",
    "spo form=chain cuts=1": "rollouts from segments",
    "spo branch=[4,2,2] tokens=16": "a tree of segments",
    "rrm grader=sprig": "the model itself, in words",
}
CLAIM = Claim("who says which steps were right", start={"prm": PRM}, **STEPS)
FIRST = next(iter(ARMS))  # what the others are held against
NUMBERS = ("sound@1", "false_positive_share", "first_error_f1", "step_auc", "step_ece", "farm_gain", "farm_step")


def stepwise(record: Mapping[str, Any]) -> dict[str, float]:
    """What the exam of steps, or the plain one, found of a run: the mean of its late evaluation and its last."""
    late = [point["result"] for point in record["points"][-2:]]
    numbers = {}
    for name in NUMBERS:
        known = [result.get(name, result.get(f"steps/{name}")) for result in late]
        numbers |= {name: fmean(known)} if None not in known else {}
    return numbers


def table(compared: Mapping[str, Any]) -> str:
    """Accuracy, answers right by right lines alone, right ones by wrong lines; how well the reward judges and what it can be
    farmed for; and cost."""
    arms = compared["arms"]
    head = ["who judges", "recipe", "accuracy", "less outcome", "sound", "right by wrong lines", "first-error F1",
            "farmed a step", "tokens an answer", "read", "seconds"]  # fmt: skip
    rows = [f"| {' | '.join(head)} |", f"| --- | --- |{' ---: |' * (len(head) - 2)}"]
    for name, arm in arms.items():
        runs = arm["runs"]
        gap = t_interval([a["score"] - b["score"] for a, b in zip(runs, arms[FIRST]["runs"], strict=True)])
        cells = [
            ARMS[name],
            f"`{name}`",
            _percent([run["score"] for run in runs]),
            "" if name == FIRST else f"{100 * gap[0]:+.1f} ({100 * gap[1]:+.1f} to {100 * gap[2]:+.1f})",
            _percent(_of(runs, "sound@1")),
            _percent(_of(runs, "false_positive_share")),
            "" if name == FIRST else _number(_of(runs, "first_error_f1"), "{:.2f}"),  # the first is paid for no line
            "" if name == FIRST else _number(_of(runs, "farm_step"), "{:+.2f}"),
            f"{fmean(run['length'] for run in runs):.1f}",
            f"{fmean(run['spent']['read'] for run in runs):,.0f}",
            f"{fmean(run['spent']['seconds'] for run in runs):.0f}",
        ]
        rows.append(f"| {' | '.join(cells)} |")
    before = fmean(run["curve"][0]["value"] for run in arms[FIRST]["runs"])
    notes = (
        f"{compared['task']}, {compared['model']['version']}, {compared['budget']:,.0f} tokens each,"
        f" {len(arms[FIRST]['runs'])} seeds; before training {100 * before:.1f} %. In brackets 95 % intervals; differences are"
        " seed by seed. The trained PRM is taught before, outside of the budget. Seconds are of training on"
        f" {compared['versions']['device']}, {compared['versions']['at_a_time']} runs at a time."
    )
    return "\n".join([*rows, "", notes])


def draw(compared: Mapping[str, Any]) -> str:
    """How each arm differs from outcomes alone: in accuracy, and in answers that are right by right lines."""
    arms = compared["arms"]
    panels = []
    for left, title, score in (
        (250.0, "points more accuracy than by outcomes alone", lambda run: run["score"]),
        (760.0, "points more sound answers", lambda run: run["steps"]["sound@1"]),
    ):
        base = [score(run) for run in arms[FIRST]["runs"]]
        gaps = {
            ARMS[name]: [100 * (score(run) - b) for run, b in zip(arm["runs"], base, strict=True)]
            for name, arm in arms.items()
            if name != FIRST
        }
        panels += [text(title, left, 16, weight="600"), *differences(gaps, left, left + 380.0, named=left < 700.0)]
    return svg(panels, 1230, 66 + 22.0 * (len(arms) - 1))


def _of(runs: Sequence[Mapping[str, Any]], name: str) -> list[float]:
    return [run["steps"][name] for run in runs if name in run["steps"]]


def _percent(values: Sequence[float]) -> str:
    mean, low, high, _ = t_interval(values)
    return f"{100 * mean:.1f} ({100 * low:.1f} to {100 * high:.1f})"


def _number(values: Sequence[float], form: str) -> str:
    return form.format(fmean(values)) if values else ""
