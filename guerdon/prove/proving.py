"""`prove`: run the claims of recipes by the rule, and write down what came out."""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from guerdon.core.errors import UserError
from guerdon.core.recipe import EXAM, Claim, Recipe, RecipeEntry
from guerdon.evidence import proof_files
from guerdon.evidence.packed import missing_records
from guerdon.evidence.words import file_name, runs_of
from guerdon.models.shipped_models import version
from guerdon.prove.arms import POLICY, START_SEED, Arm, arms_in_setting, arms_of, changed, machine
from guerdon.prove.claim_results import judged
from guerdon.prove.jobs import RunJob, at_a_time, is_done, run_all
from guerdon.prove.known import Known
from guerdon.prove.records import MEAN, record_of
from guerdon.prove.register import EDITION, SECOND, register, registered
from guerdon.prove.setting_suite import NamedSetting, draft, setting_named
from guerdon.prove.student import given, name_of
from guerdon.prove.trial import QUICK, Rules, Trial, WantedRun
from guerdon.runs.whole_files import absolute
from guerdon.training.catalog import find_recipe
from guerdon.training.record import Options
from guerdon.training.what_ran import ran_in

STEPS = "steps"  # exams of steps, which some recipes have beside accuracy
BETWEEN = 384  # problems of an exam between the start and the last two points, where those have EXAM
OPTIONS = Options(
    save_every=25, keep=1, rollouts_every=0, eval_every=0.25, eval_tasks=BETWEEN, eval_tries=1,
    eval_whole=EXAM, eval_late=0.9, eval_drawn=True, watch=False,
)  # fmt: skip
QUICK_SHARE = 0.1
QUICK_OPTIONS = dataclasses.replace(OPTIONS, eval_every=0, eval_late=0.0, eval_tasks=48, eval_whole=0)

Progress = Callable[[int, int, RunJob | None], None]


class Wanting(Protocol):
    """What is known makes it want runs, until it wants none."""

    def wanted(self, known: Known) -> list[WantedRun]: ...


@dataclass(frozen=True)
class How:
    """How claims are run. `changes` are fields of the claims that the user wants otherwise."""

    out: Path = Path("evidence")
    runs: Path = Path("runs/prove")
    jobs: int = 0  # at a time; 0: as many as the machine takes
    quick: bool = False
    student: str = ""  # a model that takes the place of the shipped one
    setting: str = ""  # of the suite, to screen recipes in
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    flags: tuple[str, ...] = ()  # as typed, for repeating it
    tells: bool = False  # what is known, and runs nothing

    def command(self, *what: str) -> str:
        """What gives the same again."""
        return shlex.join(["guerdon", "prove", *what, *self.flags])

    def from_here(self) -> How:
        """The same with folders that stay where they are wherever code of the user's goes."""
        student = str(absolute(self.student)) if self.student and Path(self.student).exists() else self.student
        return dataclasses.replace(self, out=absolute(self.out), runs=absolute(self.runs), student=student)

    def file_of(self, entry: RecipeEntry) -> str:
        """What the files of its evidence are called."""
        return file_name(entry.name, name_of(self.student) if self.student else "", self.screens(entry))

    def screens(self, entry: RecipeEntry) -> bool:
        """Whether a recipe is screened: where a setting is named, or it has no registered claim."""
        return bool(self.setting) or not entry.claims

    def has_evidence(self, recipe: str) -> bool:
        return proof_files.has(self.folder, self.file_of(find_recipe(recipe)))

    def options(self, claim: Claim, edition: int = EDITION) -> Options:
        """With exams of the claim's size. Exams of steps are run three times, at the start and at the two points that a score
        is read off; by the second edition of the rules, and where a score is the mean over the run, at all six."""
        if self.quick:
            return QUICK_OPTIONS
        sized = dataclasses.replace(OPTIONS, eval_tasks=BETWEEN * claim.exam // EXAM, eval_whole=claim.exam)
        is_curve = claim.metric.startswith(f"{MEAN}{STEPS}/")
        return sized if edition == SECOND or is_curve else dataclasses.replace(sized, eval_whole_only=(STEPS,))

    @property
    def rules(self) -> Rules:
        return QUICK if self.quick else Rules()

    @property
    def folder(self) -> Path:
        """Where evidence goes; a quick look is kept separately."""
        return self.out / "quick" if self.quick else self.out

    @property
    def known(self) -> Known:
        """The results of the runs in these folders. The package's own evidence counts as well: its keys name their code."""
        return Known.read(self.runs, proof_files.SHIPPED, self.folder)


def prove(names: Sequence[str], how: How, progress: Progress) -> list[dict[str, Any]]:
    """Evidence for each recipe, written to its folder. `progress` is called with how many runs of how many are done, and which
    one was last."""
    how = how.from_here()
    entries = {name: find_recipe(name) for name in names}
    trials = {name: trials_of(name, entry, how) for name, entry in entries.items()}
    _refuse_drafts([trial for each in trials.values() for trial in each], how)
    known = how.known
    try:
        every = [trial for each in trials.values() for trial in each]
        run_trials([] if how.tells else [trial for trial in every if trial.wanted(known)], known, how, progress)
    finally:  # a run that failed, or Ctrl-C, does not take the evidence of the other recipes away
        done = [name for name in names if all(trial.is_told(known) for trial in trials[name])]
        if done:
            proof_files.write(how.folder, *(_evidence(n, entries[n], trials[n], known, how) for n in done))
            proof_files.write_index(how.folder)
    told = [how.file_of(entry) for name, entry in entries.items() if name in done or not how.tells]
    return [proof_files.read(how.folder, name) for name in told]


def check_settings(names: Sequence[str], how: How) -> None:
    """Refuse what `prove` would refuse: a screening in a setting that no pilot has frozen."""
    how = how.from_here()
    _refuse_drafts([trial for name in names for trial in trials_of(name, find_recipe(name), how)], how)


def _refuse_drafts(trials: Sequence[Trial], how: How) -> None:
    """A setting is chosen before a method is seen in it. A quick look is not evidence, and `--tell` runs nothing."""
    if how.quick or how.tells:
        return
    for setting in {trial.setting.name: trial.setting for trial in trials if trial.setting is not None}.values():
        if why := draft(setting, proof_files.SHIPPED, how.folder):
            raise UserError(
                f"setting {setting.name!r} is a draft ({why}): run guerdon prove --pilot {setting.name} first,"
                " or take a quick look with --quick, which is not evidence"
            )


def register_claims(names: Sequence[str], how: How) -> dict[str, Any] | None:
    """Date and hash the claims of recipes, before anything is run."""
    how = how.from_here()
    entries = {name: claiming(find_recipe(name)) for name in names}
    return register(how.folder, [trial for name, entry in entries.items() for trial in trials_of(name, entry, how)])


def trials_of(name: str, entry: RecipeEntry, how: How) -> list[Trial]:
    """The registered claims of a recipe; or the recipe in each of its settings, or in the one that is asked for."""
    if not how.screens(entry):
        return [_trial(name, entry, claim, how) for claim in entry.claims]
    if how.student:
        raise UserError(f"{entry.name} is screened in settings with models of their own: leave --student out")
    wanted = (how.setting,) if how.setting else entry.screened.settings
    return [_screened(name, entry, setting_named(each), how) for each in wanted]


def _screened(name: str, entry: RecipeEntry, setting: NamedSetting, how: How) -> Trial:
    """A recipe in a setting: its own knobs and ablation, and everything else the setting's."""
    screening = entry.screened
    claim = setting.claim(
        entry.about.split("\n\n")[0], method=screening.method, ablation=screening.ablation, knobs=screening.knobs
    )
    claim = changed(claim, **how.changes)
    if how.quick:
        claim = changed(claim, budget=claim.budget * QUICK_SHARE, start=_quick_starts(name, claim, how))
    arms = arms_in_setting(name, claim, setting, how.options(claim))
    return Trial(how.file_of(entry), claim, arms, how.rules, "screening", setting)


def claiming(entry: RecipeEntry) -> RecipeEntry:
    """A recipe with a claim to register."""
    if not entry.claims:
        raise UserError(f"recipe {entry.name!r} claims nothing: give its @recipe a claim=Claim(...) to register")
    return entry


def _trial(name: str, entry: RecipeEntry, claim: Claim, how: How) -> Trial:
    claim = changed(claim, **how.changes)
    if how.student:
        claim = given(claim, entry, how.student, same_budget="budget" in how.changes)
    if how.quick:
        claim = changed(claim, budget=claim.budget * QUICK_SHARE, start=_quick_starts(name, claim, how))
    shown = changed(claim, model=name_of(how.student)) if how.student else claim  # wherever the student lies
    trial = Trial(how.file_of(entry), shown, arms_of(name, claim, how.options(claim)), how.rules)
    before = next(filter(None, (registered(folder, trial) for folder in (how.folder, proof_files.SHIPPED))), None)
    if before is None or before["edition"] == EDITION:
        return trial
    return dataclasses.replace(trial, arms=arms_of(name, claim, how.options(claim, before["edition"])))


def _quick_starts(name: str, claim: Claim, how: How) -> str | dict[str, str]:
    """What arms begin with, trained for a part of its steps."""
    starts = {m: s for arm in arms_of(name, claim, how.options(claim)).values() for m, s in arm.starts.items()}
    brief = {model: f"{start.what} steps={_quick_steps(start)}" for model, start in starts.items()}
    return brief.get(POLICY, "") if isinstance(claim.start, str) else brief


def _quick_steps(start: Arm) -> int:
    recipe = start.build().recipe
    assert isinstance(recipe, Recipe), f"a start is a recipe, and {start.what!r} is a study"
    return max(1, round(QUICK_SHARE * recipe.steps))


# --- running ------------------------------------------------------------------------------------------------------


def run_trials(trials: Sequence[Wanting], known: Known, how: How, progress: Progress) -> None:
    """Run what trials want until they want nothing more. The result of one run may require others."""
    wanted = {i: {run.key: run for run in trial.wanted(known)} for i, trial in enumerate(trials)}

    def more(key: str) -> list[WantedRun]:
        """What is wanted now that a run is known: of trials that waited for nothing else."""
        new: dict[str, WantedRun] = {}
        for i, runs in wanted.items():
            if runs.pop(key, None) is not None and not runs:
                runs |= {run.key: run for run in trials[i].wanted(known)}
                new |= runs
        return list(new.values())

    run_wanted(
        list({key: run for runs in wanted.values() for key, run in runs.items()}.values()), more, known, how, progress
    )


def run_wanted(
    runs: Sequence[WantedRun], more: Callable[[str], list[WantedRun]], known: Known, how: How, progress: Progress
) -> None:
    """Run them and those that their results require; each is recorded as soon as it is done."""
    asked, number = set[str](), 0

    def jobs_of(some: Iterable[WantedRun]) -> list[RunJob]:
        jobs = [job for run in some if run.key not in asked for job in _jobs(run, how)]
        asked.update(job.key for job in jobs)
        return list({job.folder: job for job in jobs if job.key or not is_done(job.folder, job.arm.code)}.values())

    first = jobs_of(runs)
    progress(0, len(first), None)
    total = len(first)

    def done(job: RunJob) -> list[RunJob]:
        nonlocal number, total
        number += 1
        new = []
        if job.key:
            record = {**record_of(job.folder), "key": job.key, "machine": machine(), "seed": job.seed}
            known.add(record, ran_in(job.folder), of=f"{job.arm.what} {job.arm.request.task} {job.arm.request.model}")
            new = jobs_of(more(job.key))
            total += len(new)
        progress(number, total, job)
        return new

    run_all(first, how.jobs or at_a_time(), done)


def _jobs(run: WantedRun, how: How) -> list[RunJob]:
    """A run as a job, after the jobs of what it begins with."""
    starts = list(run.arm.starts.values())
    before = [RunJob(start, START_SEED, how.runs / start.folder(START_SEED), keeps=True) for start in starts]
    after = tuple(job.folder for job in before)
    mine = RunJob(run.arm, run.seed, how.runs / run.folder, run.key, after=after, alone=bool(run.again))
    return [*(job for job in before if not is_done(job.folder, job.arm.code)), mine]


# --- reporting ----------------------------------------------------------------------------------------------------


def _evidence(name: str, entry: RecipeEntry, trials: Sequence[Trial], known: Known, how: How) -> dict[str, Any]:
    claims = []
    for trial in trials:
        is_claim = trial.tier == "registered"
        claims.append({**judged(trial, known), "registered": registered(how.folder, trial) if is_claim else None})
    return {
        "format": proof_files.FORMAT,
        "recipe": entry.name,
        **({"student": name_of(how.student)} if how.student else {}),
        **({"screened": True} if how.screens(entry) else {}),
        "family": entry.family,
        "paper": entry.paper,
        "about": entry.about.split("\n\n")[0],
        "quick": how.quick,
        "code": known.code_of(run for claim in claims for run in runs_of(claim)),
        **_history(how, how.file_of(entry), claims),
        "command": how.command(name),
        "claims": claims,
        **model_and_versions(trials[0].claim.model, claims),
    }


def _history(how: How, name: str, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The note in evidence about changes of its code after its runs, while these are among its own."""
    folders = [f for f in (how.folder, proof_files.SHIPPED) if proof_files.has(f, name)]
    is_there = bool(folders) and not missing_records(
        folders[0], name
    )  # without them its runs are not among the known ones
    earlier = proof_files.read(folders[0], name) if is_there else {}
    known = {run["key"] for claim in claims for run in runs_of(claim)}
    own = {run["key"] for claim in earlier.get("claims", ()) for run in runs_of(claim)}
    return {"history": earlier["history"]} if "history" in earlier and known & own else {}


def model_and_versions(model: str, claims: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What results depend on besides the recipe: the model, and the machine and versions that its last run was made with."""
    runs = [run for claim in claims for arm in claim["arms"].values() for run in arm["runs"]]
    last = max(runs, key=lambda run: str(run["created"]))
    return {
        "model": {"name": model, "version": version(model) if model else ""},
        "versions": {**last["versions"], "at_a_time": last["at_a_time"]},
        "created": last["created"],
    }
