"""The results of an experiment, as stored in evidence: estimates, gates, rates, costs and, for a registered claim, its
verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from guerdon.core.statistics import mean_and_spread, t_interval
from guerdon.prove.arms import ABLATION, BASELINE, METHOD, PLAIN, Arm
from guerdon.prove.estimate import Estimate, estimate
from guerdon.prove.known import Known
from guerdon.prove.records import (
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
from guerdon.prove.trial import AGAIN, Trial, WantedRun
from guerdon.prove.tuning import best
from guerdon.prove.verdict import Word, is_confirmed, word_of, word_of_cheaper

EQUAL_BY = ("read", "updates")  # besides the budget's own unit


def judged(trial: Trial, known: Known) -> dict[str, Any]:
    """The whole evidence of a claim, or of a recipe in a setting."""
    claim, arms = trial.claim, trial.tuned(known)
    first, fresh = trial.complete(known)
    runs = {name: trial.records(known, name, first if name == PLAIN else [*first, *fresh]) for name in arms}
    runs = {name: each for name, each in runs.items() if each}
    difference = trial.estimate(known, first, fresh)
    kept = trial.against(known, BASELINE, first, fresh, claim.keeps) if claim.kind == "cheaper" else None
    against = {BASELINE: difference} | {
        name: trial.against(known, name, first, () if name == PLAIN else fresh)
        for name in (ABLATION, PLAIN)
        if name in runs and METHOD in runs
    }
    return {
        "tier": trial.tier,
        **({"setting": trial.setting.name} if trial.setting is not None else {}),
        "claim": claim.told(),
        "gates": trial.gates(known),
        "rates": _rates(trial, known),
        "arms": {name: _arm(trial, arms[name], each) for name, each in runs.items()},
        "against": {name: dataclasses.asdict(each) for name, each in against.items()},
        **decided(claim.kind, difference, kept, against.get(ABLATION), is_claim=trial.tier == "registered"),
        **({"quality": dataclasses.asdict(kept)} if kept is not None else {}),
        **_mechanism(trial, known, first, fresh),
        "gain": trial.gain(known),
        "spread": spread_ratio(runs.get(METHOD, ()), runs.get(BASELINE, ()), trial),
        "noise": exam_noise(trial, runs, difference),
        "equally": _equally(trial, runs),
        "again": _again(trial, known, arms),
        "needs": [run.key for run in trial.wanted(known)],
        "tried": _tried(trial, known),
    }


def decided(
    kind: str, difference: Estimate, kept: Estimate | None, ablation: Estimate | None, *, is_claim: bool
) -> dict[str, str]:
    """The word of a registered claim, and whether its ablation confirms the mechanism; of a screening nothing."""
    if not is_claim:
        return {}
    word: Word = word_of_cheaper(difference, kept) if kept is not None else word_of(difference, kind)
    idea = ""
    if word == "ahead":
        idea = "no ablation" if ablation is None else _confirmed(ablation)
    return {"word": word, "ablation": idea}


def _confirmed(ablation: Estimate) -> str:
    if is_confirmed(ablation, 1.0):
        return "confirmed"
    return "not confirmed" if ablation.halves[1] else "first seeds"


def _mechanism(trial: Trial, known: Known, first: Sequence[int], fresh: Sequence[int]) -> dict[str, Any]:
    """The method beside the baseline by its mechanism's own metric, where the claim names one."""
    metric = trial.claim.mechanism
    if not metric:
        return {}
    difference = trial.against(known, BASELINE, first, fresh, metric)
    return {"mechanism": {"metric": metric, **dataclasses.asdict(difference)}}


def spread_ratio(ours: Sequence[Record], theirs: Sequence[Record], trial: Trial) -> float | None:
    """The standard deviation of the method's scores over seeds, in those of the baseline's; None where it has none."""
    if len(ours) < 2 or len(theirs) < 2:
        return None
    mine, other = (mean_and_spread([score_of(r, trial.claim) for r in runs])[1] for runs in (ours, theirs))
    return mine / other if other else None


def _arm(trial: Trial, arm: Arm, records: Sequence[Record]) -> dict[str, Any]:
    curves = [curve_of(record, trial.claim) for record in records]
    brief = [without_outcomes(with_points_read(record), but=len(ends_of(record))) for record in records]
    runs = [{**record, "score": score_of(record, trial.claim)} for record in brief]
    return {**arm.identity(), "lr": arm.rate, "curve": mean_curve(curves), "runs": runs}


def _rates(trial: Trial, known: Known) -> dict[str, Any]:
    """The result of each learning rate on the tuning seeds, and which was chosen."""
    better = "higher" if trial.claim.keeps else trial.claim.better
    return {
        name: {
            "default": trial.tunable[name].rate,
            "factor": best(scores, better),
            "scores": {f"{factor:.3g}": score for factor, score in sorted(scores.items())},
        }
        for name, scores in trial.rates(known).items()
    }


def exam_noise(trial: Trial, runs: Mapping[str, Sequence[Record]], difference: Estimate) -> dict[str, float] | None:
    """How much of the spread of paired differences is the exams': other problems and other tries would have given others."""
    if METHOD not in runs or BASELINE not in runs or len(difference.differences) < 2:
        return None
    errors = [pair_error(ours, theirs, trial.claim) for ours, theirs in zip(runs[METHOD], runs[BASELINE], strict=True)]
    known = [error for error in errors if error is not None]
    if len(known) < len(errors):
        return None
    exam = fmean(error**2 for error in known)
    paired = mean_and_spread(difference.differences)[1] ** 2
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


def _again(trial: Trial, known: Known, arms: Mapping[str, Arm]) -> dict[str, Any] | None:
    """Whether a run that was repeated from nothing gave the same weights."""
    once = WantedRun(next(iter(arms.values())), 0)
    twice = WantedRun(once.arm, 0, AGAIN)
    machine = known.together([once.key, twice.key])
    records = [known.get(run.key, machine) for run in (once, twice)] if machine is not None else []
    weights = [record["weights"] for record in records if record is not None]
    return {"same": weights[0] == weights[1]} if weights else None


def _tried(trial: Trial, known: Known) -> list[dict[str, Any]]:
    """The other runs that were made: of tuning, and the one that was made again; with the evaluations that a score is read off,
    all of them where it is a mean over the budget."""
    last = 0 if (trial.claim.keeps or trial.claim.metric).startswith(MEAN) else -2
    runs = [run for name in trial.tunable for run in trial.tuning_runs(known, name)]
    runs.append(WantedRun(next(iter(trial.tuned(known).values())), 0, AGAIN))
    by_key = {run.key: run for run in runs}
    there = {key: known.anywhere(key) for key in by_key}
    return [
        {**without_outcomes({**record, "points": record["points"][last:]}), "seed": by_key[key].seed}
        for key, record in there.items()
        if record
    ]


# --- from evidence ------------------------------------------------------------------------------------------------


def estimate_in(difference: Mapping[str, Any]) -> Estimate:
    """An estimate as evidence has it, computed again from its differences."""
    return estimate(difference["differences"], difference["effect"], difference["first"])
