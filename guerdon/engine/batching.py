"""Requests of many episodes meet in one queue a model: whoever is ready joins, whoever is answered goes on at once.

Replies depend on their own request alone, so how requests meet changes the speed and nothing else.
What episodes want to have read meets too, in one pass; there, the other requests change how sums are rounded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from guerdon.core.errors import UserError, unknown
from guerdon.core.model import Model, Reply, Request
from guerdon.engine.sampler import Sampler, open_sampler
from guerdon.models.probing import Item, probe


class EngineFault(Exception):
    """A model call broke. Never taken for a failed episode: it is our fault or the machine's, and stops the run."""


class SamplingQueue:
    """The requests put to one model, and who waits for them."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.sampler: Sampler = open_sampler(model)
        self.waiting: dict[int, tuple[Request, asyncio.Future[Reply]]] = {}
        self.tickets = 0

    def add(self, request: Request) -> asyncio.Future[Reply]:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.sampler.add(self.tickets, request)
        self.waiting[self.tickets] = (request, future)
        self.tickets += 1
        return future

    def step(self) -> list[tuple[Request, Reply]]:
        """Work a while; those whose replies are there go on as soon as the event loop turns."""
        try:
            finished = self.sampler.step()
        except Exception as error:  # noqa: BLE001 - handed to every episode that waits for it, which lets it through
            self._break(error)
            return []
        answered = []
        for ticket, reply in finished:
            request, future = self.waiting.pop(ticket)
            answered.append((request, reply))
            if not future.done():  # its episode may have stopped waiting
                future.set_result(reply)
        return answered

    def _break(self, error: Exception) -> None:
        broken, self.waiting = self.waiting, {}
        _fail([future for _, future in broken.values()], error, f"model {self.name!r} could not act")


class ReadingQueue:
    """What is to be read by one model, and who waits for it."""

    def __init__(self, name: str, model: Model) -> None:
        self.name, self.model = name, model
        self.waiting: list[tuple[Item, tuple[str, ...], asyncio.Future[dict[str, Tensor]]]] = []

    def add(self, item: Item, want: Sequence[str]) -> asyncio.Future[dict[str, Tensor]]:
        future: asyncio.Future[dict[str, Tensor]] = asyncio.get_running_loop().create_future()
        self.waiting.append((item, tuple(want), future))
        return future

    def step(self) -> int:
        """Answer all who wait, in one pass for each kind of question; how many they were."""
        waiting, self.waiting = self.waiting, []
        for want in dict.fromkeys(want for _, want, _ in waiting):
            mine = [(item, future) for item, wanted, future in waiting if wanted == want and not future.done()]
            try:
                readings = probe(self.model, [item for item, _ in mine], want)
            except Exception as error:  # noqa: BLE001 - handed to every episode that waits for it, which lets it through
                _fail([future for _, future in mine], error, f"model {self.name!r} could not read")
                continue
            for (_, future), read in zip(mine, readings, strict=True):
                if read is None:
                    future.set_exception(UserError(f"what {self.name!r} is to read is longer than its context"))
                else:
                    future.set_result({name: x.cpu() for name, x in read.items()})
        return len(waiting)


def _fail(waiting: Sequence[asyncio.Future[Any]], error: Exception, message: str) -> None:
    fault = error if isinstance(error, UserError) else EngineFault(message)
    fault.__cause__ = error if fault is not error else None
    for future in waiting:
        if not future.done():
            future.set_exception(fault)


class Batcher:
    """Answers the requests of the episodes of one `play`, by model."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = models
        self.sampling: dict[str, SamplingQueue] = {}
        self.reading: dict[str, ReadingQueue] = {}
        self.calls = 0
        self.tokens = 0
        self._working: asyncio.Task[None] | None = None

    async def call(self, name: str, request: Request) -> Reply:
        if name not in self.sampling:
            self.sampling[name] = SamplingQueue(name, self.models[name])
        future = self.sampling[name].add(request)
        self._wake()
        return await future

    async def read(self, name: str, item: Item, want: Sequence[str]) -> dict[str, Tensor]:
        if name not in self.models:
            raise unknown("model of the run", name, self.models)
        if name not in self.reading:
            self.reading[name] = ReadingQueue(name, self.models[name])
        future = self.reading[name].add(item, want)
        self._wake()
        return await future

    def _wake(self) -> None:
        if self._working is None or self._working.done():
            self._working = asyncio.ensure_future(self._work())

    async def _work(self) -> None:
        """Turn by turn while anyone waits: let all who are ready ask, then work a while for each model."""
        while True:
            await asyncio.sleep(0)
            sampling = [queue for queue in self.sampling.values() if queue.waiting]
            reading = [queue for queue in self.reading.values() if queue.waiting]
            if not sampling and not reading:
                return
            self.calls += sum(queue.step() for queue in reading)
            for queue in sampling:
                for request, reply in queue.step():
                    self.calls += 1
                    self.tokens += len(reply.actions) - len(request.given)
