"""`prove`: run the claims of recipes and write down what came out."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.recipe import Claim, Recipe, RecipeEntry
from guerdon.loop.catalog import find_recipe
from guerdon.loop.proof.arms import ABLATION, BASELINE, METHOD, POLICY, START_SEED, Arm, arms_of, changed
from guerdon.loop.proof.jobs import RunJob, at_a_time, is_done, run_all
from guerdon.loop.proof.results import mean_curve, result_of
from guerdon.loop.proof.verdict import Comparison, among, compare, discoveries
from guerdon.loop.record import Options
from guerdon.models.model_loading import version
from guerdon.store import evidence
from guerdon.store.folder import RunFolder
from guerdon.store.identity import RESULTS
from guerdon.store.whole_files import absolute

SEEDS = 8
OPTIONS = Options(save_every=25, keep=1, rollouts_every=0, eval_every=0.25, eval_tasks=384, eval_tries=2)
QUICK_SEEDS, QUICK_SHARE = 2, 0.1
QUICK_OPTIONS = dataclasses.replace(OPTIONS, eval_every=0, eval_tasks=48, eval_tries=1)


@dataclass(frozen=True)
class How:
    """How claims are run. `changes` are fields of the claims that the user wants otherwise."""

    out: Path = Path("evidence")
    runs: Path = Path("runs/prove")
    jobs: int = 0  # at a time; 0: as many as the machine takes
    quick: bool = False
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    flags: tuple[str, ...] = ()  # as typed, for whoever wants to do it again

    def command(self, *what: str) -> str:
        """What gives the same again."""
        return shlex.join(["guerdon", "prove", *what, *self.flags])

    def from_here(self) -> How:
        """The same with folders that stay where they are wherever code of the user's goes."""
        return dataclasses.replace(self, out=absolute(self.out), runs=absolute(self.runs))

    @property
    def options(self) -> Options:
        return QUICK_OPTIONS if self.quick else OPTIONS

    @property
    def folder(self) -> Path:
        """Where evidence goes; a quick look is kept apart from it."""
        return self.out / "quick" if self.quick else self.out


@dataclass(frozen=True)
class Trial:
    """A claim with its arms."""

    claim: Claim
    arms: dict[str, Arm]

    @property
    def seeds(self) -> range:
        return range(self.claim.first_seed, self.claim.first_seed + self.claim.seeds)

    def jobs(self, how: How) -> dict[str, RunJob]:
        """By key, seed after seed: equal arms are one."""
        after = {
            name: tuple(how.runs / start.key(START_SEED) for start in arm.starts.values())
            for name, arm in self.arms.items()
        }
        pairs = [(arm, seed, after[name]) for seed in self.seeds for name, arm in self.arms.items()]
        return {arm.key(seed): RunJob(arm, seed, how.runs / arm.key(seed), after=first) for arm, seed, first in pairs}

    def starts(self, how: How) -> dict[str, RunJob]:
        """By key: what must be there before arms can begin."""
        keyed = {start.key(START_SEED): start for arm in self.arms.values() for start in arm.starts.values()}
        return {key: RunJob(arm, START_SEED, how.runs / key, keeps=True) for key, arm in keyed.items()}

    def is_done(self, how: How) -> bool:
        return all(is_done(job.folder) for job in self.jobs(how).values())


def prove(names: Sequence[str], how: How, progress: Callable[[int, int, RunJob | None], None]) -> list[dict[str, Any]]:
    """Evidence for each recipe, written to its folder. `progress` hears how many runs of how many are done, and which one was
    last."""
    how = how.from_here()
    entries = {name: _claiming(find_recipe(name)) for name in names}
    trials = {name: [_trial(name, claim, how) for claim in entry.claims] for name, entry in entries.items()}
    try:
        run_trials([trial for each in trials.values() for trial in each], how, progress)
    finally:  # a run that failed, or Ctrl-C, does not take the evidence of the other recipes away
        done = {name: entry for name, entry in entries.items() if all(trial.is_done(how) for trial in trials[name])}
        for name, entry in done.items():
            evidence.write(how.folder, _found(name, entry, trials[name], how))
        for family in dict.fromkeys(entry.family for entry in done.values()):
            settle(how.folder, family)
        if done:
            evidence.write_index(how.folder)
    return [evidence.read(how.folder, entry.name) for entry in entries.values()]


def run_trials(trials: Sequence[Trial], how: How, progress: Callable[[int, int, RunJob | None], None]) -> None:
    """Run the arms that are not done, each after what it begins with."""
    starts = {key: job for trial in trials if not trial.is_done(how) for key, job in trial.starts(how).items()}
    run_jobs({**starts, **{key: job for trial in trials for key, job in trial.jobs(how).items()}}, how, progress)


def run_jobs(jobs: Mapping[str, RunJob], how: How, progress: Callable[[int, int, RunJob | None], None]) -> None:
    done = sum(is_done(job.folder) for job in jobs.values())
    progress(done, len(jobs), None)

    def one(job: RunJob) -> None:
        nonlocal done
        done += 1
        progress(done, len(jobs), job)

    run_all(jobs.values(), how.jobs or at_a_time(), one)


def _claiming(entry: RecipeEntry) -> RecipeEntry:
    if not entry.claims:
        raise UserError(f"recipe {entry.name!r} claims nothing: give its @recipe a claim=Claim(...) to prove")
    return entry


def _trial(name: str, claim: Claim, how: How) -> Trial:
    if how.quick:
        claim = changed(claim, seeds=QUICK_SEEDS)
    claim = changed(claim, **how.changes)
    if how.quick:
        claim = changed(claim, budget=claim.budget * QUICK_SHARE, start=_quick_starts(name, claim, how))
    least = QUICK_SEEDS if how.quick else SEEDS
    if claim.seeds < least:
        raise UserError(
            f"a proof takes at least {least} seeds, not {claim.seeds}" + ("" if how.quick else " (--quick takes 2)")
        )
    return Trial(claim, arms_of(name, claim, how.options))


def _quick_starts(name: str, claim: Claim, how: How) -> str | dict[str, str]:
    """What arms begin with, trained for a part of its steps."""
    starts = {m: s for arm in arms_of(name, claim, how.options).values() for m, s in arm.starts.items()}
    brief = {model: f"{start.what} steps={_quick_steps(start)}" for model, start in starts.items()}
    return brief.get(POLICY, "") if isinstance(claim.start, str) else brief


def _quick_steps(start: Arm) -> int:
    recipe = start.build().recipe
    assert isinstance(recipe, Recipe), f"a start is a recipe, and {start.what!r} is a study"
    return max(1, round(QUICK_SHARE * recipe.steps))


def _found(name: str, entry: RecipeEntry, trials: Sequence[Trial], how: How) -> dict[str, Any]:
    return {
        "format": evidence.FORMAT,
        "recipe": entry.name,
        "family": entry.family,
        "paper": entry.paper,
        "about": entry.about.split("\n\n")[0],
        "quick": how.quick,
        "results": RESULTS,
        "command": how.command(name),
        "claims": [_measured(trial, how) for trial in trials],
        **setting(trials[0].claim.model, trials[0].jobs(how).values()),
    }


def setting(model: str, jobs: Iterable[RunJob]) -> dict[str, Any]:
    """What results depend on besides the recipe: the model, and the machine and versions that its last run was made with."""
    config = max((RunFolder(job.folder).read_config() for job in jobs), key=lambda each: str(each["created"]))
    return {
        "model": {"name": model, "version": version(model)},
        "versions": {**config["versions"], "at_a_time": config["at_a_time"]},
        "created": config["created"][:10],
    }


def measured(trial: Trial, how: How) -> dict[str, dict[str, Any]]:
    """What the runs of each arm found."""
    arms = {}
    for name, arm in trial.arms.items():
        runs = [result_of(how.runs / arm.key(seed), seed, trial.claim) for seed in trial.seeds]
        arms[name] = {**arm.identity(), "curve": mean_curve(runs), "runs": runs}
    return arms


def _measured(trial: Trial, how: How) -> dict[str, Any]:
    claim = trial.claim
    arms = measured(trial, how)
    score = {name: [run["score"] for run in arm["runs"]] for name, arm in arms.items()}
    against = {
        name: dataclasses.asdict(compare(score[METHOD], score[name], claim.effect, claim.better))
        for name in (BASELINE, ABLATION)
        if name in score
    }
    alone = against[BASELINE]["verdict"]
    return {"claim": dataclasses.asdict(claim), "arms": arms, "against": against, "alone": alone, "verdict": alone}


def settle(folder: Path, family: str) -> None:
    """Give every claim of a family the verdict it has beside the others, and write pages."""
    files = [proof for proof in evidence.read_all(folder).values() if proof["family"] == family]
    claims = [claim for proof in files for claim in proof["claims"]]
    kept = discoveries([claim["against"][BASELINE]["p"] for claim in claims])
    for claim, is_discovery in zip(claims, kept, strict=True):
        claim["verdict"] = among(claim["alone"], is_discovery)
        claim["how"] = explain(Comparison(**claim["against"][BASELINE]), claim["verdict"], len(claims))
    for proof in files:
        evidence.write(folder, proof)


def explain(comparison: Comparison, verdict: str, claims: int) -> str:
    """Why the verdict is what it is, in a sentence."""
    interval = f"95 % interval {comparison.low:+.4f} to {comparison.high:+.4f}, p = {comparison.p:.4f}"
    seen = (
        f"better by {comparison.mean:+.4f} on average, {interval}, over {len(comparison.differences)} paired seeds;"
        f" {comparison.effect:g} or more counts"
    )
    if verdict != comparison.verdict:
        alone = f"Alone it would be {comparison.verdict!r}"
        return f"{seen}. {alone}, but it is no discovery among the {claims} claims of its family."
    return f"{seen}."
