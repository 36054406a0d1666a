"""Calls of a reward's function: in this process, awaited, in a worker, or in the sandbox; again where it raised.

Each gives a `CallResult`. In the sandbox each call has a box of its own: the function travels as it does to workers
(`workers/carry.py`) and is loaded inside the box, which sees the installed libraries and nothing of the user's; arguments and
the value are plain data. Async functions are awaited in an event loop of their own, in a thread of its own: one may cancel
every task of its loop, stop the loop, leak a CancelledError or end a task with `sys.exit`, and none of it reaches the loop of a
run or a server. A cancelled call *failed*, and the loop continues. A function that never awaits blocks other async ones alone.
Leaves out: which arguments it gets (`function.py`), what a result is worth (`formula/scores.py`), the workers
(`guerdon/workers`), the box (`guerdon/sandbox`), state between boxed calls, and `os._exit`, which nothing in the same process
survives.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import inspect
import os
import pickle
import sysconfig
import threading
from collections.abc import Awaitable, Callable, Collection, Coroutine, Mapping, Sequence
from contextvars import ContextVar, copy_context
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import guerdon
from guerdon.core.errors import RunStopped, UserError, broken_as, printable
from guerdon.core.score import CallResult, restored
from guerdon.core.seeds import derive
from guerdon.workers.carry import carry

if TYPE_CHECKING:
    from guerdon.sandbox import Ran, SandboxPool

FOREVER = 24 * 3600.0  # seconds; a longer wait is more than a poll of the system takes
PARTS = 20  # in which the time of a call that waits here is counted
CANCELLED = CallResult("failed", error="CancelledError: the task of an async reward was cancelled")
Given = Mapping[str, Any]
Calls = Callable[[Sequence[Given], Sequence[int]], Awaitable[list[CallResult]]]


async def call_here(function: Callable[..., Any], given: Given, seconds: float = 0.0) -> CallResult:
    """Call it in this process. What waits is stopped after `seconds`, 0 for never; nothing can stop what does not."""
    return (await call_each_here(function, [given], seconds))[0]


async def call_each_here(
    function: Callable[..., Any], given: Sequence[Given], seconds: float = 0.0
) -> list[CallResult]:
    """The same for many, one after the other."""
    results: list[CallResult] = []
    while len(results) < len(given):
        with outside_loop():
            for each in given[len(results) :]:
                result = _called(function, each)
                if not isinstance(result, CallResult):
                    break
                results.append(result)
        if not isinstance(result, CallResult):
            results.append(await awaited(_result_of(result, seconds), CANCELLED))
    return results


def _called(function: Callable[..., Any], given: Given) -> CallResult | Awaitable[Any]:
    """The result of a call, or what is to be awaited for it."""
    try:
        value = function(**given)
        if type(value) is not float and inspect.isawaitable(value):
            return value
    except BaseException as error:  # noqa: BLE001  a user's function may break in any way, and it is recorded
        return broken(error)
    return CallResult("value", value)


async def _result_of(value: Awaitable[Any], seconds: float) -> CallResult:
    try:
        return CallResult("value", await (_within(value, seconds) if seconds else value))
    except BaseException as error:  # noqa: BLE001  as above
        return broken(error)


async def _within(value: Awaitable[Any], seconds: float) -> Any:
    """Wait so long. Counted in parts, each once however late it comes: while others keep the event loop busy, the awaited
    one cannot continue either."""
    loop = asyncio.get_running_loop()
    later: list[asyncio.TimerHandle] = []

    def count(left: int) -> None:
        if left:
            later[:] = [loop.call_later(seconds / PARTS, count, left - 1)]
        else:
            limit.reschedule(loop.time())

    try:
        async with asyncio.timeout(None) as limit:
            count(PARTS)
            return await value
    except TimeoutError as error:
        if limit.expired():
            raise TimeoutError(f"there was no answer after {seconds:g} s") from error
        raise
    finally:
        for handle in later:
            handle.cancel()


def broken(error: BaseException) -> CallResult:
    """How a call ended without an answer. Nothing that it raises ends more than the call, but for what stops a run and is meant
    to: a spent purse, the user's Ctrl-C."""
    if isinstance(error, RunStopped):
        raise error
    return CallResult("timed out" if isinstance(error, TimeoutError) else "failed", error=broken_as(error))


async def call_in_workers(
    function: Callable[..., Any] | bytes, given: Sequence[Given], seconds: float, trusted: bool = False
) -> list[CallResult]:
    """Call it in the shared worker processes; it may have been made ready to travel."""
    if not hasattr(os, "fork"):
        raise UserError("this system cannot fork, so it has no reward workers: reward(function, isolate=False)")
    from guerdon.workers.worker_pool import shared_pool

    return await shared_pool().call(function, given, timeout=seconds or FOREVER, trusted=trusted)


async def retried(call: Calls, given: Sequence[Given], seeds: Sequence[int], retries: int) -> list[CallResult]:
    """All of the calls, and up to `retries` times again those that broke, each time with other seeds."""
    results = await call(given, seeds)
    for attempt in range(1, retries + 1):
        broken = [i for i, result in enumerate(results) if result.kind != "value"]
        if not broken:
            break
        again = await call([given[i] for i in broken], [derive(seeds[i], attempt) for i in broken])
        for i, result in zip(broken, again, strict=True):
            results[i] = result._replace(tries=attempt + 1)
    return results


_turns: WeakKeyDictionary[Any, WeakKeyDictionary[Any, asyncio.Semaphore]] = WeakKeyDictionary()


def turn(owner: Any, at_once: int) -> contextlib.AbstractAsyncContextManager[Any]:
    """One of `at_once` places, 0 for no limit, that all calls of `owner` in this event loop share."""
    if not at_once:
        return contextlib.nullcontext()
    places = _turns.setdefault(asyncio.get_running_loop(), WeakKeyDictionary())
    return places.setdefault(owner, asyncio.Semaphore(at_once))


MEMORY = 2 << 30  # bytes of a call, as in a worker
OUTPUT = 1 << 20  # what a function prints goes nowhere, but it may print
LATE, SPARE = (
    10.0,
    30.0,
)  # by the clock a call may take so many times its limit, and so many seconds more: machines are busy
WARM = ("cloudpickle", "dataclasses", "hashlib", "pathlib", "pickle", "traceback")  # what loading a function takes
CROSS = (
    "prompt",
    "completion",
    "answer",
    "meta",
    "level",
    "role",
    "turns",
    "view",
)  # fields of a sample that are plain data
FORGED = "something else than the reward's answer came out of its box"
STAY = ("task", "episode", "path", "made", "actions")  # and those that are not


def refuse_what_stays(name: str, wanted: Collection[str], is_async: bool) -> None:
    """Refuse a reward that asks for what no box can have."""
    if is_async:
        raise UserError(
            f"reward {name}: an async function runs in this process: make it a plain one for isolate='sandbox'"
        )
    for field in STAY:
        if field in wanted:
            raise UserError(
                f"reward {name}: `{field}` can not go into the sandbox, which takes plain data: ask for "
                f"{', '.join(CROSS[:-1])} or {CROSS[-1]}, or leave out isolate='sandbox'"
            )


def fields_that_cross(given: Mapping[str, Any]) -> dict[str, Any]:
    """What a function that takes whatever there is (`**fields`) gets of a sample."""
    return {name: value for name, value in given.items() if name not in STAY}


async def call_in_boxes(
    function: Callable[..., Any] | bytes, given: Sequence[Mapping[str, Any]], seconds: float
) -> list[CallResult]:
    """Call it in boxes of the sandbox; it may have been made ready to travel."""
    carried = function if isinstance(function, bytes) else carry(function)
    pickled: bytes = pickle.loads(carried)[-1]  # made here: a box has a search path and a folder of its own
    return list(await asyncio.gather(*(_call(pickled, each, seconds) for each in given)))


async def _call(pickled: bytes, given: Mapping[str, Any], seconds: float) -> CallResult:
    from guerdon.sandbox import Limits
    from guerdon.sandbox.plain_data import NotPlain, plain_form

    try:
        plain_form(dict(given))
    except NotPlain as error:  # this sample's alone: others have plain data
        return CallResult("failed", error=f"TypeError: the arguments can not go into the sandbox: {error}")
    seconds = seconds or FOREVER
    limits = Limits(cpu=seconds, wall=max(LATE * seconds, seconds + SPARE), memory=MEMORY, output=OUTPUT)
    return _result_of_box(await _reward_boxes().call(pickled, [given], limits=limits))


def _result_of_box(ran: Ran) -> CallResult:
    """As from a worker. What comes out of a box is a stranger's word, of whatever shape."""
    from guerdon.sandbox import Cause

    if ran.cause is Cause.DONE:
        try:
            (value,) = ran.value
            return CallResult("value", restored(value))
        except (TypeError, ValueError, KeyError):
            return CallResult("failed", error=FORGED)
    late = ran.cause in (Cause.CPU, Cause.WALL) or ran.error.startswith("TimeoutError")
    return CallResult("timed out" if late else "failed", error=printable(ran.error))


@functools.cache
def _reward_boxes() -> SandboxPool:
    """The boxes that rewards are called in: they see what is installed, and this library."""
    from guerdon.sandbox import SandboxPool

    installed = {Path(sysconfig.get_path(name)).resolve() for name in ("purelib", "platlib")}
    ours = Path(guerdon.__file__).resolve().parent
    see = [*sorted(installed), *([] if ours.parent in installed else [ours])]
    boxes = SandboxPool(see=see, warm=WARM)
    atexit.register(boxes.close)
    return boxes


T = TypeVar("T")
Loop = asyncio.AbstractEventLoop

_inside: ContextVar[bool] = ContextVar("inside", default=False)
_loops: dict[int, Loop] = {}  # by process id: a thread does not live on in a forked child
_mail: WeakKeyDictionary[Loop, list[Callable[[], object]]] = WeakKeyDictionary()  # what loops are to do, not yet opened
_lock = threading.Lock()  # of the two above


async def awaited(coroutine: Coroutine[Any, Any, T], otherwise: T) -> T:
    """The result of a coroutine over there; `otherwise`, if it was cancelled over there. Cancelled here, it is cancelled
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
            return  # it is no longer awaited
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
