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
from collections.abc import Callable, Coroutine, Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from guerdon.sandbox.box_requests import BoxRequest, call_request, check_request, queries_request, sql_request
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.ran_program import Cause, Ran, each_ran
from guerdon.sandbox.sandbox_pool import SandboxPool, shared_sandbox

MOST_QUERIES = 16  # in one box
STEPS_KEPT = 2  # one may be played while the one before is learned from
MOST_KEPT = 2_000  # numbers and texts of an answer that is kept
LONGEST_KEPT = 2_000  # characters of such a text
Known = dict[Hashable, Ran]
Place = tuple[tuple[str, ...], Limits]  # of queries that may share a box
T = TypeVar("T")

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
        self.under_way: dict[Hashable, asyncio.Task[Any]] = {}
        self.waiting: dict[Place, list[tuple[str, asyncio.Future[list[Ran]]]]] = {}
        self.answering: set[asyncio.Task[None]] = set()  # or nobody would hold them

    def query(self, scripts: Sequence[str], query: str, limits: Limits) -> SharedQuery:
        """A query that is to be asked of the databases that scripts make, of one after the other."""
        return SharedQuery(self, tuple(scripts), query, limits)

    async def sql(self, script: str, query: str, limits: Limits) -> Ran:
        """As `SandboxPool.sql`."""
        return await self.query([script], query, limits).on(0)

    async def call(
        self, function: str, arguments: Sequence[Mapping[str, Any]], name: str = "", *, limits: Limits
    ) -> Ran:
        """As `SandboxPool.call`."""
        return await self.once(call_request(function, arguments, name, {}, limits))

    async def check(self, program: str, tests: str, entry: str = "", *, limits: Limits) -> Ran:
        """As `SandboxPool.check`."""
        return await self.once(check_request(program, tests, entry, "", {}, limits))

    async def once(self, request: BoxRequest) -> Ran:
        """What comes of a request in a box of its own, which equal ones share."""
        ran = _kept(request)
        if ran is None:
            ran = await self.joined(request, lambda: self._alone(request))
            _keep(request, ran)
        return ran

    async def joined(self, question: Hashable, ask: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """What comes of a question; where an equal one is under way, of that."""
        if question not in self.under_way:
            # A task of its own: whoever stops waiting for an answer does not take it from the others.
            asking = asyncio.create_task(ask())
            asking.add_done_callback(lambda _: self.under_way.pop(question, None))
            self.under_way[question] = asking
        answer: T = await asyncio.shield(self.under_way[question])
        return answer

    async def _alone(self, request: BoxRequest) -> Ran:
        return await asyncio.wrap_future(self.pool().begun(request))

    async def beside_others(self, place: Place, query: str) -> list[Ran]:
        """Wait for a box together with the queries of the same databases that are asked in the same turn of the loop. By script
        as far as that box tells; nothing, where there are no others."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Ran]] = loop.create_future()
        if place not in self.waiting:
            self.waiting[place] = []
            loop.call_soon(loop.call_soon, self._send, place)
        self.waiting[place].append((query, answer))
        return await answer

    def _send(self, place: Place) -> None:
        waiting = self.waiting.pop(place)
        for at in range(0, len(waiting), MOST_QUERIES):
            answering = asyncio.ensure_future(self._answer(place, waiting[at : at + MOST_QUERIES]))
            self.answering.add(answering)
            answering.add_done_callback(self.answering.discard)

    async def _answer(self, place: Place, asked: Sequence[tuple[str, asyncio.Future[list[Ran]]]]) -> None:
        (scripts, limits), queries = place, [query for query, _ in asked]
        try:
            shared = await self._alone(queries_request(scripts, queries, limits))
            told = each_ran(shared, len(asked))
        except Exception as error:  # noqa: BLE001  a machine that refuses: whoever waits is told
            for _, answer in asked:
                if not answer.done():
                    answer.set_exception(error)
            return
        for (_, answer), each in zip(asked, told, strict=True):
            if not answer.done():
                answer.set_result(each)


class SharedQuery:
    """A query on its way through databases. What it comes to on one is asked in one box with what it comes to on the next: most
    that want the first want that too. What the box does not tell of is asked alone, once it is wanted."""

    def __init__(self, questions: SharedQuestions, scripts: tuple[str, ...], query: str, limits: Limits) -> None:
        self.questions, self.scripts, self.query, self.limits = questions, scripts, query, limits
        self.answers: dict[int, Ran] = {}

    async def on(self, number: int) -> Ran:
        """What it comes to on the database of script `number`."""
        if number not in self.answers:
            for at, ran in enumerate(await self._asked(number), number):
                self.answers[at] = ran
                _keep(self._question(at), ran)
        return self.answers[number]

    async def _asked(self, number: int) -> list[Ran]:
        kept = _kept(self._question(number))
        if kept is not None:
            return [kept]
        place, questions = (self.scripts[number:], self.limits), self.questions
        told = await questions.joined(("query", *place, self.query), lambda: questions.beside_others(place, self.query))
        return told or [await questions.once(sql_request(self.scripts[number], self.query, self.limits))]

    def _question(self, number: int) -> Hashable:
        return ("sql", self.scripts[number], self.query, self.limits)


def _kept(question: Hashable) -> Ran | None:
    """What came of it earlier in this step."""
    known = _known.get()
    return None if known is None else known.get(question)


def _keep(question: Hashable, ran: Ran) -> None:
    known = _known.get()
    if known is not None and ran.cause is not Cause.BROKEN and is_small(ran.value):
        known[question] = ran


def is_small(value: Any) -> bool:
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
