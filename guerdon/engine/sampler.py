"""A sampler answers the requests that are put to a model: language models token by token, others all at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import torch

from guerdon.core.model import Model, Reply, Request
from guerdon.engine.continuous import Continuous
from guerdon.engine.foreign_sampler import ForeignSampler
from guerdon.models.foreign_model import foreign
from guerdon.models.language_model import lm
from guerdon.models.standin import behind


class Sampler(Protocol):
    @property
    def busy(self) -> bool:
        """Whether a request is still unanswered."""

    def add(self, ticket: int, request: Request) -> None:
        """Take a request, at any time. `ticket` comes back with its reply."""

    def step(self) -> list[tuple[int, Reply]]:
        """Work a while; the replies that were finished by it."""


class AtOnce:
    """Of a model that has `act`."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.waiting: list[tuple[int, Request]] = []

    @property
    def busy(self) -> bool:
        return bool(self.waiting)

    def add(self, ticket: int, request: Request) -> None:
        self.waiting.append((ticket, request))

    def step(self) -> list[tuple[int, Reply]]:
        asked, self.waiting = self.waiting, []
        with torch.no_grad():
            replies = self.model.act([request for _, request in asked])
        self.model.meter.read += sum(len(reply.context) for reply in replies)
        return [(ticket, reply) for (ticket, _), reply in zip(asked, replies, strict=True)]


def open_sampler(model: Model) -> Sampler:
    model = behind(model)
    if isinstance(model, lm):
        return Continuous(model)
    return ForeignSampler(model) if isinstance(model, foreign) else AtOnce(model)


def answer(model: Model, requests: Sequence[Request]) -> list[Reply]:
    """Answer requests, outside of any episode."""
    sampler = open_sampler(model)
    for ticket, request in enumerate(requests):
        sampler.add(ticket, request)
    replies: dict[int, Reply] = {}
    while sampler.busy:
        replies.update(sampler.step())
    return [replies[ticket] for ticket in range(len(requests))]
