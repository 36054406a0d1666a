"""An exception as a page shows it: its last line, and all of it for who opens it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ErrorText:
    """An exception: its last line, and the whole of it for who opens it."""

    line: str
    whole: str


def error_text(error: str, otherwise: str = "") -> ErrorText:
    """Of an exception's traceback; `otherwise` is the line of one that says nothing."""
    return ErrorText((error.strip().splitlines() or [otherwise])[-1], error.strip())
