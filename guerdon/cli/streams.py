"""Standard output and error as every verb writes to them: they outlive their reader, and a terminal shows text as text.

A run must not end because `head` has read enough, a disk is full or a terminal is gone;
and text from a model, a reward, a data file or a foreign folder must not move a cursor, ring,
or hide what stands beside it.
Leaves out: what C code writes by itself.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from rich.file_proxy import FileProxy
from rich.progress import Progress

# C0 but for tab and newline, DEL, C1, and what turns the direction of writing around
ACTS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
NOBODY = (errno.EPIPE, errno.EIO, errno.ENXIO, errno.EBADF)  # who read has left, which is their good right


def shown(text: str) -> str:
    r"""A text in which nothing is left that a terminal would act on: ESC is shown as \x1b."""
    return ACTS.sub(lambda match: match[0].encode("unicode_escape").decode(), text)


class Lasting:
    """A stream that accepts all output, whether or not it is read. `lost` is why output is missing, unless the reader
    ended."""

    def __init__(self, under: TextIO, told: Escaped | None = None) -> None:
        self.under, self.told = under, told
        self.lost = ""
        self.over = False

    def write(self, text: str) -> int:
        if not self.over:
            try:
                self.under.write(text)
            except UnicodeEncodeError:  # half of a pair, or a terminal of another alphabet
                code = self.under.encoding or "ascii"
                self.write(text.encode(code, "backslashreplace").decode(code))
            except (OSError, ValueError) as error:
                self._end(error)
        return len(text)

    def flush(self) -> None:
        if not self.over:
            try:
                self.under.flush()
            except (OSError, ValueError) as error:
                self._end(error)

    def _end(self, error: OSError | ValueError) -> None:
        """From here on nothing is written. What is in the buffer, and what others write to the same place, goes nowhere."""
        self.over = True
        with suppress(OSError, ValueError):  # a stream without a file descriptor, or one that was closed
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self.under.fileno())
            os.close(nowhere)
        if isinstance(error, OSError) and error.errno not in NOBODY:
            self.lost = str(error.strerror)
            if self.told is not None:
                self.told.write(f"warning: cannot write to standard output ({self.lost}): continuing without it\n")
                self.told.flush()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.under, name)


class Escaped:
    """What `print` writes to: text without effect. Reports that it is not a terminal, for libraries that ask before they
    colour."""

    def __init__(self, under: Lasting | FileProxy) -> None:
        self.under = under

    def write(self, text: str) -> int:
        self.under.write(shown(text))
        return len(text)

    def writelines(self, lines: Any) -> None:
        for line in lines:
            self.write(line)

    def isatty(self) -> bool:
        return False

    def close(self) -> None:
        """Stays open: a reward must not close the program's output."""

    def __getattr__(self, name: str) -> Any:
        return getattr(self.under, name)


@contextmanager
def lasting_streams() -> Iterator[Lasting]:
    """Standard output, which is handed out, and error as described above, inside."""
    before = sys.stdout, sys.stderr
    _fill_gaps()
    errors = Escaped(Lasting(_open(sys.stderr)))
    out = Lasting(_open(sys.stdout), errors)
    sys.stdout, sys.stderr = cast(TextIO, Escaped(out)), cast(TextIO, errors)
    try:
        yield out
    finally:
        out.flush()
        errors.flush()
        sys.stdout, sys.stderr = before


def _open(stream: TextIO | None) -> TextIO:
    """Somewhere to write to where the process was started without a stream."""
    return open(os.devnull, "w", encoding="utf-8") if stream is None else stream


def _fill_gaps() -> None:
    """Where the process was started without one of 0, 1 and 2, the next file to be opened would get the number, and with
    it all that is written to standard error."""
    for standard in (0, 1, 2):
        try:
            os.fstat(standard)
        except OSError:
            os.open(os.devnull, os.O_RDWR)


@contextmanager
def live(bar: Progress) -> Iterator[Progress]:
    """A bar on a terminal. rich has what others print meanwhile appear above it; here without effects of theirs."""
    with bar:
        if isinstance(sys.stdout, FileProxy):
            sys.stdout = cast(TextIO, Escaped(sys.stdout))
        if isinstance(sys.stderr, FileProxy):
            sys.stderr = cast(TextIO, Escaped(sys.stderr))
        yield bar
