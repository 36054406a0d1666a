"""Calls of a reward's function: in this process, awaited, or in a worker; again where it broke. Each comes to a `CallResult`.

Leaves out: which arguments it gets (`function.py`), what a result is worth (`outcomes.py`), the workers (`guerdon/workers`).
"""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

from guerdon.core.errors import RunStopped, UserError, broken_as
from guerdon.core.score import CallResult
from guerdon.core.seeds import derive
from guerdon.rewards.asking.own_loop import awaited, outside_loop

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
    """What a call came to, or what is to be awaited for it."""
    try:
        value = function(**given)
        if type(value) is not float and inspect.isawaitable(value):
            return value
    except BaseException as error:  # noqa: BLE001  a user's function may break in any way, and it is recorded
        return _broken(error)
    return CallResult("value", value)


async def _result_of(value: Awaitable[Any], seconds: float) -> CallResult:
    try:
        return CallResult("value", await (_within(value, seconds) if seconds else value))
    except BaseException as error:  # noqa: BLE001  as above
        return _broken(error)


async def _within(value: Awaitable[Any], seconds: float) -> Any:
    """Wait so long. Counted in parts, each once however late it comes: while others keep the event loop busy, what is waited
    for cannot go on either."""
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


def _broken(error: BaseException) -> CallResult:
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
