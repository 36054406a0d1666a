"""What a user sees while a run goes: a live line on a terminal, a line now and then elsewhere.

A listener of the run's events, like any logger; it knows nothing that is not in the event file.
"""

from __future__ import annotations

import time
from collections import Counter
from contextlib import ExitStack
from dataclasses import dataclass
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Column

from guerdon.cli.output import exam_lines, percent
from guerdon.cli.streams import live
from guerdon.runs.event_types import (
    Alarmed,
    Ended,
    Evaluated,
    Event,
    ScoresMissing,
    Started,
    StepDone,
    TimeoutFired,
    Warned,
)
from guerdon.runs.headline import exam_headline, headline_key, now_metric, plain

LINES = 20  # at most so many lines of progress a run where there is no terminal
PAUSE = 2.0  # and so many seconds between lines


@dataclass
class Goal:
    """What a run is on its way to: its last step, or the end of its budget."""

    first: int
    steps: int
    budget: float = 0.0
    unit: str = ""
    before: float = 0.0  # of the budget, when this process began
    spent: float = 0.0

    def spend(self, event: StepDone) -> float:
        """The share of the run that is done after this step."""
        self.spent += event.spent.get(self.unit, 0)
        return self.share(event.step + 1)

    def share(self, done: int) -> float:
        return min(1.0, self.spent / self.budget) if self.budget else done / self.steps if self.steps else 1.0

    @property
    def share_before(self) -> float:
        return self.before / self.budget if self.budget else self.first / self.steps if self.steps else 0.0

    def place(self, done: int, of: str = "/") -> str:
        if self.budget:
            return f"step {done}, {short(self.spent)} of {short(self.budget)} {self.unit.replace('_', ' ')}"
        return f"step {done}{of}{self.steps}"


class Watch:
    """Shows a run. Use it as a listener inside its own `with` block."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.failed: Counter[str] = Counter()  # by column: scores that failed or timed out,
        self.told: Counter[str] = Counter()  # and those that were already reported to the user
        self.goal = Goal(0, 0)
        self.key = ""  # of the run's main number, once an exam has given it
        self.shown = 0.0  # progress of the run at the last line
        self.began = self.last_line = time.monotonic()
        self.bar: Progress | None = None
        self.live = ExitStack()
        self.row: TaskID | None = None

    def __enter__(self) -> Watch:
        if self.console.is_terminal:
            first = Column(no_wrap=True)  # step, bar and time left are whole on a narrow terminal; the numbers are cut
            self.bar = Progress(
                TextColumn("{task.fields[step]}", table_column=first),
                BarColumn(bar_width=None, table_column=Column(min_width=8, max_width=24, ratio=1)),
                TextColumn("{task.fields[left]}", table_column=first),
                TextColumn("{task.fields[numbers]}", table_column=Column(no_wrap=True, overflow="ellipsis", ratio=3)),
                console=self.console,
                expand=True,
            )
            self.live.enter_context(live(self.bar))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.live.close()
        for column, count in self.failed.items():
            if count > self.told[column]:
                self._say(f"warning: {count} scores in {column!r} failed in total; the run folder has every exception")

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self._start(event)
        elif isinstance(event, StepDone):
            self._step(event)
        elif isinstance(event, Evaluated):
            self.key = headline_key(event.result)
            for line in evaluation(event):
                self._say(line)
        elif isinstance(event, ScoresMissing):
            self._missing(event)
        elif isinstance(event, TimeoutFired):
            self._say(f"warning: step {event.step}: a time limit decided {event.what}; a resumed run may differ")
        elif isinstance(event, Warned):
            self._say(f"warning: {event.message}")
        elif isinstance(event, Alarmed):
            self._say(alarm_line(event))
        elif isinstance(event, Ended):  # which warned of what failed in all
            self.failed.clear()

    def _say(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    def _start(self, event: Started) -> None:
        self.goal = Goal(event.step, event.steps, event.budget, event.unit, event.spent, event.spent)
        self.shown = self.goal.share(event.step)
        self.began = self.last_line = time.monotonic()
        if event.step:
            self._say(f"resuming after {self.goal.place(event.step, ' of ')}")
        if self.bar is not None:
            if self.row is not None:  # a study's next run
                self.bar.remove_task(self.row)
            self.row = self.bar.add_task("", total=1.0, numbers="", left="", step=self.goal.place(event.step))
            self.bar.update(self.row, completed=self.shown)

    def _step(self, event: StepDone) -> None:
        done, now = event.step + 1, time.monotonic()
        share = self.goal.spend(event)
        seconds = (now - self.began) * (1 - share) / max(share - self.goal.share_before, 1e-9)
        left, words = f"{clock(seconds)} left", numbers(event, self.key)
        if self.bar is not None:
            assert self.row is not None, "a step before its run was started"
            self.bar.update(self.row, completed=share, numbers=words, left=left, step=self.goal.place(done))
        elif share == 1.0 or (share - self.shown >= 1 / LINES and now - self.last_line >= PAUSE):
            self.shown, self.last_line = share, now
            self._say(f"{self.goal.place(done)}  {words}  {left}")

    def _missing(self, event: ScoresMissing) -> None:
        """The first of a column is shown in full; after it a count at the end is enough."""
        lost = event.failed + event.timed_out
        if not self.told[event.column]:
            self.told[event.column] = lost
            why = event.first.strip().rpartition("\n")[2]
            self._say(f"warning: step {event.step}: {lost} of {event.of} in {event.column!r} failed: {why}")
        self.failed[event.column] += lost


def alarm_line(event: Alarmed) -> str:
    """An alarm in one line: how bad, when, what happened and what to do."""
    word = {"bad": "ALARM", "warn": "alarm"}.get(event.severity, event.severity)
    return f"{word}: step {event.step}: {event.rule}: {' '.join(event.message.split())}; {' '.join(event.fix.split())}"


def numbers(event: StepDone, key: str = "") -> str:
    """A step in one line: the run's main number, an exam's `key`, of the problems it trained on; reward, speed (tokens
    generated and processed), updates. What the step does not have is left out."""
    words = []
    about = now_metric(key or "pass@1")
    if about is not None and about[0] in event.metrics:
        now, measure = event.metrics[about[0]], about[1]
        words.append(f"{measure.now_words or measure.words} {percent(now) if measure.is_share else plain(now)}")
    if "episode_return" in event.metrics:
        words.append(f"return {event.metrics['episode_return']:.1f}")
    elif "reward/mean" in event.metrics:
        words.append(f"reward {event.metrics['reward/mean']:.3f}")
    if "truth/mean" in event.metrics:
        words.append(f"truth {event.metrics['truth/mean']:.3f}")
    words += [
        f"{lost} of {asked} {name} replies unreadable" for name, (lost, asked) in event.unreadable.items() if lost
    ]
    if event.seconds > 0:
        read = f", {short(event.read / event.seconds)} processed/s" if event.read else ""
        if event.env_steps:
            words.append(f"{short(event.env_steps / event.seconds)} env steps/s")
        if event.tokens or not event.env_steps:
            words.append(f"{short(event.tokens / event.seconds)} tokens/s{read}")
    if "workers" in event.metrics:
        words.append(f"{event.metrics['workers']:.0f} workers, {percent(event.metrics['workers/idle'])} idle")
    if event.updates > 1:
        words.append(f"{event.updates} updates")
    return "  ".join(words)


def evaluation(event: Evaluated) -> list[str]:
    """What was found: the headline, and a line for each exam that measured something else."""
    done = event.step + 1
    when = f"after {done} step{'s' * (done != 1)}" if done else "before training"
    unchecked = event.result.get("missing", 0.0)
    note = f"; {percent(unchecked)} of the tries could not be checked" if unchecked else ""
    headline = exam_headline([event.result])
    first = [f"held-out {headline.words} {when}: {headline.shown(headline.points[0])}{note}"] if headline else []
    others = exam_lines(event.result, headline.key if headline else "").items()
    return first + [f"held-out {exam or 'numbers'} {when}: {numbers}" for exam, numbers in others]


def short(number: float) -> str:
    return f"{number:.0f}" if number < 1e4 else f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
