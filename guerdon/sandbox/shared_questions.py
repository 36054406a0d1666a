"""Questions to boxes, asked together: equal ones once, and queries of one database in one box.

A question is equal to another by all that a box would be sent: the same script, query or program, tests and limits. Within
`once_a_step` what came of it is kept to the end of the step; outside, it is shared by those who ask while it is under way.
SQL is data and not code, so queries may share a box (`boxed_sql.py`); programs never do.
A query that did not end plainly beside others is asked again alone, and that alone counts.
Leaves out: the boxes (`sandbox_pool.py`), what a query may do (`boxed_sql.py`).
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Awaitable, Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any
from weakref import WeakKeyDictionary

from guerdon.sandbox.box_requests import BoxRequest, call_request, check_request, queries_request, sql_request
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.ran_program import Cause, Ran, each_ran
from guerdon.sandbox.sandbox_pool import SandboxPool, shared_sandbox

MOST_QUERIES = 32  # in one box
STEPS_KEPT = 2  # one may be played while the one before is learned from
MOST_KEPT = 2_000  # numbers and texts of an answer that is kept
LONGEST_KEPT = 2_000  # characters of such a text
Known = dict[Hashable, Ran]

_known: ContextVar[Known | None] = ContextVar("known", default=None)
_steps: dict[int, Known] = {}
_lock = threading.Lock()


@contextmanager
def once_a_step(step: int) -> Iterator[None]:
    """Equal questions that are asked within, here and in what is awaited from here, are asked once in this step."""
    with _lock:
        known = _steps.setdefault(step, {})
        while len(_steps) > STEPS_KEPT:
            del _steps[next(other for other in _steps if other != step)]
    token = _known.set(known)
    try:
        yield
    finally:
        _known.reset(token)


class SharedQuestions:
    """What is asked of a pool in one event loop. `pool` finds it, when a box is wanted."""

    def __init__(self, pool: Callable[[], SandboxPool] = shared_sandbox) -> None:
        self.pool = pool
        self.under_way: dict[Hashable, asyncio.Task[Ran]] = {}
        self.waiting: dict[tuple[str, Limits], list[tuple[str, asyncio.Future[Ran]]]] = {}
        self.answering: set[asyncio.Task[None]] = set()  # or nobody would hold them

    async def sql(self, script: str, query: str, limits: Limits) -> Ran:
        """As `SandboxPool.sql`."""
        return await self._once(("sql", script, query, limits), lambda: self._beside_others(script, query, limits))

    async def call(
        self, function: str, arguments: Sequence[Mapping[str, Any]], name: str = "", *, limits: Limits
    ) -> Ran:
        """As `SandboxPool.call`."""
        return await self._one(call_request(function, arguments, name, {}, limits))

    async def check(self, program: str, tests: str, entry: str = "", *, limits: Limits) -> Ran:
        """As `SandboxPool.check`."""
        return await self._one(check_request(program, tests, entry, "", {}, limits))

    async def _one(self, request: BoxRequest) -> Ran:
        return await self._once(request, lambda: self._alone(request))

    async def _once(self, question: Hashable, ask: Callable[[], Awaitable[Ran]]) -> Ran:
        known = _known.get()
        if known is not None and question in known:
            return known[question]
        if question not in self.under_way:
            # A task of its own: whoever stops waiting for an answer does not take it from the others.
            asking = asyncio.ensure_future(ask())
            asking.add_done_callback(lambda _: self.under_way.pop(question, None))
            self.under_way[question] = asking
        ran = await asyncio.shield(self.under_way[question])
        if known is not None and ran.cause is not Cause.BROKEN and _is_small(ran.value):
            known[question] = ran
        return ran

    async def _alone(self, request: BoxRequest) -> Ran:
        return await asyncio.wrap_future(self.pool().begun(request))

    async def _beside_others(self, script: str, query: str, limits: Limits) -> Ran:
        """Wait for a box together with the queries of the same database that are asked in the same turn of the loop."""
        loop, place = asyncio.get_running_loop(), (script, limits)
        answer: asyncio.Future[Ran] = loop.create_future()
        if place not in self.waiting:
            self.waiting[place] = []
            loop.call_soon(loop.call_soon, self._send, place)
        self.waiting[place].append((query, answer))
        return await answer

    def _send(self, place: tuple[str, Limits]) -> None:
        waiting = self.waiting.pop(place)
        for at in range(0, len(waiting), MOST_QUERIES):
            answering = asyncio.ensure_future(self._answer(*place, waiting[at : at + MOST_QUERIES]))
            self.answering.add(answering)
            answering.add_done_callback(self.answering.discard)

    async def _answer(self, script: str, limits: Limits, asked: Sequence[tuple[str, asyncio.Future[Ran]]]) -> None:
        """Answer queries: from one box as far as that goes, and from one each where it does not."""
        left = list(asked)
        try:
            if len(asked) > 1:
                shared = await self._alone(queries_request(script, [query for query, _ in asked], limits))
                left = []
                for (query, answer), ran in zip(asked, each_ran(shared, len(asked)), strict=True):
                    if ran is None:
                        left.append((query, answer))
                    elif not answer.done():
                        answer.set_result(ran)
            await asyncio.gather(*(self._answer_one(script, limits, *each) for each in left))
        except BaseException as error:
            for _, answer in left:
                if not answer.done():
                    answer.set_exception(error) if isinstance(error, Exception) else answer.cancel()
            if not isinstance(error, Exception):
                raise

    async def _answer_one(self, script: str, limits: Limits, query: str, answer: asyncio.Future[Ran]) -> None:
        ran = await self._alone(sql_request(script, query, limits))
        if not answer.done():
            answer.set_result(ran)


def _is_small(value: Any) -> bool:
    """Whether an answer takes little memory: what a stranger's program gives back is kept for a step only then."""
    left, parts = MOST_KEPT, [value]
    while parts:
        part = parts.pop()
        left -= 1
        if left < 0 or (isinstance(part, str | bytes) and len(part) > LONGEST_KEPT):
            return False
        if isinstance(part, int) and part.bit_length() > LONGEST_KEPT:
            return False
        if isinstance(part, dict):
            part = [*part, *part.values()]
        if isinstance(part, list | tuple | set | frozenset):
            if len(part) > left:
                return False
            parts.extend(part)
    return True


_by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, SharedQuestions] = WeakKeyDictionary()


def shared_questions() -> SharedQuestions:
    """The questions to this process's sandboxes in the event loop that runs."""
    loop = asyncio.get_running_loop()
    with _lock:
        if loop not in _by_loop:
            _by_loop[loop] = SharedQuestions()
        return _by_loop[loop]


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_after_fork)
