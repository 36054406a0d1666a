"""Requests of many episodes become few model calls.

Every request that is waiting when the event loop has nothing else to do goes to its model in one call. Replies depend on
their own request alone, so how they are batched changes the speed and nothing else.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

import torch

from guerdon.core.errors import UserError
from guerdon.core.model import Model, Reply, Request


class EngineFault(Exception):
    """A model call broke. Never taken for a failed episode: it is our fault or the machine's, and stops the run."""


class Batcher:
    """Collects requests per model and answers them together."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = models
        self.waiting: dict[str, list[tuple[Request, asyncio.Future[Reply]]]] = {}
        self.calls = 0
        self.tokens = 0

    async def call(self, name: str, request: Request) -> Reply:
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        queue = self.waiting.setdefault(name, [])
        queue.append((request, future))
        if len(queue) == 1:  # the first of a round; by the time the flush runs, all who were ready have joined
            loop.call_soon(self.flush, name)
        return await future

    def flush(self, name: str) -> None:
        queue = self.waiting.pop(name)
        try:
            with torch.no_grad():
                answered = list(zip(queue, self.models[name].act([r for r, _ in queue]), strict=True))
        except Exception as error:  # noqa: BLE001 - handed to every episode that waits for it, which lets it through
            fault = error if isinstance(error, UserError) else EngineFault(f"model {name!r} could not act")
            fault.__cause__ = error if fault is not error else None
            for _, future in queue:
                if not future.done():
                    future.set_exception(fault)
            return
        for (request, future), reply in answered:
            self.calls += 1
            self.tokens += len(reply.actions) - len(request.given)
            if not future.done():  # its episode may have stopped waiting
                future.set_result(reply)
