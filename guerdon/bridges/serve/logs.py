"""The server's own log, on stderr: nothing that is sent to it can fill a disk or steer a terminal.

So many entries a minute and no more, each cut and with its control characters escaped; how many were omitted is logged.
Left out: what rewards print.
"""

from __future__ import annotations

import contextlib
import logging
import sys
import time
from collections.abc import Iterator

LOGGERS = ("uvicorn", "asyncio")
ENTRIES = 30  # a minute
LETTERS = 4000  # of an entry: its beginning and its end, which is what a traceback is read for
MINUTE = 60.0


class RateLimitedHandler(logging.StreamHandler):  # type: ignore[type-arg]  # of whatever stderr is
    """Writes to stderr, sparingly."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter("%(levelname)s %(name)s: %(message)s"))
        self.since, self.written, self.left_out = time.monotonic(), 0, 0

    def emit(self, record: logging.LogRecord) -> None:
        now = time.monotonic()
        if now - self.since >= MINUTE:
            self.since, self.written = now, 0
        self.written += 1
        if self.written > ENTRIES:
            self.left_out += 1
        else:
            super().emit(record)

    def format(self, record: logging.LogRecord) -> str:
        return self.gap() + _plain(super().format(record))

    def gap(self) -> str:
        """What was omitted since the last such line."""
        count, self.left_out = self.left_out, 0
        return f"({count} more entries are omitted)\n" if count else ""


@contextlib.contextmanager
def rate_limited_log() -> Iterator[None]:
    """The log of the server and its event loop goes through `RateLimitedHandler`, and nowhere else."""
    handler, loggers = RateLimitedHandler(), [logging.getLogger(name) for name in LOGGERS]
    before = [(logger.handlers, logger.propagate) for logger in loggers]
    for logger in loggers:
        logger.handlers, logger.propagate = [handler], False
    try:
        yield
    finally:
        print(handler.gap(), end="", file=sys.stderr)
        for logger, (handlers, propagate) in zip(loggers, before, strict=True):
            logger.handlers, logger.propagate = handlers, propagate


def _plain(text: str) -> str:
    if len(text) > LETTERS:
        text = f"{text[: LETTERS // 2]}\n[...]\n{text[-LETTERS // 2 :]}"
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)
