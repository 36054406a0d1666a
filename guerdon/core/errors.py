"""What a user sees when something is wrong: one clear line that says what and how to mend it.

Every error a user can cause is a `UserError`; the command line prints its message and exits with its code. Anything
else that escapes is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
import os
import sys
from collections.abc import Iterable


class UserError(Exception):
    """A mistake in what was asked for. Exit code 2: nothing was run."""

    exit_code = 2


class RunStopped(UserError):
    """A run that could not go on (failing scorer, non-finite loss, full disk). Exit code 1: what was written is intact."""

    exit_code = 1


class Notice(UserWarning):
    """What a user should know though nothing is wrong. The command line prints it as one line."""


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """The allowed name closest to `name`, if one is close enough to be what was meant."""
    found = difflib.get_close_matches(name, list(allowed), n=1, cutoff=0.5)
    return found[0] if found else None


def unknown(kind: str, name: str, allowed: Iterable[str]) -> UserError:
    """The one way to refuse an unknown name: says what was meant, or what there is."""
    names = sorted(allowed)
    close = nearest(name, names)
    hint = f"did you mean {close!r}?" if close else "there is " + (", ".join(names) or "none")
    return UserError(f"unknown {kind} {name!r}: {hint}")


def line_in(file: str, line: int) -> str:
    """A place in code, as a user would type the file from here."""
    here = os.path.relpath(file)
    return f"{file if here.startswith('..') else here}, line {line}"


def caller() -> str:
    """The line outside of `core` that led here: where what `core` refuses can be mended."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("guerdon.core."):
        frame = frame.f_back
    return line_in(frame.f_code.co_filename, frame.f_lineno)


def require_extra(module: str, extra: str) -> UserError:
    """The one way to say that an optional library is missing."""
    return UserError(f"{module} is not installed: pip install 'guerdon[{extra}]'")
