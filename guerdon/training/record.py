"""What a training run writes down while it goes: events, rollouts, checkpoints, faults.

And when it must stop.
"""

from __future__ import annotations

import contextlib
import dataclasses
import math
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, ClassVar

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.episode import Episode
from guerdon.core.errors import CtrlC, RunStopped, UserError, unknown
from guerdon.core.learn import Learn
from guerdon.core.one_turn import failed_in, steps_in
from guerdon.core.pack import played_at
from guerdon.core.part import changed, knob, knobs, label, part
from guerdon.core.recipe import Recipe
from guerdon.engine.player import Player
from guerdon.exams.exam import Exam
from guerdon.rewards.formula.scores import cause
from guerdon.runs.early_rollouts import EarlyRollouts
from guerdon.runs.event_types import Alarmed, Event, ScoresMissing, StepDone, TimeoutFired, Warned
from guerdon.runs.events import EventLog, latest, read_events
from guerdon.runs.folder import RunFolder
from guerdon.runs.loggers import check_loggers
from guerdon.runs.never_applied import never_applied
from guerdon.runs.rollout_files import write_batch
from guerdon.runs.summary import batch_metrics
from guerdon.training.truth_column import TruthColumn, truth_column
from guerdon.watch.batch_signs import batch_signs
from guerdon.watch.past_steps import TRUTH
from guerdon.watch.watchman import Watchman, check_rules, rules_of_config, rules_to_config

START, LATE, LAST = WHOLE = ("start", "late", "last")  # points of a run at which the whole exam is run
WATCHING = ("truth", "watch", "stop_on_alarm")  # options of the watch
PYTHON = "python"  # what run.json says in place of a truth that it cannot name
CAUSES = 20  # of different failures that are reported in a step


@part
class Options:
    """How a run is kept, as opposed to what it computes: none of these changes the weights.

    `save_every` steps a checkpoint, the last `keep` of them kept; `rollouts_every` steps the batch is stored (0: never);
    `eval_every` steps an evaluation between the first and the last one (0: none; below 1: every such share of the run) on
    `eval_tasks` held-out tasks with `eval_tries` tries (0 tasks: no evaluation at all). The first and the last evaluation, and
    one more after the share `eval_late` of the run, have `eval_whole` tasks where that is not 0; exams that `eval_whole_only`
    names are run at these three points alone. `eval_drawn`: the seed draws the tasks, as many of every kind. More than
    `failed_limit` of a step's scores failing stops the run.
    `loggers` names dashboards that receive every event: tensorboard, wandb. `truth` scores the same rollouts and is never
    trained on: `verified`, FILE.py:NAME, or a reward. `watch` raises alarms (docs/watch.md): True for all rules, or rules of
    `guerdon.watch`; with `stop_on_alarm` one that is bad stops the run. `workers` play the episodes (docs/scale.md).

    Args:
        save_every: steps between checkpoints.
        keep: how many checkpoints are kept.
        rollouts_every: steps between stored batches; 0 stores none.
        eval_every: steps between evaluations; below 1 a share of the run, 0 none between the first and the last.
        eval_tasks: held-out problems of an evaluation; 0 evaluates never.
        eval_tries: tries at each of them.
        eval_whole: problems of the first and the last evaluation, where that is not 0.
        eval_whole_only: exams that are run at the first, the late and the last evaluation alone.
        eval_late: share of the run after which another whole evaluation is made.
        eval_drawn: the seed draws the problems, as many of every kind.
        failed_limit: share of failed scores in a step above which the run stops.
        loggers: dashboards that receive every event: "tensorboard", "wandb".
        truth: scorer of the same rollouts that is not trained on: "verified", FILE.py:NAME, or a reward.
        watch: rules that raise alarms: True for all, False for none, or a list.
        stop_on_alarm: an alarm stops the run.
        workers: who plays: so many processes of this machine, or "ray" or "ray://HEAD:10001"; None is the run's own process.

    >>> import guerdon as gd
    >>> gd.Options(save_every=50, eval_tasks=32).save_every
    50
    """

    save_every: int = knob(default=10, ge=1)
    keep: int = knob(default=3, ge=1)
    rollouts_every: int = knob(default=1, ge=0)
    eval_every: float = knob(default=0, ge=0)
    eval_tasks: int = knob(default=64, ge=0)
    eval_tries: int = knob(default=4, ge=1)
    eval_whole: int = knob(default=0, ge=0)
    eval_late: float = knob(default=0.0, ge=0.0, le=1.0)
    eval_whole_only: tuple[str, ...] = ()
    eval_drawn: bool = False
    failed_limit: float = knob(default=0.2, ge=0.0, le=1.0)
    loggers: tuple[str, ...] = ()
    truth: Any = None
    watch: Any = True
    stop_on_alarm: bool = False
    workers: Any = None

    def __post_init__(self) -> None:
        self.workers = read_workers(self.workers)
        check_loggers(self.loggers)
        if not isinstance(self.watch, bool):
            check_rules(self.watch)

    @property
    def keeping(self) -> dict[str, Any]:
        """What proofs identify their runs by: the knobs without those that came later, the watch's and an unused
        `eval_whole_only`."""
        since = (*WATCHING, "workers", *(() if self.eval_whole_only else ("eval_whole_only",)))
        return {name: value for name, value in knobs(self).items() if name not in since}

    def to_config(self) -> dict[str, Any]:
        """As run.json holds it. Of the watch, what differs from the default."""
        said = {name: value for name, value in changed(self).items() if name in (*WATCHING, "workers")}
        if not isinstance(self.watch, bool):
            said["watch"] = rules_to_config(self.watch)
        if self.truth is not None and not isinstance(self.truth, str):
            said["truth"] = {PYTHON: str(self.truth)}
        return self.keeping | said

    @classmethod
    def of_config(cls, config: Mapping[str, Any], truth: Any = None) -> Options:
        """How a run was kept until now. A `truth` that is a Python object has to be said again."""
        for name in config["options"]:
            if name not in knobs(cls()):
                raise unknown("option in run.json", name, knobs(cls()))
        said = dict(config["options"])
        if isinstance(said.get("watch"), list):
            said["watch"] = rules_of_config(said["watch"])
        if isinstance(said.get("truth"), Mapping):
            if truth is None:
                raise UserError(
                    f"the truth of this run, {said['truth'].get(PYTHON)}, is a Python object: give truth=... again"
                )
            said["truth"] = truth
        return cls(**said)

    def evaluation_at(self, done: int, before: float, share: float) -> str:
        """What point of the run an evaluation is due for after `done` steps, when the share of it that is done went from
        `before` to `share`; empty where none is."""
        if share == 1.0:
            return LAST
        if before < self.eval_late <= share:
            return LATE
        every = self.eval_every
        if 0 < every < 1:
            passed = math.floor(share / every + 1e-9)
            return f"{passed * every:g}" if passed > math.floor(before / every + 1e-9) else ""
        return f"step {done}" if every > 0 and done % int(every) == 0 else ""

    def tasks_at(self, point: str) -> int:
        """How many problems the exam of a point has."""
        return self.eval_whole or self.eval_tasks if point in WHOLE else self.eval_tasks

    def exams_at(self, point: str, exams: Sequence[Exam]) -> list[Exam]:
        """Which exams are run at a point."""
        return [exam for exam in exams if point in WHOLE or exam.name not in self.eval_whole_only]


def read_workers(said: Any) -> int | str | None:
    """Who plays, as it is said in Python or on a command line.

    >>> read_workers("4"), read_workers("ray://head:10001"), read_workers(None)
    (4, 'ray://head:10001', None)
    """
    if said is None or (isinstance(said, str) and (said == "ray" or said.startswith("ray://"))):
        return said
    count = int(said) if isinstance(said, str) and said.isdecimal() else said
    if isinstance(count, int) and not isinstance(count, bool) and count > 0:
        return count
    why = "nobody would play" if count == 0 else f"not {said!r}"
    raise UserError(
        f"--workers {said}: {why}; give a number from 1, ray or ray://HEAD:10001, or leave it out to play in this process"
    )


@dataclass
class Recorder:
    """Watches each step go by."""

    folder: RunFolder
    log: EventLog
    options: Options
    play: Player
    starts: Path | None = None  # where exams that are the same before the first step are kept, for runs that share them
    watchman: Watchman | None = None
    truth: TruthColumn | None = None
    began: float = 0.0
    seen: int = 0
    stop: str = ""  # why an alarm stops the run
    early: EarlyRollouts[tuple[dict[str, float], dict[str, float]]] = field(init=False)

    def __post_init__(self) -> None:
        self.early = EarlyRollouts(self._numbers, self.log.run)

    def watch(self, recipe: Recipe, events: Sequence[Event], first: int) -> Recorder:
        """Begin to watch, as a run would that has not been broken off: what happened before the step `first` is gone over."""
        before = [e for e in latest([*events]) if isinstance(e, StepDone) and e.step < first]
        self.truth = truth_column(self.options.truth, recipe)
        if self.truth is not None:
            self.play.ended = [*self.play.ended, *self.truth.listeners(self.play.seed)]
        if self.truth is not None and before:
            self.truth.hear(before[-1].metrics)
        if self.options.watch:
            self.watchman = Watchman(None if self.options.watch is True else self.options.watch)
            self.watchman.hear(before, first)
        return self

    def begin(self, step: int) -> None:
        self.seen = 0
        self.play.begin(step)
        self.began = time.perf_counter()

    def check(self, batch: Batch, stage: Any = None) -> Batch:
        """Count what failed in the columns that a stage gave, and in episodes not seen before; stop when it is too much."""
        columns = _given(batch, stage) if stage is not None else ()
        new = batch.episodes[self.seen :]
        self.seen = len(batch.episodes)
        for name in (*(["episode"] if new else []), *columns):
            lost = _failed_episodes(new) if name == "episode" else _failed_scores(batch, name)
            lost = dataclasses.replace(lost, step=self.play.step, column=name)
            broken = lost.failed + lost.timed_out
            if broken:
                self.emit(lost)
            if lost.timed_out:
                self.emit(TimeoutFired(self.play.step, what=f"{lost.timed_out} of {name!r}"))
            if lost.of and broken / lost.of > self.options.failed_limit:
                why = f"{broken} of {lost.of} in {name!r} failed, more than {self.options.failed_limit:.0%}"
                raise self.stopped(f"{why}: {lost.first.strip().splitlines()[-1]}", batch)
        return batch

    def record_early(self, batch: Batch, last: Any) -> None:
        """Begin to work out what is recorded of this step while its `last` stage learns from it."""
        step, every = self.play.step, self.options.rollouts_every
        if not isinstance(last, Learn):
            return
        batch = last.left_of(batch)
        if self.truth is not None:
            if self.truth.copies not in batch.cols:  # the truth is asked when the step is done
                return
            batch = self.truth(batch, self.play)
        is_due = every and step % every == 0
        self.early.begin(batch, (self.folder.rollouts(step), step) if is_due else None)

    def _numbers(self, batch: Batch) -> tuple[dict[str, float], dict[str, float]]:
        """The metrics of a batch, and the signs that a watchman looks for."""
        return batch_metrics(batch), batch_signs(_fresh(batch)) if self.watchman is not None else {}

    def done(self, batch: Batch) -> None:
        """A step is complete: store its rollouts and its numbers."""
        step, every = self.play.step, self.options.rollouts_every
        for message in self.play.new_warnings():
            self.emit(Warned(step, message=message))
        if self.truth is not None:
            batch = self._with_truth(batch, self.truth)
        own, signs = self.early.numbers(batch)
        metrics = {**own, **self.play.metrics, **signs}
        alarms: list[Alarmed] = []
        if self.watchman is not None:
            alarms = self.watchman.take(step, metrics, _fresh(batch))
        if every and (step % every == 0 or alarms):
            self.early.finish(self.folder.rollouts(step), batch, step)
        self.early.drop()
        self.emit(
            StepDone(
                step,
                metrics=metrics,
                tokens=self.play.tokens,
                calls=self.play.calls,
                episodes=self.play.episodes,
                seconds=time.perf_counter() - self.began,
                read=self.play.meter.read,
                updates=self.play.meter.updates,
                env_steps=self.play.meter.env_steps,
            )
        )
        for alarm in alarms:
            self.emit(alarm)
        worst = next((alarm for alarm in alarms if alarm.severity == "bad"), None)
        if worst is not None and self.options.stop_on_alarm:
            self.stop = f"step {step}: {worst.rule}: {worst.message}; {worst.fix}"

    def _with_truth(self, batch: Batch, truth: TruthColumn) -> Batch:
        """What of it failed is counted, and stops nothing."""
        batch = truth(batch, self.play)
        lost = dataclasses.replace(_failed_scores(batch, TRUTH), step=self.play.step, column=TRUTH)
        if lost.failed + lost.timed_out:
            self.emit(lost)
        if lost.timed_out:
            self.emit(TimeoutFired(self.play.step, what=f"{lost.timed_out} of {TRUTH!r}"))
        return batch

    def warn_unapplied(self, step: int) -> None:
        """Report once which parts of a reward applied to no sample in all the steps so far."""
        events = read_events(self.folder.events)
        said = {e.message for e in events if isinstance(e, Warned)}
        for message in never_applied(latest(events)):
            if message not in said:
                self.emit(Warned(step, message=message))

    def emit(self, event: Event) -> None:
        self.log.emit(event)

    def stopped(self, why: str, batch: Batch) -> RunStopped:
        """Keep the batch that broke the step; the error to raise, one line that names it."""
        path = self.folder.fault(self.play.step)
        write_batch(path, batch, self.play.step, self.log.run)
        return RunStopped(f"step {self.play.step}: {why} (the batch is in {self.folder.shown(path)})")


def _fresh(batch: Batch) -> Batch:
    """What was played last: without what a memory of earlier steps has joined to it."""
    return played_at(batch, max(steps_in(batch.episodes), default=0))


def _given(batch: Any, stage: Any) -> list[str]:
    """The columns that a stage gave; refused, if it says that it gives others."""
    if not isinstance(batch, Batch):
        raise RunStopped(f"stage {label(stage)} returned {batch!r}, not a batch: end it with `return batch`")
    for (
        name
    ) in stage.gives:  # what belongs to a batch besides columns, as pairs do, may be none; steps may come of the whole
        if name not in batch.cols and not hasattr(batch, name) and name.removesuffix("_steps") not in batch.cols:
            raise RunStopped(
                f"stage {label(stage)} declares {name!r} in `gives` and did not add it: call batch.put({name!r}, ...) or"
                " remove it from `gives`"
            )
    return [name for name in stage.gives if name in batch.cols]


def _failed_episodes(episodes: Sequence[Episode]) -> ScoresMissing:
    """How many failed, of how many, and why."""
    errors = [{"error": str(e.info["error"])} for e in failed_in(episodes)]
    return ScoresMissing(0, failed=len(errors), of=len(episodes), **_why(errors))


def _failed_scores(batch: Batch, name: str) -> ScoresMissing:
    """The same for a column. Entries that merely inherit a failure carry no exception and are not counted again."""
    column = batch.cols[name]
    errors = column.errors
    timed_out = sum(int(column.reason[i]) == Reason.TIMED_OUT for i in errors)
    of = int((column.reason != Reason.NOT_APPLICABLE).sum())
    return ScoresMissing(0, failed=len(errors) - timed_out, timed_out=timed_out, of=of, **_why([*errors.values()]))


def _why(errors: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The first exception, and how many broke in which way, the commonest first."""
    count = Counter(cause(each) for each in errors)
    causes = dict(count.most_common(CAUSES))
    others = count.total() - sum(causes.values())
    return {
        "first": str(errors[0]["error"]) if errors else "",
        "causes": causes | ({"other causes": others} if others else {}),
    }


class Interrupt:
    """Ctrl-C, SIGTERM and the end of the terminal (SIGHUP) ask the run to stop after the step, and say so; a second signal is
    taken at once. One that the process was started to ignore (nohup) stays ignored. A process that receives no signals, because
    another one handles them, is stopped through `instead`."""

    instead: ClassVar[Callable[[], bool] | None] = None

    def __init__(self) -> None:
        self._heard = False
        self._old: dict[int, Any] = {}

    @property
    def asked(self) -> bool:
        return self._heard or (Interrupt.instead is not None and Interrupt.instead())

    def __enter__(self) -> Interrupt:
        if Interrupt.instead is None and threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._old[number] = signal.signal(number, self._handle)
        return self

    def __exit__(self, *_: object) -> None:
        for number, old in self._old.items():
            signal.signal(number, old)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self._heard:
            if number != signal.SIGHUP:  # a terminal that is closed sends it twice, by itself and by its shell
                raise CtrlC
            return
        self._heard = True
        with contextlib.suppress(OSError):  # the other end may be closed
            os.write(2, b"\nstopping after this step; press Ctrl-C again to stop at once\n")  # safe in a handler
