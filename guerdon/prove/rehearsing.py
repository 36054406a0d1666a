"""Rehearsals: an arm is run for two steps, to see which functions it executes and with what result.

Evidence is of the functions that its runs executed. When these have changed, a rehearsal of the code before and of the code of
today, on one machine, shows whether results have: the same weights and numbers by other functions are *refactored*, and the
evidence is then of today's functions. A changed function that the rehearsal before did not execute (a GPU kernel, on a machine
without one) stays a change.
Leaves out: branches that two steps do not reach. A sample of runs made again in full is stronger (`remaking.py`).
"""

from __future__ import annotations

import dataclasses
import functools
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.recipe import Study
from guerdon.core.renamed import MODULES
from guerdon.evidence import proof_files
from guerdon.evidence.identity import HOUSE, Code, Sources, changed, code_of, named, path_of
from guerdon.prove.arms import ABLATION, BASELINE, METHOD, PLAIN, START_SEED, Arm
from guerdon.prove.jobs import few_threads, share_machine
from guerdon.prove.known import CODE, as_sets
from guerdon.prove.proving import How, trials_of
from guerdon.prove.records import record_of
from guerdon.prove.remaking import differing
from guerdon.runs.folder import RunFolder
from guerdon.training.build import config_of
from guerdon.training.catalog import find_recipe
from guerdon.training.loop import run_recipe
from guerdon.training.study import run_study
from guerdon.training.what_ran import WhatRan

STEPS = 2
ROLES = {METHOD: 0, BASELINE: 1, ABLATION: 2, PLAIN: 3}  # in the order in which they are named
PROBLEMS = 16  # of an exam
Outcome = Mapping[str, Any]  # of an arm: the `units` that ran, and the `record` of its two steps


@dataclass(frozen=True)
class ArmPlace:
    """An arm of a claim of a recipe."""

    recipe: str
    claim: int
    role: str

    def __str__(self) -> str:
        return f"{self.role} of claim {self.claim + 1}"


def rehearse(arm: Arm, folder: Path) -> dict[str, Any]:
    """Run an arm for two steps, after what it begins with; the units that it executed and its result."""
    units = set[str]()
    for start in arm.starts.values():
        units |= run_briefly(start, folder / start.folder(START_SEED))
    last = folder / "arm"
    units |= run_briefly(arm.begun(folder), last)
    return {"units": sorted(units), "record": record_of(last)}


def run_briefly(arm: Arm, path: Path) -> set[str]:
    """Run an arm for two steps in a folder; the units that it executed."""
    options = dataclasses.replace(arm.options, eval_tasks=PROBLEMS, eval_whole=PROBLEMS)
    folder = RunFolder(path)
    with WhatRan(arm.beside) as ran:
        built = arm.build()
        folder.create({**config_of(built, arm.request, 0, STEPS, options), "at_a_time": 1})
        if isinstance(built.recipe, Study):
            run_study(built.recipe, folder, options, 0, most=STEPS)
        else:
            run_recipe(built.recipe, folder, options, 0, STEPS)
    return ran.units


def arms_in(names: Iterable[str], how: How) -> dict[ArmPlace, Arm]:
    """Every arm of every claim of some recipes."""
    return {
        ArmPlace(name, number, role): arm
        for name in names
        for number, trial in enumerate(trials_of(name, find_recipe(name), how))
        for role, arm in trial.arms.items()
    }


def rehearse_all(arms: Mapping[ArmPlace, Arm], jobs: int) -> Iterator[tuple[list[ArmPlace], Outcome]]:
    """Each arm once, several at a time, with all the places that it stands in."""
    places: dict[str, list[ArmPlace]] = {}
    for place, arm in arms.items():
        places.setdefault(arm.key(0), []).append(place)
    firsts = [(each, arms[each[0]]) for each in places.values()]
    with few_threads(jobs), ProcessPoolExecutor(jobs, get_context("spawn"), share_machine, (jobs,)) as pool:
        waiting = {pool.submit(_rehearsed, arm): where for where, arm in firsts}
        for future in as_completed(waiting):
            yield waiting[future], future.result()


def _rehearsed(arm: Arm) -> Outcome:
    with tempfile.TemporaryDirectory() as folder:
        return rehearse(arm, Path(folder))


# --- before and after ---------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Refactoring:
    """What came of rehearsing a proof twice: `refactored`, `stale`, or `current` where its code is as it was."""

    name: str
    outcome: str
    why: str = ""

    @property
    def is_left_stale(self) -> bool:
        return self.outcome == "stale"

    @property
    def line(self) -> str:
        """The outcome for a person."""
        return {"stale": f"stays stale: {self.why}", "current": "its code has not changed"}.get(self.outcome, self.why)


def refactored(names: Sequence[str], before: Path, how: How, heard: Callable[[str], None]) -> list[Refactoring]:
    """Rehearse proofs whose code has changed with the code `before` and with that of today; those of which every arm gives
    the same result are of today's code from then on. `before` is a checkout of the package, or a folder with recipes of one's
    own as they were."""
    how, then_from = how.from_here(), _Place.of(before)
    proofs = {name: proof_files.read(how.folder, how.file_of(find_recipe(name))) for name in names}
    aged = {name: proof for name, proof in proofs.items() if proof_files.stale_units(proof)}
    outcomes = {name: Refactoring(name, "current") for name in names if name not in aged}
    for name, proof in aged.items():
        if differs := changed(Code(proof["code"]["units"], proof["code"]["files"]), then_from.sources):
            outcomes[name] = Refactoring(name, "stale", f"it was not made with the code in {before}: {named(differs)}")
    left = [name for name in aged if name not in outcomes]
    then, now = (_rehearsals(left, place, how, heard) for place in (then_from, _Place(HOUSE, Path.cwd())))
    kept = []
    for name in left:
        outcomes[name], renewed = settle(name, aged[name], then, now, then_from.sources)
        kept += [renewed] if renewed is not None else []
    proof_files.write(how.folder, *kept)
    proof_files.write_index(how.folder)
    return [outcomes[name] for name in names]


@dataclass(frozen=True)
class _Place:
    """Where code is run: a package, and a folder with files of one's own."""

    package: Path
    own: Path

    @classmethod
    def of(cls, before: Path) -> _Place:
        before = before.resolve()
        package = before / HOUSE.name
        if not package.is_dir() and not [*before.glob("*.py")]:
            raise UserError(f"{before} holds no code: make it with git worktree add {before} COMMIT")
        return cls(package if package.is_dir() else HOUSE, before)

    @functools.cached_property
    def sources(self) -> Sources:
        return Sources(self.package, self.own)


def _rehearsals(names: Sequence[str], place: _Place, how: How, heard: Callable[[str], None]) -> dict[ArmPlace, Outcome]:
    """The results of the arms of some recipes with the code of a place."""
    if not names:
        return {}
    command = [sys.executable, "-m", _module_in(place.package), str(how.jobs), *names]
    environment = {**os.environ, "PYTHONPATH": str(place.package.parent)}
    outcomes: dict[ArmPlace, Outcome] = {}
    with subprocess.Popen(command, env=environment, cwd=place.own, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            told = json.loads(line)
            places = [ArmPlace(*each) for each in told["places"]]
            outcomes |= dict.fromkeys(places, told)
            heard(f"{places[0].recipe}, {places[0]}, with the code in {place.own}")
    if process.returncode:
        raise UserError(f"rehearsals with the code in {place.own} failed: {' '.join(command)}")
    return outcomes


def _module_in(package: Path) -> str:
    """This module by the name that it has in a package, which may be of an earlier version."""
    names = [__name__, *(old for old, now in MODULES.items() if now == __name__)]
    return next((name for name in names if path_of(name.partition(".")[2], package) is not None), __name__)


def settle(
    name: str,
    proof: dict[str, Any],
    then: Mapping[ArmPlace, Outcome],
    now: Mapping[ArmPlace, Outcome],
    before: Sources,
) -> tuple[Refactoring, dict[str, Any] | None]:
    """What rehearsals make of a proof; and the proof as it is of today's code, where its results are the same."""
    mine = sorted(
        (place for place in then if place.recipe == name), key=lambda place: (place.claim, ROLES.get(place.role, 0))
    )
    for place in mine:
        if difference := differing(then[place]["record"], now[place]["record"]):
            return Refactoring(name, "stale", f"{place} has different results: {difference}"), None
    gone = proof_files.stale_units(proof)
    seen = {unit for place in mine for unit in code_of(then[place]["units"], before).units}
    unseen = [unit for unit, (was, _) in gone.items() if was and unit not in seen]
    if unseen:
        return Refactoring(name, "stale", f"the rehearsal here does not execute {named(unseen)}"), None
    added = {unit for place in mine for unit in now[place]["units"]}
    sets = {key: ({*units} - {*gone}) | added for key, units in proof_files.codes_of(proof).items()}
    note = {
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
        "what": f"refactored: {named(gone)} changed; rehearsed before and after with equal weights and numbers: "
        + ", ".join(map(str, mine)),
    }
    history = [*proof.get("history", ()), note]
    return Refactoring(name, "refactored", note["what"]), {**proof, CODE: as_sets(sets), "history": history}


def main(arguments: Sequence[str]) -> None:
    """`python -m guerdon.prove.rehearsing JOBS NAME...`: a line of JSON for every arm."""
    jobs, *names = arguments
    arms = arms_in(names, How())
    for places, outcome in rehearse_all(arms, int(jobs) or len(os.sched_getaffinity(0))):
        print(json.dumps({"places": [dataclasses.astuple(place) for place in places], **outcome}), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
