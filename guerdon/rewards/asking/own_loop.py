"""The event loop that async rewards are awaited in: one of their own, in a thread of its own.

An async function may cancel every task of its loop, stop the loop or leak a CancelledError.
It may end a task with `sys.exit`, which takes the loop that runs it along.
None of it reaches the loop of a run or a server from here: a call that was cancelled *failed*, and the loop goes on.
A function that never awaits keeps other async ones waiting, and nobody else.

Leaves out: `os._exit`, which nothing in the same process survives.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Callable, Coroutine
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

T = TypeVar("T")
Loop = asyncio.AbstractEventLoop

_inside: ContextVar[bool] = ContextVar("inside", default=False)
_loops: dict[int, Loop] = {}  # by process id: a thread does not live on in a forked child
_mail: WeakKeyDictionary[Loop, list[Callable[[], object]]] = WeakKeyDictionary()  # what loops are to do, not yet opened
_lock = threading.Lock()  # of the two above


async def awaited(coroutine: Coroutine[Any, Any, T], otherwise: T) -> T:
    """What a coroutine comes to over there; `otherwise`, if somebody over there cancelled it. Cancelled here, it is cancelled
    there. It must let no exception through but those that its caller wants here."""
    if _inside.get():  # a reward that asks another one: its loop may be waiting for this very answer
        return await coroutine
    here, there, context = asyncio.get_running_loop(), _loop(), copy_context()
    context.run(_inside.set, True)
    result: asyncio.Future[T] = here.create_future()
    begun: list[asyncio.Task[T]] = []

    def begin() -> None:
        begun.append(there.create_task(coroutine, context=context))
        begun[0].add_done_callback(lambda task: _tell(here, lambda: end(task)))

    def end(task: asyncio.Task[T]) -> None:
        if result.done():
            return  # nobody waits any more
        error = None if task.cancelled() else task.exception()
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(otherwise if task.cancelled() else task.result())

    _tell(there, begin)
    try:
        return await result
    except asyncio.CancelledError:
        _tell(there, lambda: [task.cancel() for task in begun])
        raise


def _tell(loop: Loop, do: Callable[[], object]) -> None:
    """Have a loop do something soon. It is woken once for all that it has not yet done: threads that wake each other for every
    call of a cheap reward would spend their time on that."""
    with _lock:
        mail = _mail.setdefault(loop, [])
        mail.append(do)
        first = len(mail) == 1
    if first:
        with contextlib.suppress(RuntimeError):  # it is closed: who waited there has gone
            loop.call_soon_threadsafe(_open, loop)


def _open(loop: Loop) -> None:
    with _lock:
        mail = _mail.pop(loop, [])
    for do in mail:
        do()


class outside_loop:
    """For a plain function that is called from inside a loop: it finds none that it could stop or whose tasks it could cancel,
    and may run one of its own."""

    def __enter__(self) -> None:
        self.loop = asyncio._get_running_loop()
        asyncio._set_running_loop(None)

    def __exit__(self, *_: object) -> None:
        asyncio._set_running_loop(self.loop)


def _loop() -> Loop:
    with _lock:
        loop = _loops.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = _loops[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(loop,), name="async rewards", daemon=True).start()
        return loop


def _run(loop: Loop) -> None:
    """For as long as the process lives, however often a reward stops the loop or a task of its own ends it."""
    asyncio.set_event_loop(loop)
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException:  # noqa: BLE001  a task that a reward began called sys.exit: asyncio lets that through
            continue


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()
    _mail.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
