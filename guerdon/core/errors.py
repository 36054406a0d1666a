"""What a user sees when something is wrong: one clear line with the fault and the fix.

Every error a user can cause is a `UserError`; the command line prints its message and exits with its code.
What a user's own code raises is one as well, however it tries to end the program (`ended_by`).
Anything else that escapes is a bug of ours and keeps its traceback.
"""

from __future__ import annotations

import difflib
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterable
from types import FrameType
from typing import NoReturn

from guerdon.core.installed import is_installed
from guerdon.core.renamed import old_names

__getattr__ = old_names(__name__)
LONGEST = 4000  # characters of an exception's text
LINE = 500  # and of a line of it
GPU_FULL = (
    "CUDA out of memory",
    "CUDA error: out of memory",
    "CUBLAS_STATUS_ALLOC_FAILED",
    "CUDNN_STATUS_ALLOC_FAILED",
)


class UserError(Exception):
    """A mistake in what was asked for. Exit code 2: nothing was run.

    >>> import guerdon as gd
    >>> try:
    ...     gd.train("grppo", task="parity", model="tabular")
    ... except gd.UserError as error:
    ...     print(error)
    unknown recipe 'grppo': did you mean 'grpo'?
    """

    exit_code = 2

    def _render_traceback_(self) -> list[str]:
        """What IPython and notebooks show in place of a traceback: a line with the fix."""
        return [f"{type(self).__name__}: {self}"]


class RunStopped(UserError):
    """A run that could not continue (failing scorer, non-finite loss, full disk). Exit code 1: what was written is intact.

    >>> import guerdon as gd
    >>> raise gd.RunStopped("more than 20 % of the scores failed")
    Traceback (most recent call last):
    guerdon.core.errors.RunStopped: more than 20 % of the scores failed
    """

    exit_code = 1


class GpuFull(RunStopped):
    """A run that wanted more of a GPU's memory than was free. Others that share it may leave room later."""


def is_gpu_full(error: object) -> bool:
    """Whether the message says so; libraries that start on a full GPU have their own wording.

    >>> is_gpu_full(RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"))
    True
    """
    told = isinstance(error, RuntimeError) and any(words in str(error) for words in GPU_FULL)
    return told or isinstance(error, GpuFull)


class CtrlC(KeyboardInterrupt):
    """The user's own, at once: a signal came. A plain KeyboardInterrupt raised by a user's code is only an exception."""


def take_ctrl_c(number: int, frame: FrameType | None) -> NoReturn:
    """The handler of SIGINT in place of Python's own, which does not distinguish the two."""
    raise CtrlC


class Notice(UserWarning):
    """What a user should know though nothing is wrong. The command line prints it as one line."""


class InputNote(Notice):
    """How the user's input was read: a fact to check, not a warning. The command line prints it as it is."""


def nearest(name: str, allowed: Iterable[str]) -> str | None:
    """The allowed name closest to `name`, if one is close enough to be what was meant."""
    there = {each.casefold(): each for each in allowed}
    matches = difflib.get_close_matches(name.casefold(), list(there), n=1, cutoff=0.5)
    return there[matches[0]] if matches else None


def spelled(name: str, allowed: Iterable[str]) -> str:
    """The allowed name that differs from `name` in its case alone; `name` itself where there is none, or there are several."""
    names = [each for each in allowed if each.casefold() == name.casefold()]
    return names[0] if len(names) == 1 else name


def unknown(kind: str, name: str, allowed: Iterable[str]) -> UserError:
    """The one way to refuse an unknown name: suggests one, or lists what there is."""
    names = sorted(allowed)
    close = nearest(name, names)
    hint = f"did you mean {close!r}?" if close else "there is " + (", ".join(names) or "none")
    return UserError(f"unknown {kind} {name!r}: {hint}")


def line_in(file: str, line: int) -> str:
    """A place in code, as a user would type the file from here."""
    here = os.path.relpath(file)
    return f"{file if here.startswith('..') else here}, line {line}"


def caller() -> str:
    """The line outside of `core` that led here: the place to fix what `core` refuses."""
    frame = sys._getframe(1)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).startswith("guerdon.core."):
        frame = frame.f_back
    return line_in(frame.f_code.co_filename, frame.f_lineno)


def require_extra(module: str, extra: str) -> UserError:
    """The one way to report that an optional library is missing."""
    return UserError(f"{module} is not installed: pip install 'guerdon[{extra}]'")


# --- raised by other code -------------------------------------------------------------------------------------------


def is_ctrl_c(error: BaseException) -> bool:
    """Whether the user pressed it, as opposed to code that raises a KeyboardInterrupt. Where Python's own handler is installed
    the two cannot be distinguished, and every one counts as Ctrl-C."""
    if isinstance(error, CtrlC) or not isinstance(error, KeyboardInterrupt):
        return isinstance(error, CtrlC)
    if threading.current_thread() is not threading.main_thread():
        return False  # signals are for the main thread alone
    last = traceback.extract_tb(error.__traceback__)[-1:]
    by_asyncio = bool(last) and last[0].name == "_on_sigint"  # which stands in for Python's while it runs a loop
    return by_asyncio or signal.getsignal(signal.SIGINT) is signal.default_int_handler


def broken_as(error: BaseException) -> str:
    """An exception with its last frames, to be kept as the reason of a failure, whatever it does when it is printed. The user's
    Ctrl-C is not a failure and passes through."""
    if is_ctrl_c(error):
        raise error
    try:
        summary = traceback.TracebackException.from_exception(error, limit=-3)
        text = "".join(summary.format()).strip()
        if isinstance(error, BaseExceptionGroup):  # drawn as a tree, whose last line is a rule
            text = f"{text}\n{''.join(summary.format_exception_only()).strip()}"
    except BaseException:  # noqa: BLE001  its `__str__` is its author's
        text = type(error).__name__
    return printable(text if len(text) <= LONGEST else f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}")


def in_a_line(error: BaseException) -> str:
    """An exception's kind and the first line of its message."""
    try:
        message = printable(str(error)).strip().partition("\n")[0][:LINE]
    except BaseException:  # noqa: BLE001  as above
        message = ""
    return f"{type(error).__name__}: {message}" if message else type(error).__name__


def printable(text: str) -> str:
    """Text that can be written anywhere: a lone surrogate has no UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


def ended_by(error: BaseException, during: str = "") -> RunStopped | None:
    """One line about what a user's code raised, with its place; None for a bug of ours, a UserError and the user's Ctrl-C.

    Only exceptions can be bugs of ours: our code never calls `sys.exit`, so SystemExit, a leaked CancelledError and similar
    ones come from other code wherever they were raised, and only our code ends a run.
    """
    if isinstance(error, UserError) or is_ctrl_c(error):
        return None
    place = place_of(error)
    if place is None and isinstance(error, Exception):
        return None
    message = in_a_line(error)
    if not isinstance(error, Exception):
        message += " was raised: code of yours can not end the program, let it return or raise an error"
    return RunStopped(f"{f'{during}: ' if during else ''}{place or 'somewhere in code of yours'}: {message}")


def place_of(error: BaseException) -> str | None:
    """The last line on the way to an exception that is neither ours nor an installed library's."""
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if not is_installed(frame.filename):
            return line_in(frame.filename, frame.lineno or 0)
    return None
