"""The event loop that async rewards are awaited in: one of their own, in a thread of its own.

An async function may cancel every task of its loop, stop the loop, leak a CancelledError or end a task with `sys.exit`, which
takes the loop that runs it along. None of it reaches the loop of a run or a server from here: who was cancelled *failed*, and the
loop goes on. A function that never awaits keeps other async ones waiting, and nobody else.
Left out: `os._exit`, which nothing in the same process survives.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from contextvars import ContextVar, copy_context
from typing import Any, TypeVar

T = TypeVar("T")

_inside: ContextVar[bool] = ContextVar("inside", default=False)
_made: dict[int, asyncio.AbstractEventLoop] = {}  # by process id: a thread does not live on in a forked child
_making = threading.Lock()


async def awaited(coroutine: Coroutine[Any, Any, T], otherwise: T) -> T:
    """What a coroutine comes to over there; `otherwise`, if somebody over there cancelled it. Cancelled here, it is cancelled
    there. It must let no exception through but those that its caller wants here."""
    if _inside.get():  # a reward that asks another one: its loop may be waiting for this very answer
        return await coroutine
    loop, found = _loop(), Future[T]()
    tasks: list[asyncio.Task[T]] = []

    def begin() -> None:
        context = copy_context()
        context.run(_inside.set, True)
        tasks.append(loop.create_task(coroutine, context=context))
        tasks[0].add_done_callback(end)

    def end(task: asyncio.Task[T]) -> None:
        if not found.set_running_or_notify_cancel():
            return  # nobody waits any more
        error = None if task.cancelled() else task.exception()
        if error is not None:
            found.set_exception(error)
        else:
            found.set_result(otherwise if task.cancelled() else task.result())

    loop.call_soon_threadsafe(begin)
    try:
        return await asyncio.wrap_future(found)
    except asyncio.CancelledError:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in tasks])
        raise


def _loop() -> asyncio.AbstractEventLoop:
    with _making:
        loop = _made.get(os.getpid())
        if loop is None or loop.is_closed():
            loop = _made[os.getpid()] = asyncio.new_event_loop()
            threading.Thread(target=_run, args=(loop,), name="async rewards", daemon=True).start()
        return loop


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """For as long as the process lives, however often a reward stops the loop or a task of its own ends it."""
    asyncio.set_event_loop(loop)
    while not loop.is_closed():
        try:
            loop.run_forever()
        except BaseException:  # noqa: BLE001, S110  a task that a reward began called sys.exit: asyncio lets that through
            continue


def _forget_lock() -> None:
    global _making
    _making = threading.Lock()


os.register_at_fork(after_in_child=_forget_lock)
