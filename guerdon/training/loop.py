"""Training: the loop, and how it starts, stops and resumes.

`steps` is the whole of it.
What it writes is in `training/record.py`, what it saves in `training/resume.py` and when in `training/save_beside.py`.
"""

from __future__ import annotations

import copy
import dataclasses
import functools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from guerdon.core.decided import decided_by
from guerdon.core.errors import RunStopped, UserError, ended_by, is_ctrl_c
from guerdon.core.learn import NonFinite
from guerdon.core.model import shared
from guerdon.core.pack import pack, played_at
from guerdon.core.part import walk
from guerdon.core.recipe import Recipe
from guerdon.core.seeds import derive, seed_globals
from guerdon.display.report import finish_report, write_report
from guerdon.engine.player import Player
from guerdon.models import template_clock as clock
from guerdon.rewards.stage.early_asking import listeners as early_listeners
from guerdon.runs.belonging import missing, missing_checkpoints, refuse_stranger
from guerdon.runs.checkpoint import checkpoint_name
from guerdon.runs.end_notes import end_notes
from guerdon.runs.event_types import Ended, Evaluated, Event, Saved, Started, Stopped, Warned
from guerdon.runs.events import EventLog, latest, next_attempt, read_log
from guerdon.runs.folder import RunFolder
from guerdon.runs.headline import WORTH
from guerdon.runs.listeners import Listener
from guerdon.runs.loggers import open_loggers
from guerdon.runs.never_applied import EARLY
from guerdon.runs.run_config import first_step
from guerdon.training.default_model import about_unsolved
from guerdon.training.evaluate import SatExams, sit_all
from guerdon.training.host import undisturbed
from guerdon.training.readings import fill_needs, refuse_without_text
from guerdon.training.record import START, Interrupt, Options, Recorder
from guerdon.training.remembering import remember
from guerdon.training.resume import restore, save_models, weights_of
from guerdon.training.rollouts import Rollouts
from guerdon.training.save_beside import Saver


def steps(recipe: Recipe, play: Player, record: Recorder, rollouts: Rollouts, first: int, last: int) -> Any:
    """The training loop. Yields after every step the number of steps done."""
    observers = [part for _, part in walk(recipe) if hasattr(part, "observe")]
    for step in range(first, last):
        if recipe.budget is not None:
            if recipe.budget.share == 1.0:
                return
            play.steps = recipe.budget.steps(step, last)
        record.begin(step)
        seed_globals(play.noise, step)
        batch = record.check(pack(rollouts.take(step)))
        if step == first:
            refuse_without_text(recipe.stages, batch)
        for stage in recipe.stages:
            batch = fill_needs(batch, stage.needs, play)
            if stage is recipe.stages[-1]:
                record.record_early(batch, stage)
            batch = record.check(stage(batch, play), stage)
        fresh = played_at(batch, step)
        for part in observers:
            part.observe(fresh, play)
        record.done(batch)
        yield step + 1


def start(recipe: Recipe, seed: int, total: int, noise: int | None = None) -> tuple[Recipe, Player]:
    """A private, started copy of the recipe, and its `play`. The caller's recipe and models stay as they are. What begins and
    what is asked follows from the seed, and so do the tokens that are drawn, unless there is another seed for `noise`."""
    recipe.check()
    recipe = copy.deepcopy(recipe, shared(recipe.models.values()))
    originals_first = sorted(recipe.models.items(), key=lambda item: hasattr(item[1], "of"))
    for name, model in originals_first:
        model.start(derive(seed, "weights", name), recipe.models)
    early = early_listeners(recipe.stages, seed)
    play = Player(recipe.models, recipe.seats, recipe.env, recipe.sampling, seed, total, early, noise)
    for _, part in walk(recipe):
        if hasattr(part, "optimiser"):
            part.start(play)
    return recipe, play


def run_recipe(
    recipe: Recipe,
    folder: RunFolder,
    options: Options,
    seed: int,
    total: int,
    listeners: Sequence[Listener] = (),
    warnings: Sequence[str] = (),
    starts: Path | None = None,
) -> bool:
    """Train in a folder, from its last checkpoint if it has one. True when the run is complete, False when interrupted. Runs
    with a common folder for their `starts` run the exam before the first step once, where it is the same."""
    config = folder.read_config()
    with folder.lock(), clock.as_of(config):
        before = read_log(folder.events)
        refuse_stranger(folder, config, before)
        if any(isinstance(e, Ended) for e in before.events):
            finish_report(folder)
            return True
        recipe, play = start(recipe, seed, total, config.get("noise"))
        gone = missing(folder, config, before) + missing_checkpoints(folder, before)
        notes = [*warnings, *filter(None, [before.damage]), *gone]
        first, waiting = restore(folder, recipe, notes.append)
        began = min(first, first_step(config))
        heard = (*listeners, *open_loggers(options.loggers, folder))
        with EventLog(folder.events, next_attempt(before.events), heard, folder.run_id()) as log:
            begins: list[Event] = [
                _started(recipe, first, total, first == began),
                *_unsaid(before.events, recipe, first),
            ]
            begins += [Warned(first, message=message) for message in notes]
            record = Recorder(folder, log, options, play, starts).watch(recipe, before.events, first)
            try:
                with (
                    Rollouts(recipe, play, total, waiting, options.workers, folder) as rollouts,
                    undisturbed(recipe.models.values()),
                    Saver(recipe, record) as saver,
                ):
                    return _run(recipe, play, saver, rollouts, (began, first, total), begins)
            finally:  # a run that broke is the one whose report is wanted most
                record.early.close()
                write_report(folder)


def _run(
    recipe: Recipe,
    play: Player,
    saver: Saver,
    rollouts: Rollouts,
    span: tuple[int, int, int],
    begins: Sequence[Event],
) -> bool:
    """The run, and how it ends: complete, interrupted, or stopped by an error that is in its events."""
    record = saver.record
    with Interrupt() as interrupt:
        try:
            for event in begins:
                record.emit(event)
            return _to_the_end(recipe, play, saver, rollouts, span, interrupt)
        except NonFinite as error:
            stopped: UserError = record.stopped(str(error), error.batch)
        except UserError as error:
            stopped = error
        except BaseException as error:
            stop = ended_by(error, f"step {play.step}")
            if stop is None:
                raise
            stop.__cause__, stopped = error, stop
        _tell(record, Stopped(play.step, why=str(stopped)))
    raise stopped


def _to_the_end(
    recipe: Recipe, play: Player, saver: Saver, rollouts: Rollouts, span: tuple[int, int, int], interrupt: Interrupt
) -> bool:
    (began, first, total), record, options = span, saver.record, saver.record.options
    if first == began:
        _evaluate(recipe, play, record, first, START)
    done, share = first, _share(recipe, first, total)
    for done in steps(recipe, play, record, rollouts, first, total):
        saver.tell()
        before, share = share, _share(recipe, done, total)
        point = options.evaluation_at(done, before, share)
        if done == EARLY or share == 1.0:
            record.warn_unapplied(done - 1)
        if point:
            _evaluate(recipe, play, record, done, point)
        if share == 1.0 or done % options.save_every == 0 or interrupt.asked or record.stop:
            saver.save(done, rollouts.under_way())
        if interrupt.asked and share < 1.0:
            saver.tell(wait=True)
            record.emit(Stopped(done - 1, why="interrupted"))
            return False
        if record.stop and share < 1.0:
            saver.tell(wait=True)
            raise RunStopped(record.stop)
    if total == 0:
        saver.save(0, rollouts.under_way())
    save_models(record.folder, recipe)
    saver.tell(wait=True)
    _end(
        record,
        done - 1,
        saver.last.weights if saver.last is not None and saver.last.done == done else weights_of(recipe),
    )
    return True


def _end(record: Recorder, last: int, weights: str) -> None:
    """The run is complete. What it should say of itself comes first, and once: a kill may come between the two."""
    events = read_log(record.folder.events).events
    said = {e.message for e in events if isinstance(e, Warned)}
    for message in end_notes(latest(events), weights):
        if message not in said:
            record.emit(Warned(last, message=message))
    record.emit(Ended(last, weights=weights))
    record.log.sync()


def _tell(record: Recorder, event: Event) -> None:
    """The last word about a run that stops. A full disk may refuse even this line, and a listener that broke the run will break
    again: why it stopped is the thing to raise."""
    try:
        record.emit(event)
    except BaseException as error:
        if is_ctrl_c(error):
            raise


def _share(recipe: Recipe, done: int, total: int) -> float:
    """How much of the run is done, 1 at its end."""
    spent = recipe.budget.share if recipe.budget is not None else 0.0
    return max(spent, done / total if total else 1.0)


def _started(recipe: Recipe, first: int, total: int, at_start: bool) -> Started:
    budget = recipe.budget
    trains = any(model.trains for model in recipe.models.values())
    began = Started(first, steps=total, weights=weights_of(recipe) if at_start and trains else "")
    if budget is None:
        return began
    return dataclasses.replace(began, budget=budget.amount, unit=budget.unit, spent=budget.spent)


def _unsaid(before: Sequence[Event], recipe: Recipe, first: int) -> list[Event]:
    """The event of the checkpoint that a run resumes from, where a kill came between the two."""
    paths = {e.path for e in before if isinstance(e, Saved)}
    path = checkpoint_name(first)
    return [Saved(first - 1, path=path, weights=weights_of(recipe))] if first and path not in paths else []


def _evaluate(recipe: Recipe, play: Player, record: Recorder, done: int, point: str) -> None:
    """Run the exams. Problems that are drawn are the same in all runs of a seed, and at all points of a run."""
    options = record.options
    tasks, exams = options.tasks_at(point), options.exams_at(point, recipe.exams)
    if not exams or tasks == 0:
        return
    sit = functools.partial(
        sit_all, exams, recipe.models, recipe.seats, recipe.env, recipe.sampling,
        tasks=tasks, tries=options.eval_tries, seed=play.seed, drawn=play.seed if options.eval_drawn else None,
    )  # fmt: skip
    same = decided_by(sit) if point == START and record.starts is not None else None
    if record.starts is None or same is None:
        sat = sit()
    else:
        sat = SatExams(**remember(record.starts / f"{same}.json", lambda: dataclasses.asdict(sit()), "an exam"))
    result = {**sat.numbers, "point": point} if options.eval_drawn else sat.numbers
    record.emit(Evaluated(done - 1, result=result, problems=sat.problems))
    if point == START:
        scores = any(column in stage.gives for stage in recipe.stages for column in WORTH)
        if unsolved := about_unsolved(record.folder.read_config(), sat.numbers, scores):
            record.emit(Warned(done, message=unsolved))
