"""The pool of sandboxes: programs go in from any thread or event loop, and what came of each comes out.

Each worker is a thread with a zygote of its own (`zygote_handle.py`) that runs one program at a time. A zygote that is lost
is started again, its program tried once more, and nobody else notices.
Leaves out: what a box is (`box_init.py`), reward functions that are trusted (`guerdon/workers`).
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import queue
import socket
import sys
import threading
import weakref
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, InvalidStateError
from pathlib import Path
from types import MappingProxyType
from typing import Any

from guerdon.core.errors import UserError
from guerdon.sandbox.box_requests import (
    BoxRequest,
    Files,
    call_request,
    check_request,
    program_request,
    python_request,
    sql_request,
)
from guerdon.sandbox.limits import Isolation, Limits, known_isolation
from guerdon.sandbox.ran_program import Ran, broken
from guerdon.sandbox.zygote_handle import SandboxLost, ZygoteHandle, refusal

TRIES = 2  # zygotes that a program may lose before it is told as broken
MOST_WORKERS = 64  # without being told: each is an interpreter of its own
LOST = "lost"  # in `counts`: a zygote that was gone before it answered
_DEFAULT = Limits()
_NONE: Files = MappingProxyType({})


class _Job:
    """A request, and who waits for what comes of it."""

    def __init__(self, request: BoxRequest) -> None:
        self.request = request
        self.done: Future[Ran] = Future()
        self.lock = threading.Lock()
        self.channel: socket.socket | None = None

    def began(self, channel: socket.socket) -> None:
        with self.lock:
            self.channel = channel
            if self.done.cancelled():
                _hang_up(channel)

    def cancelled(self) -> None:
        with self.lock:
            if self.channel is not None:
                _hang_up(self.channel)


def _hang_up(channel: socket.socket) -> None:
    with contextlib.suppress(OSError):
        channel.shutdown(socket.SHUT_RDWR)


class SandboxPool:
    """Sandboxes that are kept warm: programs that nobody trusts run in them, many a second, each in a box of its own.

    `isolation` is "full" (namespaces, a filter of system calls, limits), or by name less: "landlock" (no namespaces) or
    "limits" (no more than limits). A machine that can not give it refuses. `see` are files and folders that programs may read
    besides the interpreter's own; a folder is also where they may import from.
    `warm` are modules to load once, for all programs. With `cgroup` a control group also holds each worker's boxes to memory,
    the kernel's included, and to processes; a machine that gives none refuses. `counts` tells how many boxes ended by which
    cause so far.

    Every method waits to be awaited; its twin with `_now` waits where it stands.

    >>> from guerdon.sandbox import SandboxPool
    >>> with SandboxPool(workers=1) as pool:
    ...     print(pool.python_now("print(input()[::-1])", stdin="drawer").stdout)
    reward
    <BLANKLINE>
    """

    def __init__(
        self,
        workers: int | None = None,
        isolation: Isolation = "full",
        see: Sequence[str | os.PathLike[str]] = (),
        warm: Sequence[str] = (),
        cgroup: bool = False,
    ):
        if workers is not None and workers < 1:
            raise UserError(f"workers must be 1 or more, not {workers}")
        self.workers = workers or min(MOST_WORKERS, _cores() + 1)  # one more: while a box is cleared away another runs
        self.isolation = known_isolation(isolation)
        self.see = tuple(str(Path(place).resolve()) for place in see)
        self.warm = tuple(warm)
        self.cgroup = cgroup
        missing = [place for place in self.see if not Path(place).exists()]
        if missing:
            raise UserError(f"there is no {missing[0]} for programs to see")
        if sys.platform != "linux" and isolation != "limits":
            raise UserError(refusal(isolation, f"it needs Linux, and this is {sys.platform}"))
        self._forget()
        _pools.add(self)

    def _forget(self) -> None:
        self._lock = threading.Lock()
        self._jobs: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._threads: list[threading.Thread] = []
        self._idle = 0
        self._running: set[_Job] = set()
        self._started = False  # whether a zygote ever was ready
        self.counts: Counter[str] = Counter()  # boxes that ended, by their cause, and zygotes that were lost

    # --- what can be asked

    async def python(self, source: str, stdin: str = "", files: Files = _NONE, limits: Limits = _DEFAULT) -> Ran:
        """Run a script, in a working folder with these files in it."""
        return await asyncio.wrap_future(self.begun(python_request(source, stdin, files, limits)))

    def python_now(self, source: str, stdin: str = "", files: Files = _NONE, limits: Limits = _DEFAULT) -> Ran:
        """The same, for a caller that cannot await."""
        return self.begun(python_request(source, stdin, files, limits)).result()

    async def check(
        self,
        program: str,
        tests: str | Sequence[str],
        entry: str = "",
        stdin: str = "",
        files: Files = _NONE,
        limits: Limits = _DEFAULT,
    ) -> Ran:
        """Hold a program against unit tests that it cannot forge: assert lines, or a `check(candidate)` with its `entry`."""
        return await asyncio.wrap_future(self.begun(check_request(program, tests, entry, stdin, files, limits)))

    def check_now(
        self,
        program: str,
        tests: str | Sequence[str],
        entry: str = "",
        stdin: str = "",
        files: Files = _NONE,
        limits: Limits = _DEFAULT,
    ) -> Ran:
        """The same, for a caller that cannot await."""
        return self.begun(check_request(program, tests, entry, stdin, files, limits)).result()

    async def sql(self, script: str, query: str, limits: Limits = _DEFAULT) -> Ran:
        """Ask a query of the SQLite database that a script makes; `value` has its columns and rows."""
        return await asyncio.wrap_future(self.begun(sql_request(script, query, limits)))

    def sql_now(self, script: str, query: str, limits: Limits = _DEFAULT) -> Ran:
        """The same, for a caller that cannot await."""
        return self.begun(sql_request(script, query, limits)).result()

    async def program(
        self, argv: Sequence[str], stdin: str = "", files: Files = _NONE, limits: Limits = _DEFAULT
    ) -> Ran:
        """Execute an installed program by its path, without a shell."""
        return await asyncio.wrap_future(self.begun(program_request(argv, stdin, files, limits)))

    def program_now(self, argv: Sequence[str], stdin: str = "", files: Files = _NONE, limits: Limits = _DEFAULT) -> Ran:
        """The same, for a caller that cannot await."""
        return self.begun(program_request(argv, stdin, files, limits)).result()

    async def call(
        self,
        function: str | bytes,
        arguments: Sequence[Mapping[str, Any]],
        name: str = "",
        files: Files = _NONE,
        limits: Limits = _DEFAULT,
    ) -> Ran:
        """Call a function with each of the arguments; `value` is the list of what it returned, plain data all of it.

        The function is its source (the last that the source defines, or `name`), or what cloudpickle made of it; then
        `see` must have the folder that cloudpickle and what the function imports are installed in.
        """
        return await asyncio.wrap_future(self.begun(call_request(function, arguments, name, files, limits)))

    def call_now(
        self,
        function: str | bytes,
        arguments: Sequence[Mapping[str, Any]],
        name: str = "",
        files: Files = _NONE,
        limits: Limits = _DEFAULT,
    ) -> Ran:
        """The same, for a caller that cannot await."""
        return self.begun(call_request(function, arguments, name, files, limits)).result()

    def _end(self) -> None:
        """When this process ends: nobody waits any more."""
        with contextlib.suppress(queue.Empty):
            while job := self._jobs.get_nowait():
                job.done.cancel()
        for job in list(self._running):
            job.done.cancel()
        self.close()

    def close(self) -> None:
        """End all sandboxes, once what was asked before is done. The pool starts again when it is next used."""
        with self._lock:
            threads, jobs = self._threads, self._jobs
            self._threads, self._jobs, self._idle = [], queue.SimpleQueue(), 0
        for _ in threads:
            jobs.put(None)
        for thread in threads:
            thread.join()

    def __enter__(self) -> SandboxPool:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # --- how it is done

    def begun(self, request: BoxRequest) -> Future[Ran]:
        """What will have come of a request."""
        job = _Job(request)
        job.done.add_done_callback(lambda done: job.cancelled() if done.cancelled() else None)
        with self._lock:
            self._jobs.put(job)
            if self._idle < self._jobs.qsize() and len(self._threads) < self.workers:
                thread = threading.Thread(target=self._work, args=(self._jobs,), name="sandbox", daemon=True)
                self._threads.append(thread)
                thread.start()
        return job.done

    def _work(self, jobs: queue.SimpleQueue[_Job | None]) -> None:
        """A worker's thread. The zygote dies with it, and with this process."""
        zygote: ZygoteHandle | None = None
        try:
            while True:
                with self._lock:
                    self._idle += 1
                job = jobs.get()
                with self._lock:
                    self._idle -= 1
                if job is None:
                    return
                if not job.done.cancelled():
                    self._running.add(job)
                    zygote = self._run(job, zygote)
                    self._running.discard(job)
        finally:
            if zygote is not None:
                zygote.close()

    def _run(self, job: _Job, zygote: ZygoteHandle | None) -> ZygoteHandle | None:
        """Do one job; gives the zygote to go on with."""
        ran: Ran | None = None
        error: Exception = UserError("the sandbox was lost")
        for _ in range(TRIES):
            try:
                zygote = zygote or ZygoteHandle(self.isolation, self.see, self.warm, self.cgroup)
                self._started = True
                ran = zygote.run(job.request, job.began)
                self._count(ran.cause)
                break
            except SandboxLost as lost:
                self._count(LOST)
                error = UserError(str(lost))
                if job.done.cancelled():
                    break  # which is why it did not answer
                if zygote is not None:
                    zygote.close()
                    zygote = None
                if self._started:  # one that never did is no accident
                    ran = broken(str(lost))
            except Exception as trouble:  # noqa: BLE001  a refusal, or a bug of ours: whoever waits is told
                error = trouble
                break
        with contextlib.suppress(InvalidStateError):  # cancelled
            if ran is None:
                job.done.set_exception(error)
            else:
                job.done.set_result(ran)
        return zygote

    def _count(self, what: str) -> None:
        with self._lock:
            self.counts[str(what)] += 1


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_pools: weakref.WeakSet[SandboxPool] = weakref.WeakSet()
_shared: dict[Isolation, SandboxPool] = {}
_making = threading.Lock()


def shared_sandbox(isolation: Isolation = "full") -> SandboxPool:
    """The sandboxes of this process, made at the first use and closed at exit.

    >>> from guerdon.sandbox import shared_sandbox
    >>> shared_sandbox().python_now("print(6 * 7)").stdout
    '42\\n'
    """
    with _making:
        if isolation not in _shared:
            _shared[isolation] = SandboxPool(isolation=isolation)
            atexit.register(_shared[isolation]._end)
        return _shared[isolation]


def _after_fork() -> None:
    global _making
    _making = threading.Lock()
    for pool in list(_pools):
        pool._forget()


os.register_at_fork(after_in_child=_after_fork)
