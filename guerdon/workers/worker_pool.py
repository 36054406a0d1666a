"""The pool of worker processes that reward functions are called in. No fault of a function hurts the run.

A function may raise, hang inside a C library, crash, leave, or allocate without end.
Every other call keeps its exact result.
A thread (`dispatcher.py`) looks after the workers.
So deadlines hold while the caller's event loop is busy, and any number of loops and threads can wait for results.

Leaves out: what a result is worth (the caller's), security (a function that means harm is not held), Windows (there is no
fork), repeatable random numbers (which worker takes which call is up to the clock: a function that draws seeds itself),
memory limits on macOS, which has none to offer.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.score import CallResult
from guerdon.workers.bookkeeping import CallJob
from guerdon.workers.carry import carry
from guerdon.workers.dispatcher import Dispatcher


class WorkerPool:
    """A pool of worker processes. Starts at the first call, also after `close` and in a forked child."""

    def __init__(self, count: int | None = None, memory: int = 2 << 30) -> None:
        if count is not None and count < 1:
            raise UserError(f"count of workers must be 1 or more, not {count}")
        self.count = count or min(8, _cores())
        self.memory = memory
        self._forget()
        _pools.add(self)

    def _forget(self) -> None:
        self.lock = threading.Lock()
        self.dispatcher: Dispatcher | None = None

    async def call(
        self,
        function: Callable[..., Any] | bytes,
        arguments: Sequence[Mapping[str, Any]],
        *,
        timeout: float,
        trusted: bool = False,
    ) -> list[CallResult]:
        """Call `function(**arguments[i])` for each and give the results in order. `timeout` seconds are for each single call.

        A TimeoutError that the function raises is *timed out* as well. A function given as bytes is what `carry` made. Unless
        it is `trusted`, one that executes code which is not its own is called in a process of its own for every call.
        """
        return await asyncio.wrap_future(self._begun(function, arguments, timeout, trusted)) if arguments else []

    def call_now(
        self, function: Callable[..., Any] | bytes, given: Mapping[str, Any], *, timeout: float, trusted: bool = False
    ) -> CallResult:
        """The same for one call, by a caller that cannot await: it waits here, whatever else this thread has to do."""
        return self._begun(function, [given], timeout, trusted).result()[0]

    def _begun(
        self,
        function: Callable[..., Any] | bytes,
        arguments: Sequence[Mapping[str, Any]],
        timeout: float,
        trusted: bool,
    ) -> Future[list[CallResult]]:
        if not timeout > 0:
            raise UserError(f"timeout must be above 0 seconds, not {timeout}")
        job = CallJob(function if isinstance(function, bytes) else carry(function), arguments, timeout, trusted)
        dispatcher = self._submit(job)
        job.done.add_done_callback(lambda done: dispatcher.submit(job) if done.cancelled() else None)
        return job.done

    def _submit(self, job: CallJob) -> Dispatcher:
        with self.lock:
            if self.dispatcher is None or not self.dispatcher.submit(job):
                self.dispatcher = Dispatcher(self.count, self.memory)
                self.dispatcher.submit(job)
            return self.dispatcher

    def close(self) -> None:
        """End all workers. Calls under way are refused with an error."""
        with self.lock:
            dispatcher, self.dispatcher = self.dispatcher, None
        if dispatcher is not None:
            dispatcher.stop()

    def _abandon(self) -> None:
        """In a forked child: the workers are the parent's, and so may be the holder of the lock."""
        if self.dispatcher is not None:
            self.dispatcher.abandon()
        self._forget()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_pools: weakref.WeakSet[WorkerPool] = weakref.WeakSet()
_shared: list[WorkerPool] = []
_making = threading.Lock()


def shared_pool() -> WorkerPool:
    """The pool of this process, made at the first use and closed at exit."""
    with _making:
        if not _shared:
            _shared.append(WorkerPool())
            atexit.register(_shared[0].close)
        return _shared[0]


def _after_fork() -> None:
    global _making
    _making = threading.Lock()
    for pool in list(_pools):
        pool._abandon()


os.register_at_fork(after_in_child=_after_fork)
