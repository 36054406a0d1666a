"""Requests of many episodes meet in one queue a model: an episode that is ready joins, one that has its reply continues at
once.

A sampler answers the requests that are put to a model: language models token by token, others all at once.
Replies depend on their own request alone, so how requests meet changes the speed and nothing else.
What episodes want to have read meets too, in one pass; there, the other requests change how sums are rounded.
"""

from __future__ import annotations

import abc
import asyncio
from collections.abc import Awaitable, Coroutine, Generator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import torch
from torch import Tensor

from guerdon.core.errors import GpuFull, UserError, is_gpu_full, unknown
from guerdon.core.model import Model, Reply, Request
from guerdon.core.task import Sampling
from guerdon.engine.continuous import Continuous
from guerdon.engine.foreign_sampler import ForeignSampler
from guerdon.engine.guided import Guides, guides_of
from guerdon.models.foreign_model import foreign
from guerdon.models.language_model import lm
from guerdon.models.probing import Item, probe
from guerdon.models.standin import behind

T = TypeVar("T")
TURNS = 16  # of the event loop between two rounds of sampling


class EngineFault(Exception):
    """A model call broke. Never taken for a failed episode: it is our fault or the machine's, and stops the run."""


class Promise(Awaitable[T], Protocol[T]):
    """An answer that is still to come, as an `asyncio.Future` is."""

    def done(self) -> bool: ...

    def set_result(self, result: T, /) -> None: ...

    def set_exception(self, error: BaseException, /) -> None: ...


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

    def __init__(self, model: Model, guides: Guides = ()) -> None:
        self.model, self.more = model, [guides] if guides else []
        self.waiting: list[tuple[int, Request]] = []

    @property
    def busy(self) -> bool:
        return bool(self.waiting)

    def add(self, ticket: int, request: Request) -> None:
        self.waiting.append((ticket, request))

    def step(self) -> list[tuple[int, Reply]]:
        asked, self.waiting = self.waiting, []
        with torch.no_grad():
            replies = self.model.act([request for _, request in asked], *self.more)
        self.model.meter.read += sum(len(reply.context) for reply in replies)
        return [(ticket, reply) for (ticket, _), reply in zip(asked, replies, strict=True)]


def open_sampler(model: Model, guides: Guides = ()) -> Sampler:
    model = behind(model)
    if isinstance(model, lm):
        return Continuous(model, guides)
    return ForeignSampler(model) if isinstance(model, foreign) else AtOnce(model, guides)


def answer(model: Model, requests: Sequence[Request], models: Mapping[str, Model] | None = None) -> list[Reply]:
    """Answer requests, outside of any episode. Guides are the same for all, and `models` has them by name."""
    guides = {request.sampling.guides for request in requests} - {()}
    if len(guides) > 1 or (guides and not all(request.sampling.guides for request in requests)):
        raise UserError("requests that are answered together need the same sampling.guides")
    there = {"model": model, **(models or {})}
    sampler = open_sampler(model, guides_of("model", Sampling(guides=guides.pop()), there) if guides else ())
    for ticket, request in enumerate(requests):
        sampler.add(ticket, request)
    replies: dict[int, Reply] = {}
    while sampler.busy:
        replies.update(sampler.step())
    return [replies[ticket] for ticket in range(len(requests))]


class SamplingQueue:
    """The requests put to one model, and who waits for them."""

    def __init__(self, name: str, model: Model, guides: Guides = ()) -> None:
        self.name = name
        self.sampler: Sampler = open_sampler(model, guides)
        self.waiting: dict[int, tuple[Request, Promise[Reply]]] = {}
        self.tickets = 0

    def add(self, request: Request, promise: Promise[Reply]) -> None:
        self.sampler.add(self.tickets, request)
        self.waiting[self.tickets] = (request, promise)
        self.tickets += 1

    def step(self) -> list[tuple[Request, Reply]]:
        """Work a while; those whose replies are there resume when it is their turn."""
        try:
            finished = self.sampler.step()
        except Exception as error:  # noqa: BLE001 - handed to every episode that waits for it, which lets it through
            self._break(error)
            return []
        answered = []
        for ticket, reply in finished:
            request, promise = self.waiting.pop(ticket)
            answered.append((request, reply))
            if not promise.done():  # its episode may have stopped waiting
                promise.set_result(reply)
        return answered

    def _break(self, error: Exception) -> None:
        broken, self.waiting = self.waiting, {}
        _fail([promise for _, promise in broken.values()], error, f"model {self.name!r} could not act")


class ReadingQueue:
    """What is to be read by one model, and who waits for it."""

    def __init__(self, name: str, model: Model) -> None:
        self.name, self.model = name, model
        self.waiting: list[tuple[Item, tuple[str, ...], Promise[dict[str, Tensor]]]] = []

    def add(self, item: Item, want: Sequence[str], promise: Promise[dict[str, Tensor]]) -> None:
        self.waiting.append((item, tuple(want), promise))

    def step(self) -> int:
        """Answer all who wait, in one pass for each kind of question; how many they were."""
        waiting, self.waiting = self.waiting, []
        for want in dict.fromkeys(want for _, want, _ in waiting):
            mine = [(item, promise) for item, wanted, promise in waiting if wanted == want and not promise.done()]
            try:
                readings = probe(self.model, [item for item, _ in mine], want)
            except Exception as error:  # noqa: BLE001 - handed to every episode that waits for it, which lets it through
                _fail([promise for _, promise in mine], error, f"model {self.name!r} could not read")
                continue
            for (_, promise), read in zip(mine, readings, strict=True):
                if read is None:
                    promise.set_exception(UserError(f"what {self.name!r} is to read is longer than its context"))
                else:
                    promise.set_result({name: x.cpu() for name, x in read.items()})
        return len(waiting)


def fault(error: Exception, message: str) -> Exception:
    """The message for the user: what to do, where that is known."""
    if isinstance(error, UserError):
        return error
    told: Exception = EngineFault(message)
    if is_gpu_full(error):
        told = GpuFull(
            f"{message}: the GPU's memory is full. If other programs use it (nvidia-smi), wait for them or run fewer at a time;"
            " else ask for fewer tries or prompts at once, or fewer tokens"
        )
    told.__cause__ = error
    return told


def _fail(waiting: Sequence[Promise[Any]], error: Exception, message: str) -> None:
    told = fault(error, message)
    for promise in waiting:
        if not promise.done():
            promise.set_exception(told)


class Batcher(abc.ABC):
    """Answers the requests of the episodes of one `play`, by model."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        self.models = models
        self.sampling: dict[tuple[str, tuple[tuple[str, float], ...]], SamplingQueue] = {}  # by model and guides
        self.reading: dict[str, ReadingQueue] = {}
        self.calls = 0
        self.tokens = 0

    def close(self) -> None:
        """Let go of what samplers keep for next turns. Episodes and their seats hold this in a circle, which Python finds only
        when it looks for one: seldom in a run, and what is kept may be a gigabyte a step."""
        self.sampling.clear()
        self.reading.clear()

    @abc.abstractmethod
    def promise(self) -> Promise[Any]:
        """For an episode to wait for: what it was promised comes after a `turn`."""

    def call(self, name: str, request: Request) -> Promise[Reply]:
        which = (name, request.sampling.weighted_guides)
        if which not in self.sampling:
            guides = guides_of(name, request.sampling, self.models) if request.sampling.guides else ()
            self.sampling[which] = SamplingQueue(name, self.models[name], guides)
        promise = self.promise()
        self.sampling[which].add(request, promise)
        return promise

    def read(self, name: str, item: Item, want: Sequence[str]) -> Promise[dict[str, Tensor]]:
        if name not in self.models:
            raise unknown("model of the run", name, self.models)
        if name not in self.reading:
            self.reading[name] = ReadingQueue(name, self.models[name])
        promise = self.promise()
        self.reading[name].add(item, want, promise)
        return promise

    def turn(self) -> bool:
        """Work a while for each model that anyone waits for; whether there was one."""
        sampling = [queue for queue in self.sampling.values() if queue.waiting]
        reading = [queue for queue in self.reading.values() if queue.waiting]
        self.calls += sum(queue.step() for queue in reading)
        for queue in sampling:
            for request, reply in queue.step():
                self.calls += 1
                self.tokens += len(reply.actions) - len(request.given)
        return bool(sampling or reading)


async def let_others_on() -> None:
    """Turns of the event loop, enough for the latest calls to reach their workers and boxes: they work while
    the next tokens are sampled. With one turn a question would wait for ten rounds of sampling."""
    for _ in range(TURNS):
        await asyncio.sleep(0)


class LoopBatcher(Batcher):
    """For episodes that are tasks of an event loop: turn by turn while anyone waits, and all who are ready ask before."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        super().__init__(models)
        self._working: asyncio.Task[None] | None = None

    def promise(self) -> Promise[Any]:
        if self._working is None or self._working.done():
            self._working = asyncio.ensure_future(self._work())
        return asyncio.get_running_loop().create_future()

    async def _work(self) -> None:
        await asyncio.sleep(0)
        while self.turn():
            await let_others_on()


class Answer(Generic[T]):
    """A promise without an event loop. A coroutine that awaits it stops there, and resumes once it is `answered`."""

    __slots__ = ("answered", "error", "result", "waiter")

    def __init__(self, answered: list[Answer[Any]]) -> None:
        self.answered = answered  # where it is put when the answer is there
        self.result: T | None = None
        self.error: BaseException | None = None
        self.waiter = -1

    def done(self) -> bool:
        return self.error is not None or self.result is not None

    def set_result(self, result: T) -> None:
        self.result = result
        self.answered.append(self)

    def set_exception(self, error: BaseException) -> None:
        self.error = error
        self.answered.append(self)

    def __await__(self) -> Generator[Answer[T], None, T]:
        if not self.done():  # who asked for several things may find the later ones there
            yield self
        if self.error is not None:
            raise self.error
        assert self.result is not None, "an episode was taken up before it had its answer"
        return self.result


class HandBatcher(Batcher):
    """For episodes that are taken up by hand, each when what it was promised is there."""

    def __init__(self, models: Mapping[str, Model]) -> None:
        super().__init__(models)
        self.answered: list[Answer[Any]] = []

    def promise(self) -> Promise[Any]:
        return Answer(self.answered)

    def play_out(self, episodes: Sequence[Coroutine[Any, None, T]]) -> list[T]:
        """Play episodes that await nothing but their seats to their ends, in the order an event loop would."""
        ended: dict[int, T] = {}
        ready = list(range(len(episodes)))
        try:
            while ready:
                for n in ready:
                    try:
                        promised = episodes[n].send(None)
                    except StopIteration as end:
                        ended[n] = end.value
                        continue
                    assert isinstance(promised, Answer), f"an episode awaits {promised!r}, which is none of its seats'"
                    promised.waiter = n
                ready = []
                while not ready and self.turn():
                    ready = [answer.waiter for answer in self.answered if answer.waiter >= 0]
                    self.answered.clear()
        finally:
            for episode in episodes:
                episode.close()
        return [ended[n] for n in range(len(episodes))]
