"""Running a Study: plain Python over inner runs that are remembered by their hash."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from guerdon.core.budget import NO_END, Budget
from guerdon.core.decided import decided_by
from guerdon.core.episode import Episode
from guerdon.core.errors import UserError, ended_by
from guerdon.core.model import Model, weights_hash
from guerdon.core.part import describe, fingerprint, knobs
from guerdon.core.recipe import Recipe, Study
from guerdon.core.task import Ask, Sampling, TaskSource
from guerdon.display.report import finish_report, write_report
from guerdon.envs.simple import single_turn
from guerdon.exams.exam import Exam
from guerdon.models import template_clock as clock
from guerdon.runs.belonging import refuse_other, refuse_stranger
from guerdon.runs.checksums import crc
from guerdon.runs.event_types import Ended, Evaluated, Started, StepDone, Stopped, Warned
from guerdon.runs.events import EventLog, next_attempt, read_log
from guerdon.runs.folder import RunFolder
from guerdon.runs.listeners import Listener, Listeners
from guerdon.runs.run import Run, drop_damaged
from guerdon.runs.whole_files import write_json
from guerdon.training.build import Built, RunRequest, config_of
from guerdon.training.evaluate import examined
from guerdon.training.homes import bring_home
from guerdon.training.loop import run_recipe, start
from guerdon.training.record import Options
from guerdon.training.remembering import remember
from guerdon.training.resume import Trained
from guerdon.training.what_ran import RAN, also, ran_in, seen


class Interrupted(BaseException):
    """An inner run was interrupted: the study stops where it is, whatever exceptions its body catches."""


class StudyRun:
    """What a study's body is handed. Everything it does is remembered: running the body again repeats nothing.

    `budget` is the study's own budget, None without one; `spent` what its runs have cost by now.
    `inner` is where its runs are: studies of one seed and one code that share it make what they have in common once. Common is
    what everything that decides it says so of (`core/decided.py`); what cannot be known that well is made by each for itself.
    """

    def __init__(
        self,
        folder: RunFolder,
        options: Options,
        seed: int,
        log: EventLog,
        budget: Budget | None = None,
        listeners: Sequence[Listener] = (),
        inner: Path | None = None,
        most: int | None = None,
    ) -> None:
        self.most = most
        self.inner, self.shares = inner or folder.inner, inner is not None
        self.folder, self.options, self.seed, self.log, self.listeners = folder, options, seed, log, listeners
        self.budget = budget
        self.interrupted = False
        self.runs: dict[Path, Trained] = {}
        self.made: list[str] = []  # weights of the inner runs, in order

    @property
    def spent(self) -> dict[str, float]:
        """In every unit of a budget. Playing and evaluating outside of a run is measuring, and costs nothing."""
        costs = [run.spent for run in self.runs.values()]
        return {unit: sum(cost[unit] for cost in costs) for unit in StepDone(0).spent}

    def train(
        self, recipe: Recipe, *, seed: int | None = None, steps: int | None = None, budget: Budget | None = None
    ) -> Trained:
        """Train a recipe, or read the finished run of the same recipe and seed.

        With a `budget` it takes as many steps as that allows; `budget=run.budget` gives it as much as the study
        has. A recipe without one trains for its steps, and within what is left of the study's: once that is spent, for none.
        """
        recipe = self._lengthened(recipe, steps, budget)
        if self.most is not None:
            recipe = recipe.but(steps=min(recipe.steps, self.most))
        bring_home(recipe)
        recipe.check()
        seed = self.seed if seed is None else seed
        inner = RunFolder(self._place([recipe.hash, seed], recipe))
        with inner.lock(wait=True):
            notes = drop_damaged(inner)
            if not inner.exists():
                inner.create(config_of(Built("recipe", recipe), RunRequest(recipe), seed, recipe.steps, self.options))
            refuse_other(inner, recipe.hash, seed)
            if not run_recipe(recipe, inner, self.options, seed, recipe.steps, self.listeners, notes):
                self.interrupted = True
                raise Interrupted
            if not (inner.path / RAN).exists():
                write_json(inner.path / RAN, seen())
            also(ran_in(inner.path))
        if inner.path.parent != self.folder.inner:
            self._link(inner.path)
        run = Trained(inner, recipe)
        self.made.append(str(run.weights))
        if inner.path not in self.runs:
            self._note(run)
        return run

    def _place(self, key: Any, decides: Any) -> Path:
        """Where a result lies: beside those of other studies if all that decides it is known, else in its own folder."""
        whole = decided_by(decides)
        if not self.shares or whole is None:
            return self.folder.inner / fingerprint(key)
        return self.inner / fingerprint([key, whole])

    def decided_by(self) -> Any:
        """What it provides: all else follows from the calls."""
        spent = {unit: cost for unit, cost in self.spent.items() if unit != "seconds"}
        return [self.seed, self.options.keeping, None if self.budget is None else knobs(self.budget), spent]

    def _link(self, path: Path) -> None:
        """A run that others may share, as one of its own folder's."""
        link = self.folder.inner / path.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.is_symlink():
            link.symlink_to(os.path.relpath(path, link.parent))

    def _lengthened(self, recipe: Recipe, steps: int | None, budget: Budget | None) -> Recipe:
        if budget is not None:
            return recipe.but(steps=NO_END if steps is None else steps, budget=budget)
        recipe = recipe.but(steps=steps) if steps is not None else recipe.but()
        if self.budget is not None and recipe.budget is None:
            left = self.budget.amount - self.spent[self.budget.unit]
            recipe = recipe.but(budget=Budget(left, self.budget.unit)) if left > 0 else recipe.but(steps=0)
        return recipe

    def _note(self, run: Trained) -> None:
        """A run's evaluations are the study's too, after all that it had spent before."""
        before = self.spent
        for cost, result in run.curve:
            spent = {unit: n + cost.get(unit, 0) for unit, n in before.items() if unit in cost or n}
            self.log.emit(Evaluated(int(spent["steps"]) - 1, result=result, spent=spent))
        self.runs[run.path] = run

    def remember(self, key: Any, make: Callable[[], Any]) -> Any:
        """What `make()` gave the first time that it was asked for by this key, as JSON has it: a run of another library, which
        a killed study then does not repeat; what is damaged is made again. The key identifies results within a study: numbers,
        names, parts, functions. Other studies take a result over only where `make` is the same to the last value that it
        closes over."""
        return self._remember(key, make, make)

    def _remember(self, key: Any, decides: Any, make: Callable[[], Any]) -> Any:
        place = self._place(key, decides)
        path = place.with_name(f"remembered-{place.name}.json")
        owner = (
            self.folder.run_id() if place.parent == self.folder.inner else ""
        )  # others have what they share in common
        return remember(path, make, f"run.remember({describe(key)})", self.shares, owner)

    def eval(
        self,
        model: Model,
        task: TaskSource | Exam,
        *,
        models: Mapping[str, Model] | None = None,
        tasks: int = 64,
        tries: int = 4,
        sampling: Sampling | None = None,
    ) -> dict[str, Any]:
        """Held-out accuracy of a model, or what an exam of it finds, remembered by its weights and those of the other `models`
        that the exam seats or reads."""
        exam, how = task if isinstance(task, Exam) else Exam(task), sampling or Sampling()
        sitting = {"policy": model, **(models or {})}
        weights = {name: weights_hash(each.weights) for name, each in sitting.items()}
        decides = [weights, exam, how, tasks, tries, self.seed]
        numbers: dict[str, Any] = self._remember(
            ["eval", *decides],
            decides,
            lambda: examined(sitting, [exam], single_turn(), self.seed, sampling=how, tasks=tasks, tries=tries),
        )
        return numbers

    def play(self, recipe: Recipe, asks: Sequence[Ask]) -> list[Episode]:
        """Have a recipe's models play in its environment; nothing is learned, nothing is stored."""
        _, play = start(recipe, self.seed, recipe.steps)
        return play(asks)


def run_study(
    study: Study,
    folder: RunFolder,
    options: Options,
    seed: int,
    listeners: Sequence[Listener] = (),
    warnings: Sequence[str] = (),
    inner: Path | None = None,
    most: int | None = None,
) -> Any:
    """Run a study's body to its end; None when it was interrupted. `inner` is where its runs go, if not in its folder; `most`
    is how many steps each of them takes at most, in a rehearsal."""
    with folder.lock(), clock.as_of(folder.read_config()):
        before = read_log(folder.events)
        refuse_stranger(folder, folder.read_config(), before)
        if any(isinstance(e, Ended) for e in before.events):
            result = Run(folder).result
            finish_report(folder)
            return result
        with EventLog(folder.events, next_attempt(before.events), run=folder.run_id()) as log:
            budget = study.budget
            log.emit(Started(0, budget=budget.amount, unit=budget.unit) if budget is not None else Started(0))
            for message in (*warnings, *filter(None, [before.damage])):
                log.emit(Warned(0, message=message))
                for why in Listeners(listeners).tell(Warned(0, message=message)):  # also for the runs in it
                    log.emit(Warned(0, message=why))
            run = StudyRun(folder, options, seed, log, budget, listeners, inner, most)
            try:
                result = study.body(run, seed)
                if run.interrupted:  # and the body did not report it
                    raise Interrupted
                write_json(folder.result, result if isinstance(result, dict) else None)
                weights = hashlib.sha256("".join(run.made).encode()).hexdigest()[:16]
                log.emit(Ended(0, weights=weights, result=crc(folder.result.read_bytes())))
                log.sync()
                return result
            except UserError as error:
                log.emit(Stopped(0, why=str(error)))
                raise
            except BaseException as error:
                if run.interrupted:
                    log.emit(Stopped(0, why="interrupted"))
                    return None
                stopped = ended_by(error, "the study")
                if stopped is None:
                    raise
                log.emit(Stopped(0, why=str(stopped)))
                raise stopped from error
            finally:
                write_report(folder)
