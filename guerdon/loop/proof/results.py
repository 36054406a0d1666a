"""What a run says for a claim: its score, its curve over what was spent, its cost."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.recipe import Claim
from guerdon.exams.statistics import t_interval
from guerdon.store.checksums import Damaged
from guerdon.store.run import Run

MEAN = "mean "


def result_of(folder: Path, seed: int, claim: Claim) -> dict[str, Any]:
    """A finished run in the words of an evidence file. One that is damaged has no say."""
    run = Run(folder)
    if run.damage:
        raise Damaged(f"{folder} is damaged ({'; '.join(run.damage)}): run the same command again, which makes it anew")
    if run.config["kind"] == "study":
        return _study(run, seed, claim)
    curve = curve_of(run, claim)
    return {
        "seed": seed,
        "score": round(score_of(curve, claim), 6),
        "spent": {k: round(v, 3) for k, v in run.spent.items()},
        "weights": run.weights,
        "curve": curve,
    }


def curve_of(run: Run, claim: Claim) -> list[dict[str, Any]]:
    """Every evaluation: what was spent before it, and what it found."""
    metric = claim.metric.removeprefix(MEAN)
    points = []
    for spent, result in run.curve:
        kinds = result.get("kinds", {})
        point = {"spent": float(spent[claim.unit]), "value": value_of(result, metric, claim.levels)}
        points.append({**point, **({"kinds": {k: round(v, 5) for k, v in kinds.items()}} if kinds else {})})
    return points


def mean_curve(runs: Sequence[Mapping[str, Any]]) -> list[dict[str, float]]:
    """The curves of several seeds as one: at equal amounts spent the mean and its 95 % t-interval."""
    curves = [run["curve"] for run in runs]
    if any(len(curve) < 2 for curve in curves):
        return []
    points, end = max(map(len, curves)), min(curve[-1]["spent"] for curve in curves)
    start = max(curve[0]["spent"] for curve in curves)
    averaged = []
    for i in range(points):
        spent = start + (end - start) * i / (points - 1)
        mean, low, high, _ = t_interval([_at(curve, spent) for curve in curves])
        averaged.append({k: round(v, 5) for k, v in {"spent": spent, "mean": mean, "low": low, "high": high}.items()})
    return averaged


def _at(curve: Sequence[Mapping[str, Any]], spent: float) -> float:
    """A curve's value at an amount, on the straight line between the evaluations around it."""
    for a, b in pairwise(curve):
        if a["spent"] <= spent <= b["spent"] > a["spent"]:
            share = (spent - a["spent"]) / (b["spent"] - a["spent"])
            return float(a["value"] + share * (b["value"] - a["value"]))
    return float(curve[-1]["value"])


def value_of(result: Mapping[str, Any], metric: str, levels: tuple[int, ...]) -> float:
    """A metric of an evaluation; of certain levels, where only those count."""
    if not levels:
        there = numbers_of(result)
        if metric not in there:
            raise unknown("metric of an evaluation", metric, there)
        return round(there[metric], 6)
    exam = metric.removesuffix("pass@1")
    kinds = {k: v for k, v in result.get(f"{exam}kinds", {}).items() if int(k.rpartition(":")[2]) in levels}
    if not metric.endswith("pass@1") or not kinds:
        raise UserError(
            f"levels {levels} of {metric!r}: only pass@1 is told by level, of a task with several (NAME:1-6)"
        )
    return round(math.fsum(kinds.values()) / len(kinds), 6)


def numbers_of(result: Mapping[str, Any], at: str = "") -> dict[str, float]:
    """Every number of an evaluation by its name: `pass@1`, `rm/pair_accuracy`, `kinds/countdown:3`."""
    numbers: dict[str, float] = {}
    for name, value in result.items():
        if isinstance(value, Mapping):
            numbers |= numbers_of(value, f"{at}{name}/")
        elif isinstance(value, int | float):
            numbers[f"{at}{name}"] = float(value)
    return numbers


def score_of(curve: list[dict[str, Any]], claim: Claim) -> float:
    """The number that arms are compared by: the last value, or the mean over what was spent."""
    if not claim.metric.startswith(MEAN):
        return float(curve[-1]["value"])
    pairs = list(pairwise(curve))
    area = math.fsum((b["spent"] - a["spent"]) * (a["value"] + b["value"]) / 2 for a, b in pairs)
    return float(area / (curve[-1]["spent"] - curve[0]["spent"]))


def _study(run: Run, seed: int, claim: Claim) -> dict[str, Any]:
    """A study's score is in its result, or else what its evaluations came to, as a recipe's; so is its curve. Its cost is that
    of the runs in it, and what it says itself it `spent`."""
    result = run.result or {}
    known = [evaluation for _, evaluation in run.curve]
    metric = claim.metric.removeprefix(MEAN)
    is_measured = bool(known) and all(metric in evaluation for evaluation in known)
    if claim.metric not in result and not is_measured:
        known_keys = [*result, *(known[-1] if known else ())]
        raise unknown("key of the study's result and evaluations", claim.metric, known_keys)
    curve = result.get("curve", []) or (curve_of(run, claim) if is_measured else [])
    spent = {unit: round(cost, 3) for unit, cost in run.spent.items() if cost}
    return {
        "seed": seed,
        "score": float(result[claim.metric]) if claim.metric in result else round(score_of(curve, claim), 6),
        "spent": spent | result.get("spent", {}),  # of what is no run
        "weights": run.weights,
        "curve": curve,
        "result": {k: v for k, v in result.items() if k not in ("curve", "spent")},
    }
