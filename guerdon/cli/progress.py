"""What a user sees while a run goes: a live line on a terminal, a line now and then elsewhere.

A listener of the run's events, like any logger; it knows nothing the event file does not say.
"""

from __future__ import annotations

import time
from collections import Counter
from types import TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from guerdon.cli.output import percent, rate
from guerdon.core.events import Evaluated, Event, ScoresMissing, Started, StepDone, TimeoutFired, Warned

LINES = 20  # at most so many lines of progress a run where there is no terminal
PAUSE = 2.0  # and so many seconds apart


class Watch:
    """Shows a run. Use it as a listener inside its own `with` block."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.failed: Counter[str] = Counter()  # by column: scores that failed or timed out,
        self.told: Counter[str] = Counter()  # and those the user was told of when they came
        self.first = self.total = self.shown = 0
        self.began = self.last_line = time.monotonic()
        self.bar: Progress | None = None
        self.row: TaskID | None = None

    def __enter__(self) -> Watch:
        if self.console.is_terminal:
            self.bar = Progress(
                TextColumn("step {task.completed:.0f}/{task.total:.0f}"),
                BarColumn(bar_width=24),
                TextColumn("{task.fields[numbers]}"),
                console=self.console,
            )
            self.bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.bar is not None:
            self.bar.stop()
        for column, count in self.failed.items():
            if count > self.told[column]:
                self._say(f"warning: {count} scores in {column!r} failed in all; the run folder keeps every exception")

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self._start(event)
        elif isinstance(event, StepDone):
            self._step(event)
        elif isinstance(event, Evaluated):
            self._say(evaluation(event))
        elif isinstance(event, ScoresMissing):
            self._missing(event)
        elif isinstance(event, TimeoutFired):
            self._say(f"warning: step {event.step}: a clock decided {event.what}; a resumed run may differ")
        elif isinstance(event, Warned):
            self._say(f"warning: {event.message}")

    def _say(self, line: str) -> None:
        self.console.print(line, soft_wrap=True)

    def _start(self, event: Started) -> None:
        self.first = self.shown = event.step
        self.total = event.steps
        self.began = self.last_line = time.monotonic()
        if event.step:
            self._say(f"going on after step {event.step} of {event.steps}")
        if self.bar is not None:
            if self.row is not None:  # a study's next run
                self.bar.remove_task(self.row)
            self.row = self.bar.add_task("", total=event.steps, completed=event.step, numbers="")

    def _step(self, event: StepDone) -> None:
        done, now = event.step + 1, time.monotonic()
        left = (now - self.began) / (done - self.first) * (self.total - done)
        words = numbers(event, left)
        if self.bar is not None:
            assert self.row is not None, "a step before its run was started"
            self.bar.update(self.row, completed=done, numbers=words)
        elif done == self.total or (done - self.shown >= self.total / LINES and now - self.last_line >= PAUSE):
            self.shown, self.last_line = done, now
            self._say(f"step {done}/{self.total}  {words}")

    def _missing(self, event: ScoresMissing) -> None:
        """The first of a column is shown in full; after it a count at the end is enough."""
        lost = event.failed + event.timed_out
        if not self.told[event.column]:
            self.told[event.column] = lost
            why = event.first.strip().rpartition("\n")[2]
            self._say(f"warning: step {event.step}: {lost} of {event.of} in {event.column!r} failed: {why}")
        self.failed[event.column] += lost


def numbers(event: StepDone, seconds_left: float) -> str:
    """A step in one line: reward, accuracy, speed, time left. What the step does not have is left out."""
    correct = event.metrics.get("correct/mean")
    reward = event.metrics.get("reward/mean", correct)
    words = [] if reward is None else [f"reward {reward:.3f}"]
    if correct is not None:
        words.append(f"accuracy {percent(correct)}")
    if event.seconds > 0:
        words.append(f"{short(event.tokens / event.seconds)} tokens/s")
    return "  ".join([*words, f"{clock(seconds_left)} left"])


def evaluation(event: Evaluated) -> str:
    done = event.step + 1
    when = f"after {done} step{'s' * (done != 1)}" if done else "before training"
    unchecked = event.result.get("missing", 0.0)
    note = f"; {percent(unchecked)} of the tries could not be checked" if unchecked else ""
    return f"held-out accuracy {when}: {rate(event.result)}{note}"


def short(number: float) -> str:
    return f"{number:.0f}" if number < 1e4 else f"{number / 1e3:.0f}k" if number < 1e6 else f"{number / 1e6:.1f}M"


def clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{rest:02d}" if hours else f"{minutes}:{rest:02d}"
