"""What a finished trial comes to, as evidence has it: comparisons, gates, costs, the verdict alone and beside its batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean
from typing import Any

from guerdon.exams.statistics import mean_and_spread, t_interval
from guerdon.loop.proof.arms import ABLATION, BASELINE, METHOD, PLAIN, Arm
from guerdon.loop.proof.discoveries import discoveries, settled
from guerdon.loop.proof.known import Known
from guerdon.loop.proof.records import (
    MEAN,
    Record,
    at,
    curve_of,
    ends_of,
    mean_curve,
    pair_error,
    score_of,
    with_points_read,
    without_outcomes,
)
from guerdon.loop.proof.replication import replicated
from guerdon.loop.proof.testability import closed
from guerdon.loop.proof.trial import AGAIN, FRESH, Trial, WantedRun
from guerdon.loop.proof.tuning import FACTORS, TUNING_SEEDS
from guerdon.loop.proof.verdict import Comparison, p_no_worse

EQUAL_BY = ("read", "updates")  # besides the budget's own unit


def judged(trial: Trial, known: Known) -> dict[str, Any]:
    """Everything that evidence says of a claim but for what its batch makes of it."""
    claim, arms, seeds = trial.claim, trial.tuned(known), trial.seeds(known)
    runs = {name: trial.records(known, arm, seeds) for name, arm in arms.items()}
    runs = {name: each for name, each in runs.items() if each}
    comparison = trial.comparison(known)
    gates = trial.gates(known)
    word = "not testable here" if closed(gates) else comparison.alone
    result = {
        "claim": claim.told(),
        "gates": gates,
        "rates": _rates(trial, known),
        "arms": {name: _arm(trial, arms[name], each) for name, each in runs.items()},
        "against": {name: dataclasses.asdict(c) for name, c in _against(trial, known, comparison, runs).items()},
        "noise": exam_noise(trial, runs, comparison),
        "equally": _equally(trial, runs),
        "idea": _idea(trial, known, runs) if word == "better" else "",
        "replication": _replication(trial, known, comparison),
        "again": _again(trial, known, arms),
        "needs": [run.key for run in trial.wanted(known)],
        "alone": word,
        "p": _p(trial, known, comparison),
        "tried": _tried(trial, known),
    }
    if claim.kind == "cheaper":
        result["quality"] = dataclasses.asdict(trial.quality(known, seeds))
    return result


def _arm(trial: Trial, arm: Arm, records: Sequence[Record]) -> dict[str, Any]:
    curves = [curve_of(record, trial.claim) for record in records]
    brief = [without_outcomes(with_points_read(record), but=len(ends_of(record))) for record in records]
    runs = [{**record, "score": score_of(record, trial.claim)} for record in brief]
    return {**arm.identity(), "lr": arm.rate, "curve": mean_curve(curves), "runs": runs}


def _rates(trial: Trial, known: Known) -> dict[str, Any]:
    """What each learning rate came to on the tuning seeds, and which was taken."""
    metric, factors = trial.claim.keeps, trial.factors(known)
    return {
        name: {
            "default": arm.rate,
            "factor": factors[name],
            "scores": {f"{f:.3g}": fmean(trial.scores(known, arm.at_rate(f), TUNING_SEEDS, metric)) for f in FACTORS},
        }
        for name, arm in trial.tunable.items()
    }


def _against(
    trial: Trial, known: Known, comparison: Comparison, runs: Mapping[str, Sequence[Record]]
) -> dict[str, Comparison]:
    """The method beside every other arm, over the seeds that both have."""
    every = {BASELINE: comparison}
    for name in (ABLATION, PLAIN):
        if name in runs and METHOD in runs:
            every[name] = trial.against(known, name, [record["seed"] for record in runs[name]])
    return every


def exam_noise(trial: Trial, runs: Mapping[str, Sequence[Record]], comparison: Comparison) -> dict[str, float] | None:
    """How much of the spread of paired differences is the exams': other problems and other tries would have given others."""
    if METHOD not in runs or BASELINE not in runs or len(comparison.differences) < 2:
        return None
    errors = [pair_error(ours, theirs, trial.claim) for ours, theirs in zip(runs[METHOD], runs[BASELINE], strict=True)]
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    exam = fmean(error**2 for error in known)
    paired = mean_and_spread(comparison.differences)[1] ** 2
    return {"exam_sd": exam**0.5, "paired_sd": paired**0.5, "share": min(1.0, exam / paired) if paired else 1.0}


def _equally(trial: Trial, runs: Mapping[str, Sequence[Record]]) -> dict[str, Any]:
    """The same comparison where both arms have spent as much of something else: at the amount that both reached."""
    claim = trial.claim
    if METHOD not in runs or BASELINE not in runs or claim.metric.startswith(MEAN):
        return {}
    sign = 1.0 if claim.better == "higher" else -1.0
    outcomes = {}
    for unit in (u for u in EQUAL_BY if u != claim.unit):
        pairs = [
            [curve_of(record, claim, unit) for record in pair]
            for pair in zip(runs[METHOD], runs[BASELINE], strict=True)
        ]
        if any(len(curve) < 2 for pair in pairs for curve in pair):
            continue
        ends = [[curve[-1]["spent"] for curve in pair] for pair in pairs]
        differences = [
            sign * (at(ours, min(end)) - at(theirs, min(end))) for (ours, theirs), end in zip(pairs, ends, strict=True)
        ]
        mean, low, high, _ = t_interval(differences)
        outcomes[unit] = {
            "mean": mean,
            "low": low,
            "high": high,
            "method": fmean(end[0] for end in ends),
            "baseline": fmean(end[1] for end in ends),
        }
    return outcomes


def _idea(trial: Trial, known: Known, runs: Mapping[str, Sequence[Record]]) -> str:
    """Whether a better method is better by its idea: the ablation is the method without it."""
    if ABLATION not in trial.arms:
        return "no ablation"
    seeds = [record["seed"] for record in runs.get(ABLATION, ())]
    if len(seeds) < len(trial.seeds(known)):
        return "its ablation is still to be run"
    word = trial.against(known, ABLATION, seeds).alone
    return {"better": "by its idea", "not known": "whether by its idea is not known"}.get(word, "not by its idea")


def _replication(trial: Trial, known: Known, comparison: Comparison) -> dict[str, Any] | None:
    arms = [arm for name, arm in trial.tuned(known).items() if name not in (ABLATION, PLAIN)]
    if any(len(trial.records(known, arm, FRESH)) < len(FRESH) for arm in arms):
        return None
    fresh = trial.comparison(known, FRESH)
    return {**replicated(comparison.differences, fresh.differences), "differences": fresh.differences}


def _again(trial: Trial, known: Known, arms: Mapping[str, Arm]) -> dict[str, Any] | None:
    """Whether a run that was made again from nothing came to the same weights."""
    run = WantedRun(next(iter(arms.values())), 0, again=AGAIN)
    once, twice = known.get(run.arm.key(0)), known.get(run.key)
    if once is None or twice is None:
        return None
    return {"same": once["weights"] == twice["weights"]}


def _p(trial: Trial, known: Known, comparison: Comparison) -> float:
    """The p-value that its batch counts: of all that is said of a claim. Of what a cheaper method must keep that is *worse*, or
    that it is at least as good."""
    if trial.claim.kind != "cheaper":
        return comparison.p
    quality = trial.quality(known, trial.seeds(known))
    return max(comparison.p, quality.p if quality.alone == "worse" else p_no_worse(quality))


def _tried(trial: Trial, known: Known) -> list[dict[str, Any]]:
    """The other runs that were made: of tuning, of the replication, and those made again."""
    arms = trial.tuned(known)
    runs: Iterable[WantedRun] = [
        *trial.tuning_runs(),
        *(WantedRun(arm, seed) for arm in arms.values() for seed in FRESH),
        WantedRun(next(iter(arms.values())), 0, again=AGAIN),
    ]
    by_key = {run.key: run for run in runs}
    there = {key: known.get(key) for key in by_key}
    return [
        {**without_outcomes({**record, "points": record["points"][-2:]}), "seed": by_key[key].seed}
        for key, record in there.items()
        if record
    ]


# --- beside the others --------------------------------------------------------------------------------------------


def settle(claims: Sequence[dict[str, Any]], waiting: int = 0) -> None:
    """Give every claim of a batch the verdict it has beside the others. `waiting` have no evidence yet."""
    testable = [claim for claim in claims if claim["alone"] != "not testable here"]
    others = [None] * (waiting + len(claims) - len(testable))
    kept = discoveries([*(claim["p"] for claim in testable), *others])
    for claim in claims:
        claim["verdict"] = claim["alone"]
    for claim, is_discovery in zip(testable, kept[: len(testable)], strict=True):
        claim["verdict"] = settled(claim["alone"], is_discovery)
