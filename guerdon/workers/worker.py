"""The worker: a process that calls the user's function, one call after the other. The template forks it.

A worker reads requests from one pipe and writes one sealed record for every call to another.
It writes before it begins the next call: a result is safe in the pipe whatever the next one does.
What the user's code prints goes nowhere, to stdout and stderr alike.

A function that executes foreign code, as one that `exec`s what a model wrote, could leave anything behind in the process.
A worker that detects it (`foreign_code.py`) ends before that code runs.
From then on that function's calls are made *apart*: each in a child, forked from a worker that has only loaded the function.
The child seals its record with a key for this call alone, and ends with everything that it has started.
Imports the standard library alone.

Leaves out: deadlines and who is to blame (`dispatcher.py`), security (a function that means harm can kill its siblings, or
read its own memory), memory limits where there is no /proc (macOS).
"""

from __future__ import annotations

import _thread
import contextlib
import gc
import io
import os
import pickle
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from hashlib import blake2s
from typing import Any, Literal, NoReturn

from guerdon.workers import processes
from guerdon.workers.foreign_code import watch
from guerdon.workers.wire import (
    BEGUN,
    FAILED,
    FLOAT,
    FOREIGN,
    FORGED,
    HEAD,
    KEY,
    LARGEST,
    LEAVES,
    LENGTH,
    NOT_LOADED,
    NUMBER,
    PIPE_LOST,
    SEAL,
    SUSPECT,
    TIMED_OUT,
    VALUE,
    Seals,
    cause_of_death,
    failure_record,
    record,
    value_record,
)

Mode = Literal["here", "trusted", "apart"]
_MODULES = 64 << 10  # bytes of the names of modules that a call has loaded
_ANSWERS = {FLOAT, VALUE, FAILED, TIMED_OUT, SUSPECT}  # results of a call in a child


class _Nowhere(io.RawIOBase):
    """A stream without a descriptor: code that closes descriptor 1 does not break the print of the next call."""

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return len(data)


def limit_memory(memory: int | None) -> None:
    """Let this process grow by so many bytes of address space from here; None lifts the limit."""
    try:
        with open("/proc/self/statm") as file:
            size = int(file.read().split()[0]) * resource.getpagesize()
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        limit = hard if memory is None else size + memory
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))
    except FileNotFoundError:
        return  # macOS neither reports nor limits it


class Worker:
    """One forked process: reads requests, calls, writes records, until there are no more requests."""

    def __init__(self, requests: int, answers: int, memory: int) -> None:
        self.requests, self.answers, self.memory = requests, answers, memory
        self.functions: dict[bytes, Callable[..., Any]] = {}
        self.threads = 0  # besides this one, as far as they are known to be idle
        self.pid = os.getpid()
        self.open_streams()
        key = self.read(KEY)
        self.request_seals, self.answer_seals = Seals(key, b"requests"), Seals(key, b"answers")
        self.listen = watch(partial(os._exit, FOREIGN))

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
                os._exit(0)  # the pool is gone, or wants no more
            data += more
        return bytes(data)

    def send(self, message: bytes) -> None:
        sealed = self.answer_seals.sealed(message)
        try:
            sent = os.write(self.answers, sealed)
            while sent < len(sealed):
                sealed = sealed[sent:]
                sent = os.write(self.answers, sealed)
        except BrokenPipeError:
            os._exit(0)
        except OSError:
            os._exit(PIPE_LOST)

    def load(self, digest: bytes, carried: bytes) -> bool:
        """Unpack a function. No limit on memory meanwhile: it may import what the caller has imported without one."""
        limit_memory(None)
        try:
            path, folder, imports, function = pickle.loads(carried)
            sys.path[:] = path
            if folder:
                os.chdir(folder)
            self.functions[digest] = pickle.loads(function)
            for module, names in imports:
                with contextlib.suppress(Exception):  # it may be meant to fail, and the call itself will show it
                    __import__(module, {}, {}, names)
        except BaseException as error:  # noqa: BLE001  the user's code is imported here
            self.send(record(NOT_LOADED, failure_record(error, self.memory)[HEAD.size :]))
            return False
        limit_memory(self.memory)
        self.threads = _thread._count()
        return True

    def serve(self) -> NoReturn:
        while True:
            head = self.read(LENGTH.size)
            message = head + self.read(LENGTH.unpack(head)[0] + SEAL)
            if not self.request_seals.holds(message):
                os._exit(PIPE_LOST)  # it was not written by the pool
            digest, carried, packed, mode = pickle.loads(message[LENGTH.size : -SEAL])
            if carried is None or self.load(digest, carried):
                arguments = pickle.loads(packed) if isinstance(packed, bytes) else packed
                self.send(record(BEGUN))
                if mode == "apart":
                    self.calls_apart(self.functions[digest], arguments)
                else:
                    self.listen("leave" if mode == "here" else "")
                    self.calls(self.functions[digest], arguments)
                    self.listen("")

    def calls(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        """Each call's arguments are a dict, or bytes where only the user's own code could read them."""
        getpid, send, threads = os.getpid, self.send, _thread._count
        for given in arguments:
            try:
                value = function(**given) if type(given) is dict else function(**pickle.loads(given))
                result = NUMBER.pack(FLOAT, 8, value) if type(value) is float else value_record(value)
            except BaseException as error:  # noqa: BLE001  any end of a call but this process's own is a result
                result = failure_record(error, self.memory)
            if getpid() != self.pid:
                os._exit(0)  # the call has forked and both came back: one of them answers
            send(result)
            if result.startswith(SUSPECT):
                return  # what is short here is short for the next call too: the pool asks another worker
            if threads() > self.threads and self.is_busy():
                send(record(LEAVES))
                return  # the pool ends this worker: the next call would share it with what the last one left
            if sys.stdout is not self.out or self.out.closed:
                self.open_streams()

    def is_busy(self) -> bool:
        """Whether threads that a call has left behind are at work. Idle ones, as those of a pool, may stay.

        Looked at while this thread sleeps, as long as one of them is about to run: on a busy machine that takes a while.
        """
        mine, before = str(_thread.get_native_id()), processes.thread_times(self.pid)
        for _ in range(100):
            time.sleep(0.001)
            others = {name: times for name, times in processes.thread_times(self.pid).items() if name != mine}
            used = (times.used - (before[name].used if name in before else 0.0) for name, times in others.items())
            if sum(used) > 0.002:
                return True
            if not any(times.runs for times in others.values()):
                break
        self.threads = _thread._count()
        return False

    # Calls in a child of their own

    def calls_apart(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        for given in arguments:
            result, modules = self.call_apart(function, given)
            self.send(result)
            if modules:
                self.warm(modules)
                self.send(record(BEGUN))  # the next call's time begins now

    def call_apart(self, function: Callable[..., Any], given: Any) -> tuple[bytes, list[str]]:
        """One call in a forked child: its record, and the modules that it has loaded."""
        gc.freeze()  # or the child's collector would copy every page that it looks at
        box, stay = [os.urandom(KEY)], processes.children(self.pid)
        try:
            reads, writes = os.pipe()
            child = os.fork()
        except OSError as error:
            return failure_record(error, self.memory), []
        if child == 0:
            self.be_child(function, given, box, writes)
        os.close(writes)
        message = _first_message(reads, child)
        os.close(reads)
        if message:
            processes.kill(child)
        _, status = os.waitpid(child, 0)
        processes.end_children(but=stay)
        if not message:
            return record(FAILED, cause_of_death(status).encode()), []
        body, seal = message[:-KEY], message[-KEY:]
        if blake2s(body, key=box[0], digest_size=KEY).digest() != seal:
            return record(FAILED, FORGED.encode()), []
        return _record_and_modules(body)

    def be_child(self, function: Callable[..., Any], given: Any, box: list[bytes], pipe: int) -> NoReturn:
        """Make the call, answer and end.

        While the function runs, the key is in no variable, attribute or closure, only among the values that this frame is
        still working on, and those cannot be reached from Python; the worker's own seals are gone.
        """
        pid, getpid, write, leave = os.getpid(), os.getpid, os.write, os._exit
        try:
            memory, listen = self.memory, self.listen
            out: list[bytes] = []
            os.close(self.requests)
            os.close(self.answers)
            self.__dict__.clear()
            processes.die_with_parent()
            listen("guard")
            del listen
            seal = partial(blake2s, key=box.pop(), digest_size=KEY)(_attempt(function, given, memory, out)).digest()
            message = memoryview(LENGTH.pack(len(out[0])) + out[0] + seal)
            if getpid() != pid:
                leave(0)
            while message:
                message = message[write(pipe, message) :]
            leave(0)
        finally:
            leave(PIPE_LOST)

    def warm(self, modules: list[str]) -> None:
        """Import here what a call had to import, if it is installed: or every call would do so again."""
        self.listen("refuse")
        limit_memory(None)
        for module in modules:
            if module not in sys.modules:
                with contextlib.suppress(Exception):
                    __import__(module)
        limit_memory(self.memory)
        self.listen("")


def _attempt(function: Callable[..., Any], given: Any, memory: int, out: list[bytes]) -> bytes:
    """The result of a call, as a record, and behind it the modules that it has loaded."""
    before = {*sys.modules}
    try:
        result = value_record(function(**given) if type(given) is dict else function(**pickle.loads(given)))
    except BaseException as error:  # noqa: BLE001  as above
        result = failure_record(error, memory)
    names = "\n".join(name for name in sys.modules if name not in before)
    out.append(result + names.encode("utf-8", "replace")[:_MODULES])
    return out[0]


def _first_message(pipe: int, child: int) -> bytes:
    """What a child has written first, with its seal; nothing if it ended before that was whole."""
    data, size = bytearray(), LENGTH.size
    ended = os.pidfd_open(child) if hasattr(os, "pidfd_open") else None
    os.set_blocking(pipe, False)
    while len(data) < size:
        ready, _, _ = select.select([pipe] if ended is None else [pipe, ended], [], [])
        try:
            more = os.read(pipe, 1 << 20)
        except BlockingIOError:
            if ended in ready:
                break
            continue
        if not more:
            break
        data += more
        if len(data) >= LENGTH.size:
            size = min(LENGTH.unpack_from(data)[0], LARGEST + _MODULES + HEAD.size) + LENGTH.size + KEY
    if ended is not None:
        os.close(ended)
    return bytes(data[LENGTH.size : size]) if len(data) >= size > LENGTH.size else b""


def _record_and_modules(body: bytes) -> tuple[bytes, list[str]]:
    """The record and the names in a child's message, of which foreign code may have had a hand in everything but the seal."""
    kind, length = HEAD.unpack_from(body) if len(body) >= HEAD.size else (b"", 0)
    end = HEAD.size + length
    if kind not in _ANSWERS or end > len(body) or (kind == FLOAT and length != NUMBER.size - HEAD.size):
        return record(FAILED, FORGED.encode()), []
    if kind == SUSPECT:  # there was no call before it that could have caused the shortage
        return record(FAILED, body[HEAD.size : end]), []
    return body[:end], [name for name in body[end:].decode("utf-8", "replace").split("\n") if name]


def become_worker(requests: int, answers: int, memory: int) -> NoReturn:
    """What a fork of the template does from its first line on."""
    try:
        processes.die_with_parent()
        processes.adopt_orphans()
        processes.hide_memory()
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
