"""Progress for who calls Guerdon from Python: one line of plain text that is written over, in a terminal as in a notebook.

The words are the command line's (`progress.py`); the line needs nothing but a carriage return, which every notebook knows.
`guerdon/training/onlooker.py` asks for it by name.
"""

from __future__ import annotations

import shutil
import time
from types import TracebackType
from typing import Any, TextIO, cast

from rich.console import Console
from rich.progress import Progress

from guerdon.cli.output import UNBOUNDED
from guerdon.cli.progress import Watch
from guerdon.cli.streams import Lasting, shown
from guerdon.runs.event_types import Ended, Event, Started, Stopped

PAUSE = 0.25  # seconds between two versions of the line: each is a message to the page of a notebook
CELLS = 20  # of the bar
FEWEST = 8  # on a narrow terminal


class Line:
    """A line that is written over, as far as rich's `Progress` is used by a `Watch`."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        self.text = self.there = ""  # its text, and the text on the screen
        self.last = 0.0

    def add_task(self, _: str, *, step: str, **__: Any) -> int:
        self.text = step
        return 0

    def remove_task(self, _: int) -> None:
        self.close()

    def update(self, _: int, *, completed: float, step: str = "", numbers: str = "", left: str = "") -> None:
        if step:
            room = self.width - len(f"{step}  {left}  {numbers}") - 4
            cells = max(FEWEST, min(CELLS, room))  # a narrow terminal cuts the numbers first
            done = round(cells * completed)
            self.say(f"{step}  [{'=' * done}{' ' * (cells - done)}]  {left}  {numbers}", completed == 1.0)

    def say(self, text: str, at_once: bool = False) -> None:
        self.text = text
        if at_once or time.monotonic() - self.last >= PAUSE:
            self.draw()

    @property
    def width(self) -> int:
        """Of the terminal: a line that wraps could not be written over."""
        return shutil.get_terminal_size().columns - 1 if self.stream.isatty() else UNBOUNDED

    def draw(self) -> None:
        """Over what stands there."""
        line = shown(self.text)[: self.width].rstrip()
        self._over(line)
        self.there, self.last = line, time.monotonic()

    def clear(self) -> None:
        if self.there:
            self._over("")
            self.there = ""

    def close(self) -> None:
        """The last version stays."""
        if self.text:
            self.draw()
            self.stream.write("\n")
            self.stream.flush()
        self.text = self.there = ""

    def _over(self, line: str) -> None:
        rest = " " * (len(self.there) - len(line))
        self.stream.write(f"\r{line}{rest}" + ("\r" * bool(rest and not line)))
        self.stream.flush()


class LiveLine(Watch):
    """Shows a run that was started from Python: a line that is overwritten on a terminal (`is_live`), a new line now and
    then elsewhere. A listener that needs no `with`: a run's own events open and close it."""

    def __init__(self, stream: TextIO, is_live: bool) -> None:
        lasting = cast(TextIO, Lasting(stream))
        plain = {"force_terminal": False, "force_jupyter": False, "markup": False, "emoji": False, "highlight": False}
        super().__init__(Console(file=lasting, width=UNBOUNDED, **plain))  # type: ignore[arg-type]
        self.line = Line(lasting)
        if is_live:
            self.bar = cast(Progress, self.line)

    def __call__(self, event: Event) -> None:
        if isinstance(event, Started):
            self.failed.clear()
            self.told.clear()
        super().__call__(event)
        if isinstance(event, Ended | Stopped):
            self.__exit__(None, None, None)
        if isinstance(event, Stopped) and event.why == "interrupted":
            self._say("interrupted and saved: resume with gd.train(..., resume=run.path)")

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.line.close()
        self.row = None
        super().__exit__(kind, error, trace)

    def _say(self, line: str) -> None:
        self.line.clear()
        super()._say(shown(line))
        if self.line.text:
            self.line.draw()
