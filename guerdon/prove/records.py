"""The record of a finished run, for any claim: its evaluations with what had been spent by then, and its cost.

A record is plain JSON, and all that a proof keeps of a run: scores, curves and costs are read off it.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from guerdon.core.errors import UserError, unknown
from guerdon.core.manifest import Damaged
from guerdon.core.recipe import Claim
from guerdon.core.statistics import Z95, even_mean, t_interval
from guerdon.exams.solved_problems import read
from guerdon.prove.failure_modes import MEASURED
from guerdon.runs.event_types import StepDone
from guerdon.runs.run import Run
from guerdon.runs.summary import ASKED
from guerdon.training.record import LAST, LATE, START

MEAN = "mean "
ACCURACY = "pass@1"
CUT = "cut"
PAID = "reward/mean"  # of a step, in its metrics
Record = Mapping[str, Any]


def record_of(folder: Path) -> dict[str, Any]:
    """A finished run as a record. A damaged one does not count."""
    run = Run(folder)
    if run.damage:
        raise Damaged(f"{folder} is damaged ({'; '.join(run.damage)}): run the same command again, which repeats it")
    record: dict[str, Any] = {
        "weights": run.weights,
        "spent": {unit: round(cost, 3) for unit, cost in run.spent.items() if cost},
        "points": [{"spent": _short(spent), "result": _short(result)} for spent, result in run.curve],
        "versions": {k: run.config["versions"][k] for k in ("guerdon", "torch", "device")},
        "at_a_time": run.config["at_a_time"],
        "created": run.config["created"][:10],
    }
    if run.config["kind"] == "study":
        result = run.result or {}
        record |= {"result": _short(result), "spent": record["spent"] | result.get("spent", {})}
    else:
        record |= {"asked": _asked(run), **_measured(run)}
    return record


def _measured(run: Run) -> dict[str, Any]:
    """Means over the steps: the share of answers that the token limit cut, measures of failure modes, and the reward in the
    last fifth of the steps."""
    seen: dict[str, list[float]] = {}
    for event in run.events(StepDone):
        for name, value in event.metrics.items():
            if name in (CUT, PAID) or name.startswith(MEASURED):
                seen.setdefault(name, []).append(value)
    late = seen.pop(PAID, [])
    means = {name: _short(fmean(values)) for name, values in seen.items()}
    failure = {name.removeprefix(MEASURED): mean for name, mean in means.items() if name != CUT}
    paid = {"paid": _short(fmean(late[-math.ceil(len(late) / 5) :]))} if late else {}
    return {**({CUT: means[CUT]} if CUT in means else {}), **({"failure": failure} if failure else {}), **paid}


def _asked(run: Run) -> dict[str, int]:
    """How many asks of training had which form."""
    forms = Counter[str]()
    for event in run.events(StepDone):
        forms.update({k.removeprefix(ASKED): int(v) for k, v in event.metrics.items() if k.startswith(ASKED)})
    return dict(forms.most_common())


def _short(value: Any) -> Any:
    """JSON without digits that mean nothing."""
    if isinstance(value, Mapping):
        return {k: _short(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        return [_short(v) for v in value]
    return float(f"{value:.6g}") if isinstance(value, float) else value


# --- scores -------------------------------------------------------------------------------------------------------


def is_about_accuracy(claim: Claim) -> bool:
    """Whether plain GRPO, which learns nothing else, shows what there is to gain."""
    return claim.metric.removeprefix(MEAN) == ACCURACY


def score_of(record: Record, claim: Claim, metric: str = "") -> float:
    """The number that arms are compared by: of a study a key of its result; else the mean of the last two whole exams, or the
    mean over what was spent."""
    metric = metric or claim.metric
    if metric in record.get("result", {}):
        return float(record["result"][metric])
    if metric.startswith(MEAN):
        curve = curve_of(record, claim, metric=metric)
        area = math.fsum((b["spent"] - a["spent"]) * (a["value"] + b["value"]) / 2 for a, b in pairwise(curve))
        return float(area / (curve[-1]["spent"] - curve[0]["spent"]))
    ends = ends_of(record)
    if not ends:
        raise UserError("a run without evaluations has no score: leave eval_tasks above 0")
    return fmean(value_of(point["result"], metric, claim.levels) for point in ends)


def start_of(record: Record, metric: str, levels: tuple[int, ...] = ()) -> float | None:
    """The same before training, where it was measured."""
    result = record["points"][0]["result"] if record["points"] else {}
    is_start = result.get("point", START) == START
    return value_of(result, metric, levels) if is_start and metric in numbers_of(result) else None


def ends_of(record: Record) -> list[Mapping[str, Any]]:
    """The last two whole exams; the last one, where exams are not distinguished."""
    if not record["points"]:
        return []
    last = record["points"][-1]
    late = [point for point in record["points"] if point["result"].get("point") == LATE]
    return [*late[-1:], last] if last["result"].get("point") == LAST else [last]


def without_outcomes(record: Record, but: int = 0) -> dict[str, Any]:
    """A record without exam results per problem, except for the last exams: the others are not used."""
    kept = len(record["points"]) - but
    brief = [
        {**point, "result": {k: v for k, v in point["result"].items() if k != "outcomes"}} for point in record["points"]
    ]
    return {**record, "points": [*brief[:kept], *record["points"][kept:]]}


def with_points_read(record: Record) -> Record:
    """A record with the evaluations that are used: for a study with a curve of its own the first, for its start, and the
    last two.

    >>> study = {"result": {"curve": []}, "points": [{"step": step} for step in range(9)]}
    >>> [point["step"] for point in with_points_read(study)["points"]]
    [0, 7, 8]
    """
    if "curve" not in record.get("result", {}):
        return record
    return {**record, "points": [*record["points"][:1], *record["points"][1:][-2:]]}


def exam_error(record: Record, claim: Claim, metric: str = "") -> float | None:
    """The standard error of a score by its exams alone: other problems and other tries would have given other numbers; None
    where exams do not report it."""
    metric, errors = metric or claim.metric, []
    for point in ends_of(record) if record["points"] and metric not in record.get("result", {}) else ():
        result = point["result"]
        if claim.levels and metric == ACCURACY and "kinds" in result:
            each = result["tasks"] / len(result["kinds"])
            rates = _levels(result["kinds"], claim.levels)
            errors.append(math.sqrt(sum(p * (1 - p) / each for p in rates)) / len(rates))
        elif f"{metric}_low" in result:
            errors.append((result[f"{metric}_high"] - result[f"{metric}_low"]) / (2 * Z95))
    return math.sqrt(math.fsum(e * e for e in errors)) / len(errors) if errors else None


def pair_error(ours: Record, theirs: Record, claim: Claim) -> float | None:
    """The same of the difference of two runs. Both are evaluated on the same problems, so the error is that of the differences
    per problem; where only scores are known, the larger one of two independent errors."""
    if claim.metric == ACCURACY and not claim.levels:
        pairs = [_solved(a, b) for a, b in zip(ends_of(ours), ends_of(theirs), strict=False)]
        if pairs and all(pair is not None for pair in pairs):
            return _error_of([pair for pair in pairs if pair is not None], ends_of(ours)[-1]["result"])
    errors = [exam_error(record, claim) for record in (ours, theirs)]
    return math.hypot(*(e for e in errors if e is not None)) if None not in errors else None


def _solved(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[int] | None:
    """Problem by problem, what one run solved less what the other did; None where the two do not have the same problems."""
    texts = [point["result"].get("outcomes", "") for point in (a, b)]
    if "" in texts or texts[0].partition(":")[0] != texts[1].partition(":")[0]:
        return None
    return [int(x) - int(y) for x, y in zip(*map(read, texts), strict=True)]


def _error_of(points: list[list[int]], result: Mapping[str, Any]) -> float:
    """Of the mean over the points, kinds weighing the same. Problems come kind by kind; points with as many have the same."""
    same = len({len(point) for point in points}) == 1
    each = (
        [[fmean(problem) for problem in zip(*points, strict=True)]] if same else [list(map(float, p)) for p in points]
    )
    sizes = result.get("sizes") or [result["tasks"]]
    errors = [even_mean(_by_size(differences, sizes))[1] for differences in each if len(differences) == sum(sizes)]
    return math.sqrt(math.fsum(e * e for e in errors)) / len(errors)


def _by_size(values: Sequence[float], sizes: Sequence[int]) -> dict[str, list[float]]:
    """Values that come kind by kind, by kind."""
    rest = iter(values)
    return {str(i): [next(rest) for _ in range(size)] for i, size in enumerate(sizes)}


def value_of(result: Mapping[str, Any], metric: str, levels: tuple[int, ...]) -> float:
    """A metric of an evaluation; of certain levels, where only those count."""
    if not levels:
        if isinstance(value := result.get(metric), int | float):  # most are recognised by their plain name
            return float(value)
        there = numbers_of(result)
        if metric not in there:
            raise unknown("metric of an evaluation", metric, there)
        return there[metric]
    kinds = _levels(result.get(f"{metric.removesuffix(ACCURACY)}kinds", {}), levels)
    if not metric.endswith(ACCURACY) or not kinds:
        raise UserError(
            f"levels {levels} of {metric!r}: only pass@1 is recorded by level, for a task with several (NAME:1-6)"
        )
    return fmean(kinds)


def _levels(kinds: Mapping[str, float], levels: tuple[int, ...]) -> list[float]:
    return [rate for kind, rate in kinds.items() if int(kind.rpartition(":")[2]) in levels]


def numbers_of(result: Mapping[str, Any], at: str = "") -> dict[str, float]:
    """Every number of an evaluation by its name: `pass@1`, `rm/pair_accuracy`, `kinds/countdown:3`."""
    numbers: dict[str, float] = {}
    for name, value in result.items():
        if isinstance(value, Mapping):
            numbers |= numbers_of(value, f"{at}{name}/")
        elif isinstance(value, int | float):
            numbers[f"{at}{name}"] = float(value)
    return numbers


# --- curves -------------------------------------------------------------------------------------------------------


def curve_of(record: Record, claim: Claim, unit: str = "", metric: str = "") -> list[dict[str, float]]:
    """What every evaluation found over what had been spent of a unit; empty where a study reports none."""
    metric, unit = (metric or claim.metric).removeprefix(MEAN), unit or claim.unit
    if "curve" in record.get("result", {}):
        return [dict(point) for point in record["result"]["curve"] if "spent" in point] if unit == claim.unit else []
    points = record["points"]
    if not all(metric in numbers_of(point["result"]) for point in points):
        return []
    return [
        {"spent": float(point["spent"][unit]), "value": value_of(point["result"], metric, claim.levels)}
        for point in points
        if unit in point["spent"]
    ]


def mean_curve(curves: Sequence[Sequence[Mapping[str, float]]]) -> list[dict[str, float]]:
    """The curves of several seeds as one: at equal amounts spent the mean and its 95 % t-interval."""
    if any(len(curve) < 2 for curve in curves) or len(curves) < 2:
        return []
    points, end = max(map(len, curves)), min(curve[-1]["spent"] for curve in curves)
    start = max(curve[0]["spent"] for curve in curves)
    averaged = []
    for i in range(points):
        spent = start + (end - start) * i / (points - 1)
        mean, low, high, _ = t_interval([at(curve, spent) for curve in curves])
        averaged.append({k: round(v, 5) for k, v in {"spent": spent, "mean": mean, "low": low, "high": high}.items()})
    return averaged


def at(curve: Sequence[Mapping[str, float]], spent: float) -> float:
    """A curve's value at an amount, on the straight line between the evaluations around it."""
    for a, b in pairwise(curve):
        if a["spent"] <= spent <= b["spent"] > a["spent"]:
            share = (spent - a["spent"]) / (b["spent"] - a["spent"])
            return float(a["value"] + share * (b["value"] - a["value"]))
    return float(curve[-1]["value"])
