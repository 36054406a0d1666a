"""Requests of many episodes meet in one sampler a model: whoever is ready joins, whoever is answered goes on at once.

Replies depend on their own request alone, so how they meet changes the speed and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from guerdon.core.errors import UserError
from guerdon.core.model import Model, Reply, Request
from guerdon.engine.sampler import Sampler, open_sampler


class EngineFault(Exception):
    """A model call broke. Never taken for a failed episode: it is our fault or the machine's, and stops the run."""


class Line:
    """The requests put to one model, and who waits for them."""

    def __init__(self, name: str, model: Model) -> None:
        self.name = name
        self.sampler: Sampler = open_sampler(model)
        self.asked: dict[int, tuple[Request, asyncio.Future[Reply]]] = {}
        self.tickets = 0

    def add(self, request: Request) -> asyncio.Future[Reply]:
        future: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
        self.sampler.add(self.tickets, request)
        self.asked[self.tickets] = (request, future)
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
            request, future = self.asked.pop(ticket)
            answered.append((request, reply))
            if not future.done():  # its episode may have stopped waiting
                future.set_result(reply)
        return answered

    def _break(self, error: Exception) -> None:
        fault = error if isinstance(error, UserError) else EngineFault(f"model {self.name!r} could not act")
        fault.__cause__ = error if fault is not error else None
        waiting, self.asked = self.asked, {}
        for _, future in waiting.values():
            if not future.done():
                future.set_exception(fault)


class Batcher:
    """Answers the requests of the episodes of one `play`, by model."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = models
        self.lines: dict[str, Line] = {}
        self.calls = 0
        self.tokens = 0
        self._working: asyncio.Task[None] | None = None

    async def call(self, name: str, request: Request) -> Reply:
        if name not in self.lines:
            self.lines[name] = Line(name, self.models[name])
        future = self.lines[name].add(request)
        if self._working is None or self._working.done():
            self._working = asyncio.ensure_future(self._work())
        return await future

    async def _work(self) -> None:
        """Turn by turn while anyone waits: let all who are ready ask, then work a while for each model."""
        while True:
            await asyncio.sleep(0)
            waiting = [line for line in self.lines.values() if line.asked]
            if not waiting:
                return
            for line in waiting:
                for request, reply in line.step():
                    self.calls += 1
                    self.tokens += len(reply.actions) - len(request.given)
