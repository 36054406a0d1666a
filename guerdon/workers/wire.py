"""What travels between the pool and its workers: requests, records, and the seals on both.

A record is one message from a worker: its kind, its length, its body.
Every request and every record is sealed with a key, which the pool makes for each worker.
The key is sent before any code of the user's runs there.
A seal covers all that was sealed before it, so nothing can be put in, left out or repeated.
Imports the standard library alone, as every module that workers import must.

Leaves out: a function and its arguments as bytes (`carry.py`), who reads and writes the pipes (`bookkeeping.py`, `worker.py`).
"""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import os
import pickle
import signal
import struct
import traceback
from hashlib import blake2s
from typing import Any

from guerdon.core.score import MARK, SCORE, Score

ORDER = struct.Struct("<cI")  # dispatcher to template: SPAWN (with two descriptors) or KILL, and the worker's number
REPORT = struct.Struct(
    "<cIi"
)  # template to dispatcher: READY, BORN (with its process id) or DIED (with its wait status)
LENGTH = struct.Struct("<Q")  # of a request to a worker
HEAD = struct.Struct("<cI")  # of a record from a worker: its kind and the length of what follows
NUMBER = struct.Struct("<cId")  # the commonest record, whole

SPAWN, KILL = b"S", b"K"
READY, BORN, DIED = b"R", b"B", b"D"
BEGUN, NOT_LOADED, FLOAT, VALUE, FAILED, SUSPECT, TIMED_OUT, LEAVES = b"B", b"L", b"N", b"V", b"F", b"S", b"T", b"Q"
PIPE_LOST = 87  # exit code of a worker whose pipe the user's code has closed
FOREIGN = 88  # and of one that left because the function was about to execute code that is not its own

KEY, SEAL = 32, 8  # bytes of a worker's key, and of a seal
LARGEST = 16 << 20  # bytes of a returned value: a score, its reasons and parts, never a dataset
LONGEST = 4000  # characters of an error
ATOMS = frozenset({float, int, bool, str, type(None)})
# Errors that calls before this one may have caused, by what they left open or allocated.
SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.EBADF, errno.ENOMEM, errno.EAGAIN}
FORGED = "something else than the reward's answer was written into the worker's pipe"


class Seals:
    """One end of a stream of sealed messages. `way` distinguishes the two directions of one key."""

    def __init__(self, key: bytes, way: bytes) -> None:
        self.state = blake2s(key=key, digest_size=SEAL, person=way)
        self.last = b""

    def sealed(self, message: bytes) -> bytes:
        """The message with its seal behind it."""
        self.state.update(self.last + message)
        self.last = self.state.digest()
        return message + self.last

    def holds(self, stream: bytes) -> bool:
        """Whether the last seal of a stream of sealed messages is right, and so all of it. If not, nothing was taken."""
        state = self.state.copy()
        state.update(self.last + stream[:-SEAL])
        if state.digest() != stream[-SEAL:]:
            return False
        self.state, self.last = state, stream[-SEAL:]
        return True


def plain_data(value: Any) -> Any:
    """The value as plain data: numbers, strings, None, lists, tuples and dicts; arrays become numbers or lists of them."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if isinstance(value, Score):
        return {
            MARK: SCORE,
            "value": plain_data(value.value),
            "why": plain_data(value.why),
            "parts": plain_data(value.parts),
        }
    if isinstance(value, dict):
        if MARK in value:
            raise TypeError(f"returned a dict with the key {MARK!r}, which is kept for our own Score")
        return {plain_data(k): plain_data(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        items = [plain_data(v) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain_data(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {**fields, MARK: kind.__name__}
    for base in (int, float):
        if isinstance(value, base):
            return base(value)
    if isinstance(value, str):
        return str.__str__(value)
    with contextlib.suppress(AttributeError, TypeError, ValueError, RuntimeError):  # no array: refused below
        numbers = value.tolist()
        if type(numbers) in ATOMS or type(numbers) is list:
            return plain_data(numbers)
    raise TypeError(
        f"returned {kind.__module__}.{kind.__qualname__}, which is not plain data: return a number, a bool or None"
    )


def record(kind: bytes, body: bytes = b"") -> bytes:
    return HEAD.pack(kind, len(body)) + body


def value_record(value: Any) -> bytes:
    """The record of a returned value."""
    if type(value) is float:
        return NUMBER.pack(FLOAT, 8, value)
    body = pickle.dumps(plain_data(value), 5)
    if len(body) > LARGEST:
        raise ValueError(f"returned {len(body)} bytes: at most {LARGEST} travel back")
    return record(VALUE, body)


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in SHORTAGES
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    )


def failure_record(error: BaseException, memory: int) -> bytes:
    """The record of an exception: its last frames, without that of the worker."""
    try:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        if isinstance(error, MemoryError):
            traceback.clear_frames(trace)  # what filled the memory is in there
        report = traceback.TracebackException(type(error), error, trace, limit=-3)
        text = "".join(report.format()).strip()
        if isinstance(error, BaseExceptionGroup):  # drawn as a tree, whose last line is a rule
            text = f"{text}\n{''.join(report.format_exception_only()).strip()}"
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}"
        if isinstance(error, MemoryError):
            text = f"used more than {memory / (1 << 30):.1f} GiB of memory\n{text}"
        kind = SUSPECT if _is_shortage(error) else TIMED_OUT if isinstance(error, TimeoutError) else FAILED
    except BaseException:  # noqa: BLE001  the user's exception may break while it is printed
        kind, text = SUSPECT if isinstance(error, MemoryError) else FAILED, type(error).__name__
    return record(kind, text.encode("utf-8", "backslashreplace"))


def cause_of_death(status: int) -> str:
    """Why a process ended, by its wait status."""
    if status == -1:
        return "the system could not start another process"
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        name = signal.Signals(number).name if number in {s.value for s in signal.Signals} else "unknown"
        more = ", as the system does when memory runs out" if number == signal.SIGKILL else ""
        return f"the worker was killed by signal {number} ({name}){more}"
    code = os.WEXITSTATUS(status)
    return "the call closed the worker's own pipe" if code == PIPE_LOST else f"the worker exited with code {code}"
