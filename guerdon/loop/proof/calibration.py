"""Is the machine honest? An arm is held against itself: same start, same problems, same exams, other noise.

Two arms that are the same in all but what tokens are drawn by are tuned, each on its own, and run in pairs. Proofs by the whole
rule are then drawn from the pairs: whatever they say but *equal* and *not known* is wrong. The same pairs, moved by an effect,
say how often an effect of that size is seen; and a table says what a planted collapse does.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim
from guerdon.loop.proof.arms import Arm, make_arm
from guerdon.loop.proof.known import Known
from guerdon.loop.proof.power import collapse_table, error_rates, power
from guerdon.loop.proof.proving import How, Progress, run_trials
from guerdon.loop.proof.records import Record, score_of, without_outcomes
from guerdon.loop.proof.trial import WantedRun
from guerdon.loop.proof.tuning import FACTORS, TUNING_SEEDS, choose
from guerdon.store import evidence

PAIRS, QUICK_PAIRS = 24, 2
ALARM = 0.05
APART = 1_000_000  # what the noise of the second arm is away from that of the first
SPREADS, EFFECTS = (0.01, 0.02, 0.03, 0.05), (0.01, 0.02)
SMALL = "prompts=16 tries=8 lr=5e-5 max_tokens=64"
LESS = 150_000  # tokens: what most claims spend is more
TABLE: dict[str, Any] = {"model": "tabular", "settings": "prompts=8 tries=8 lr=0.3 tabular.vocab=01 tabular.length=1"}
TABLE |= {"budget": 1_500}
SETTINGS = (
    Claim("GRPO is no better than itself", task="countdown:1-6", settings=SMALL, budget=LESS),
    Claim("GRPO of a table is no better than itself", task="parity:2", **TABLE),
    Claim("choosing problems for a table is no better than itself", baseline="dump", task="parity:1-3", **TABLE),
)


@dataclass(frozen=True)
class SelfTrial:
    """An arm twice, with noise of its own each time."""

    claim: Claim
    arm: Arm
    pairs: int
    tunes: bool

    def tuning(self, side: int) -> dict[float, list[WantedRun]]:
        return {f: [self._run(self.arm.at_rate(f), seed, side) for seed in TUNING_SEEDS] for f in FACTORS}

    def wanted(self, known: Known) -> list[WantedRun]:
        tuning = [run for side in (0, 1) for runs in self.tuning(side).values() for run in runs] if self.tunes else []
        missing = [run for run in tuning if self.record(known, run) is None]
        if missing:
            return missing
        return [run for pair in self.paired(known) for run in pair if self.record(known, run) is None]

    def seen(self, known: Known) -> Known:
        """From the machine that saw it to its end; this one where none did."""
        return next((view for view in known.views if not self.wanted(view)), known)

    def paired(self, known: Known) -> list[list[WantedRun]]:
        arms = [self.arm.at_rate(self.factor(known, side)) for side in (0, 1)]
        return [[self._run(arms[side], seed, side) for side in (0, 1)] for seed in range(self.pairs)]

    def runs(self, known: Known) -> list[WantedRun]:
        """All that it is made of."""
        tuning = [run for side in (0, 1) for runs in self.tuning(side).values() for run in runs] if self.tunes else []
        return [*tuning, *(run for pair in self.paired(known) for run in pair)]

    def factor(self, known: Known, side: int) -> float:
        if not self.tunes:
            return 1.0
        scores = {f: fmean(self.scores(known, runs)) for f, runs in self.tuning(side).items()}
        return choose(scores, self.claim.effect)

    def scores(self, known: Known, runs: list[WantedRun]) -> list[float]:
        return [score_of(record, self.claim) for run in runs if (record := self.record(known, run)) is not None]

    def record(self, known: Known, run: WantedRun) -> Record | None:
        return known.get(run.key)

    @staticmethod
    def _run(arm: Arm, seed: int, side: int) -> WantedRun:
        return WantedRun(arm, seed, seed + side * APART)

    def result(self, known: Known) -> dict[str, Any]:
        """What its pairs say about proofs."""
        pairs = self.paired(known)
        scores = [self.scores(known, pair) for pair in pairs]
        differences = [a - b for a, b in scores]
        return {
            "claim": self.claim.told(),
            "arm": self.arm.what,
            "factors": [self.factor(known, side) for side in (0, 1)],
            "scores": scores,
            "differences": differences,
            "errors": error_rates(differences, self.claim.effect),
            "power": power(differences, self.claim.effect),
        }


def calibrate(how: How, progress: Progress) -> dict[str, Any]:
    """Run the arms against themselves; what proofs of them come to is written to `calibration.json`."""
    how = how.from_here()
    known = how.known
    trials = [_self_trial(claim, how) for claim in SETTINGS]
    run_trials([trial for trial in trials if not how.tells and trial.wanted(trial.seen(known))], known, how, progress)
    seen = [(trial, trial.seen(known)) for trial in trials]
    told = [(trial, view) for trial, view in seen if not trial.wanted(view)]
    if not told:
        raise UserError("no arm was held against itself to the end: leave --tell out to run them")
    settings = [trial.result(view) for trial, view in told]
    every = [_record(trial, view, run) for trial, view in told for run in trial.runs(view)]
    records = [record for record in every if record is not None]
    result = {
        "format": evidence.FORMAT,
        "quick": how.quick,
        "command": how.command("--calibrate"),
        "settings": settings,
        "wrong": max(setting["errors"]["wrong"] for setting in settings),
        "collapses": collapse_table(SPREADS, EFFECTS, draws=4000),
        "code": known.code_of(records),
        "runs": records,
    }
    evidence.write_calibration(how.folder, result)
    evidence.write_index(how.folder)
    return result


def _self_trial(claim: Claim, how: How) -> SelfTrial:
    if how.quick:
        claim = dataclasses.replace(claim, budget=claim.budget / 10)
    arm = make_arm(claim.baseline, claim, how.options(claim))
    return SelfTrial(claim, arm, QUICK_PAIRS if how.quick else PAIRS, not how.quick)


def _record(trial: SelfTrial, known: Known, run: WantedRun) -> dict[str, Any] | None:
    record = trial.record(known, run)
    return None if record is None else without_outcomes({**record, "points": record["points"][-2:]})
