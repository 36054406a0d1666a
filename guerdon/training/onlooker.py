"""Whether there is a display while Guerdon is used from Python, and what it shows: a line of progress in a terminal, in IPython
or in a notebook; nothing in a pipe, a log file or a test.

The look of the line belongs to the command line, a folder above this one: it is imported by name, when there is a display.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from guerdon.core.episode import Episode
from guerdon.core.play import Env, Seats, awaits_seats_alone, seats_alone
from guerdon.core.task import Ask
from guerdon.runs.listeners import Listener

Count = Callable[[int, int], None]  # called with how many are done, of how many


def in_notebook() -> bool:
    """Whether a notebook's kernel runs this."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return getattr(shell, "kernel", None) is not None


def looked_at() -> TextIO | None:
    """Where an overwritten line is visible: a notebook, or the terminal of standard error; None for nowhere."""
    if in_notebook():
        return sys.stdout  # a notebook paints standard error red
    return sys.stderr if sys.stderr is not None and sys.stderr.isatty() else None


def watched(progress: bool | None) -> tuple[Listener, ...]:
    """The listener of a run for its display. `progress`: whether to show it; None decides by whether there is a display.
    Elsewhere, if asked for, a line now and then goes to standard error."""
    stream = looked_at()
    if progress is False or (stream is None and not progress):
        return ()
    return (_above().LiveLine(stream or sys.stderr, stream is not None),)


@contextmanager
def counted(what: str, progress: bool | Count | None) -> Iterator[Count]:
    """The counter of finished things for the display; a user's own function is called instead."""
    stream = looked_at()
    if callable(progress):
        yield progress
        return
    if progress is False or stream is None:
        yield _nobody
        return
    line = _above().Line(stream)
    try:
        yield lambda done, of: line.say(f"{what} {done}/{of}", done == of)
    finally:
        line.clear()


def _nobody(done: int, of: int) -> None:
    """No display."""


def _above() -> Any:
    return importlib.import_module("guerdon.cli.live_line")


class CountedEnv:
    """An environment that reports how many of the started tries have ended."""

    def __init__(self, env: Env, tell: Count) -> None:
        self.env, self.tell = env, tell
        self.begun = self.ended = 0
        self.play = self._alone() if awaits_seats_alone(env) else self._played

    @property
    def roles(self) -> tuple[str, ...]:
        return self.env.roles

    def _alone(self) -> Callable[[Ask, Seats], Coroutine[Any, Any, Episode]]:
        @seats_alone
        async def play(ask: Ask, seats: Seats) -> Episode:
            return await self._played(ask, seats)

        return play

    async def _played(self, ask: Ask, seats: Seats) -> Episode:
        self.begun += 1
        episode = await self.env.play(ask, seats)
        self.ended += 1
        self.tell(self.ended, self.begun)
        return episode
