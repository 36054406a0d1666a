"""Pilots of settings: the baselines alone, before any method, to see whether the problem of a setting occurs in it.

GRPO on the setting's judge and GRPO on the truth are tuned, each over five rates or more, and run with eight seeds at the best.
Their results are written to `settings.json` beside the evidence: start, gain, failure mode, rates, and the gates.
Leaves out: methods. A setting whose pilot does not pass is changed and piloted again, under another name or hash.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from statistics import fmean
from typing import Any

from guerdon.evidence.proof_files import PILOTS
from guerdon.prove.arms import BASELINE, PLAIN, Arm, arms_in_setting, changed, machine
from guerdon.prove.claim_gates import (
    Gate,
    above_chance,
    enough_gain,
    enough_updates,
    not_cut,
    problem,
    rates_inside,
)
from guerdon.prove.known import Known
from guerdon.prove.proving import QUICK_SHARE, How, Progress, run_trials
from guerdon.prove.records import Record, score_of, start_of
from guerdon.prove.setting_suite import NamedSetting, identity, piloted, setting_named
from guerdon.prove.trial import Trial, WantedRun
from guerdon.runs.whole_files import write_readable_json


class PilotTrial(Trial):
    """A setting with its baselines alone, each tuned."""

    @cached_property
    def tunable(self) -> dict[str, Arm]:
        return {name: arm for name, arm in self.arms.items() if arm.rate is not None} if self.rules.tunes else {}

    def wanted(self, known: Known) -> list[WantedRun]:
        return self._untuned(known) or self._unpaired(known, range(self.rules.seeds))


def pilot(names: Sequence[str], how: How, progress: Progress) -> dict[str, dict[str, Any]]:
    """Run the pilots of settings and write their results."""
    how = how.from_here()
    trials = {name: _trial(setting_named(name), how) for name in names}
    known = how.known
    run_trials([trial for trial in trials.values() if trial.wanted(known)], known, how, progress)
    outcomes = {name: _told(trial, known) for name, trial in trials.items()}
    write_readable_json(how.folder / PILOTS, {**piloted(how.folder), **outcomes})
    return outcomes


def _trial(setting: NamedSetting, how: How) -> PilotTrial:
    claim = setting.claim("")
    if how.quick:
        claim = changed(claim, budget=claim.budget * QUICK_SHARE)
    arms = arms_in_setting(setting.baseline, claim, setting, how.options(claim))
    baselines: dict[str, Arm] = {name: arms[name] for name in (BASELINE, PLAIN)}
    return PilotTrial(setting.name, claim, baselines, how.rules, "screening", setting)


def _told(trial: PilotTrial, known: Known) -> dict[str, Any]:
    setting, claim, seeds = trial.setting, trial.claim, range(trial.rules.seeds)
    assert setting is not None
    runs = {name: trial.records(known, name, seeds) for name in trial.arms}
    rates, gates = trial.rates(known), _gates(trial, known, runs)
    return {
        "setting": identity(setting),
        "passed": all(gate["open"] for gate in gates),
        "start": _mean([start for run in runs[BASELINE] if (start := start_of(run, claim.metric)) is not None]),
        "ends": {name: _mean([score_of(run, claim) for run in each]) for name, each in runs.items()},
        "gain": trial.gain(known),
        "failure": _mean([v for run in runs[BASELINE] if (v := setting.failure.of(run, claim)) is not None]),
        "updates": _mean([run["spent"]["updates"] for run in runs[BASELINE]]),
        "rates": {name: {f"{f:.3g}": score for f, score in sorted(each.items())} for name, each in rates.items()},
        "gates": gates,
        "runs": sum(map(len, runs.values())) + sum(len(trial.tuning_runs(known, name)) for name in trial.tunable),
        "seconds": sum(run["spent"].get("seconds", 0.0) for each in runs.values() for run in each),
        "machine": machine(),
        "versions": next(run["versions"] for run in runs[BASELINE]),
    }


def _gates(trial: PilotTrial, known: Known, runs: dict[str, list[Record]]) -> list[Gate]:
    """All gates but that arms differ: the baselines are one where a setting has no judge."""
    setting, claim = trial.setting, trial.claim
    assert setting is not None
    baseline, failure = runs[BASELINE], setting.failure
    values = [value for run in baseline if (value := failure.of(run, claim)) is not None]
    cut = [run["cut"] for run in baseline if "cut" in run]
    gates = [
        problem(failure.says, values, failure.low, failure.high) if values else None,
        above_chance([score_of(run, claim) for run in baseline], setting.chance),
        enough_updates({BASELINE: fmean(run["spent"]["updates"] for run in baseline)}),
        not_cut(cut) if cut else None,
        enough_gain(gains) if (gains := trial.gains(known, range(trial.rules.seeds))) else None,
        rates_inside(trial.rates(known)),
    ]
    return [gate for gate in gates if gate is not None]


def _mean(values: Sequence[float]) -> float | None:
    return fmean(values) if values else None
