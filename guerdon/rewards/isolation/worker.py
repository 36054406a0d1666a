"""What runs in a worker: the user's function, one call after the other. Run as a script by `guerdon.rewards.isolation.workers`.

The script is a *template*: it imports what a worker needs, runs no code of the user's, and forks a worker when it is told
to (a millisecond, where a new interpreter takes a tenth of a second). It also does what a worker inside a hung regex could
not: it kills the workers when the parent is gone, and says how each of them died.

A worker reads requests from one pipe and writes one record for every call to another, before it begins the next: what a
call came to is safe in the pipe whatever the next one does. What user code prints goes nowhere, to stdout and stderr alike.

Imports the standard library alone, and cloudpickle in the template. Leaves out: deadlines and who is to blame (the
parent's), security (a function that means harm can kill its siblings), memory limits where there is no /proc (macOS).
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import errno
import gc
import io
import os
import pickle
import resource
import select
import signal
import socket
import struct
import sys
import traceback
from collections.abc import Callable
from types import ModuleType
from typing import Any, NoReturn

ORDER = struct.Struct("<cI")  # parent to template: SPAWN (with two descriptors) or KILL, and the worker's number
DEATH = struct.Struct("<Ii")  # template to parent: the worker's number and its wait status
LENGTH = struct.Struct("<Q")  # of a request to a worker
HEAD = struct.Struct("<cI")  # of a record from a worker: its kind and the length of what follows
NUMBER = struct.Struct("<cId")  # the commonest record, whole

SPAWN, KILL = b"S", b"K"
BEGUN, NOT_LOADED, FLOAT, VALUE, FAILED, SUSPECT, TIMED_OUT = b"B", b"L", b"N", b"V", b"F", b"S", b"T"
PIPE_LOST = 87  # exit code of a worker whose pipe the user's code has closed

LARGEST = 16 << 20  # bytes of a returned value: a score, its reasons and parts, never a dataset
LONGEST = 4000  # characters of an error
ATOMS = frozenset({float, int, bool, str, type(None)})
# Errors that calls before this one may have caused, by what they left open or allocated.
SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.EBADF, errno.ENOMEM, errno.EAGAIN}


class _Nowhere(io.RawIOBase):
    """A stream without a descriptor: code that closes descriptor 1 does not break the print of the next call."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def plain(value: Any) -> Any:
    """The value as plain data: numbers, strings, None, lists, tuples and dicts; arrays become numbers or lists of them."""
    kind = type(value)
    if kind in ATOMS:
        return value
    if isinstance(value, dict):
        return {plain(k): plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple):
        items = [plain(v) for v in value]
        return items if isinstance(value, list) else tuple(items)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {f.name: plain(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return {"__dataclass__": kind.__name__, **fields}
    for base in (int, float):
        if isinstance(value, base):
            return base(value)
    if isinstance(value, str):
        return str.__str__(value)
    with contextlib.suppress(AttributeError, TypeError, ValueError, RuntimeError):  # no array: refused below
        numbers = value.tolist()
        if type(numbers) in ATOMS or type(numbers) is list:
            return plain(numbers)
    raise TypeError(
        f"returned {kind.__module__}.{kind.__qualname__}, which is not plain data: return a number, a bool or None"
    )


def _record(kind: bytes, body: bytes) -> bytes:
    return HEAD.pack(kind, len(body)) + body


def answer(value: Any) -> bytes:
    """The record of a returned value that is no plain float."""
    body = pickle.dumps(plain(value), 5)
    if len(body) > LARGEST:
        raise ValueError(f"returned {len(body)} bytes: at most {LARGEST} travel back")
    return _record(VALUE, body)


def _is_shortage(error: BaseException) -> bool:
    if isinstance(error, OSError):
        return error.errno in SHORTAGES
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    )


def failure(error: BaseException, memory: int) -> bytes:
    """The record of an exception: its last frames, without those of this file."""
    try:
        trace = error.__traceback__.tb_next if error.__traceback__ else None
        if isinstance(error, MemoryError):
            traceback.clear_frames(trace)  # what filled the memory is in there
        text = "".join(traceback.TracebackException(type(error), error, trace, limit=-3).format()).strip()
        if len(text) > LONGEST:
            text = f"{text[: LONGEST // 2]}\n...\n{text[-LONGEST // 2 :]}"
        if isinstance(error, MemoryError):
            text = f"used more than {memory / (1 << 30):.1f} GiB of memory\n{text}"
        kind = SUSPECT if _is_shortage(error) else TIMED_OUT if isinstance(error, TimeoutError) else FAILED
    except BaseException:  # noqa: BLE001  the user's exception may break while it is printed
        kind, text = SUSPECT if isinstance(error, MemoryError) else FAILED, type(error).__name__
    return _record(kind, text.encode("utf-8", "backslashreplace"))


def limit_memory(memory: int | None) -> None:
    """Let this process grow by so many bytes of address space from here; None lifts the limit."""
    try:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = hard if memory is None else size + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    except FileNotFoundError:
        return  # macOS neither tells nor limits it


class Worker:
    """One forked process: reads requests, calls, writes records, until there are no more requests."""

    def __init__(self, requests: int, answers: int, memory: int) -> None:
        self.requests, self.answers, self.memory = requests, answers, memory
        self.functions: dict[bytes, Callable[..., Any]] = {}
        self.pid = os.getpid()
        self.open_streams()

    def open_streams(self) -> None:
        self.out = sys.stdout = sys.stderr = io.TextIOWrapper(io.BufferedWriter(_Nowhere()), "utf-8", "replace")

    def read(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                more = os.read(self.requests, min(size - len(data), 1 << 20))
            except OSError:
                os._exit(PIPE_LOST)
            if not more:
                os._exit(0)  # the parent is gone, or wants no more
            data += more
        return bytes(data)

    def send(self, record: bytes) -> None:
        try:
            sent = os.write(self.answers, record)
            while sent < len(record):
                record = record[sent:]
                sent = os.write(self.answers, record)
        except BrokenPipeError:
            os._exit(0)
        except OSError:
            os._exit(PIPE_LOST)

    def load(self, digest: bytes, carried: bytes) -> bool:
        """Unpack a function. No limit on memory meanwhile: it may import what the parent has imported without one."""
        limit_memory(None)
        try:
            path, folder, imports, function = pickle.loads(carried)
            sys.path[:] = path
            if folder:
                os.chdir(folder)
            self.functions[digest] = pickle.loads(function)
            for module, names in imports:
                with contextlib.suppress(Exception):  # it may be meant to fail, and the call is there to tell
                    __import__(module, {}, {}, names)
        except BaseException as error:  # noqa: BLE001  the user's code is imported here
            self.send(_record(NOT_LOADED, failure(error, self.memory)[HEAD.size :]))
            return False
        limit_memory(self.memory)
        return True

    def serve(self) -> NoReturn:
        while True:
            (size,) = LENGTH.unpack(self.read(LENGTH.size))
            digest, carried, packed = pickle.loads(self.read(size))
            if carried is None or self.load(digest, carried):
                arguments = pickle.loads(packed) if isinstance(packed, bytes) else packed
                self.send(_record(BEGUN, b""))
                self.calls(self.functions[digest], arguments)

    def calls(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        """Each call's arguments are a dict, or bytes where only the user's own code could read them."""
        getpid, send = os.getpid, self.send
        for given in arguments:
            try:
                value = function(**given) if type(given) is dict else function(**pickle.loads(given))
                record = NUMBER.pack(FLOAT, 8, value) if type(value) is float else answer(value)
            except BaseException as error:  # noqa: BLE001  any end of a call but this process's own is an answer
                record = failure(error, self.memory)
            if getpid() != self.pid:
                os._exit(0)  # the call has forked and both came back: one of them answers
            send(record)
            if record.startswith(SUSPECT):
                return  # what is short here is short for the next call too: the parent asks another worker
            if sys.stdout is not self.out or self.out.closed:
                self.open_streams()


def _die_with_template() -> None:
    """A template that is killed itself could not kill its workers: let the kernel do it."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG


def _become_worker(requests: int, answers: int, memory: int) -> NoReturn:
    try:
        _die_with_template()
        os.setpgid(0, 0)
        null = os.open(os.devnull, os.O_RDWR)
        for standard in (0, 1, 2):
            os.dup2(null, standard)
        os.close(null)
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        limit_memory(memory)
        Worker(requests, answers, memory).serve()
    finally:
        os._exit(1)  # only by an error of ours, or one that a signal handler of the user's threw between two calls


class Template:
    """The process that forks workers, kills them and says how they died. Runs no code of the user's."""

    def __init__(self, control: socket.socket, memory: int) -> None:
        self.control, self.memory = control, memory
        self.number: dict[int, int] = {}  # by process id
        self.bell, ring = os.pipe()
        os.set_blocking(ring, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)  # a handler, or the wakeup below is not rung
        signal.set_wakeup_fd(ring)

    def run(self) -> None:
        control = self.control.fileno()
        while True:
            ready, _, _ = select.select([control, self.bell], [], [])
            if self.bell in ready:
                os.read(self.bell, 4096)
                self.bury()
            if control in ready and not self.obey():
                return

    def obey(self) -> bool:
        """One order of the parent's; false when the parent is gone."""
        try:
            message, descriptors, _, _ = socket.recv_fds(self.control, ORDER.size, 2)
        except ConnectionError:
            message = b""
        if len(message) < ORDER.size:
            for pid in self.number:
                self.kill(pid)
            return False
        order, number = ORDER.unpack(message)
        if order == SPAWN:
            self.spawn(number, *descriptors)
        else:
            for pid in [p for p, n in self.number.items() if n == number]:
                self.kill(pid)
        return True

    def spawn(self, number: int, requests: int, answers: int) -> None:
        try:
            pid = os.fork()
        except OSError:
            pid = -1
        if pid == 0:
            self.control.close()
            os.close(self.bell)
            _become_worker(requests, answers, self.memory)
        os.close(requests)
        os.close(answers)
        if pid < 0:
            self.control.sendall(DEATH.pack(number, -1))
            return
        self.number[pid] = number
        with contextlib.suppress(OSError):  # the worker does it too: whoever comes first
            os.setpgid(pid, pid)

    @staticmethod
    def kill(pid: int) -> None:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(pid, signal.SIGKILL)

    def bury(self) -> None:
        """Tell the parent of every worker that has died, and kill what it has left in its process group."""
        while self.number:
            done = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            if done is None:
                return
            self.kill(done.si_pid)  # before it is reaped: until then nobody else can have its number
            _, status = os.waitpid(done.si_pid, 0)
            with contextlib.suppress(ConnectionError):
                self.control.sendall(DEATH.pack(self.number.pop(done.si_pid), status))


def main() -> None:
    sys.path[:] = sys.argv[2:]  # the parent's, so that cloudpickle is the one it pickles with
    import cloudpickle  # noqa: F401  loaded once, here, for all workers

    control = socket.socket(fileno=os.dup(0))
    control.sendall(DEATH.pack(0, 0))  # number 0 is nobody's: the template is ready
    sys.modules["__main__"] = ModuleType("__main__")  # a function of the user's __main__ must not find this file there
    gc.freeze()
    Template(control, int(sys.argv[1])).run()


if __name__ == "__main__":
    main()
