"""`play`: asks in, episodes out.

The one door through which anything is ever sampled.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import closing
from typing import Any, Protocol, TypeVar

import torch

from guerdon.core.episode import Episode
from guerdon.core.errors import RunStopped, UserError, unknown
from guerdon.core.knob_values import is_schedule
from guerdon.core.model import Meter, Model
from guerdon.core.part import knobs
from guerdon.core.play import Env, Listener, awaits_seats_alone
from guerdon.core.schedule import at
from guerdon.core.seeds import generator
from guerdon.core.task import Ask, Sampling
from guerdon.engine.batching import EngineFault, HandBatcher, LoopBatcher
from guerdon.engine.columns import in_columns
from guerdon.engine.lock_step import LockStep, in_lock_step, why_broken
from guerdon.engine.seats import EpisodeSeats

T = TypeVar("T")


class Elsewhere(Protocol):
    """Who plays in place of a player: workers (`guerdon/scale`)."""

    def ask(self, player: Player, asks: Sequence[Ask], env: Env, sampling: Sampling) -> Sequence[Future[Any]] | None:
        """Promises of (episodes, counts), in parts and in the order of the asks; None where the player is to play."""

    def join(self, parts: Sequence[Sequence[Episode]]) -> Sequence[Episode]:
        """The parts as one, as the player would have made them."""

    def numbers(self, seconds: float) -> dict[str, float]:
        """Numbers about the last episodes, which took so many seconds."""


class Player:
    """The `play` of a run. Asks are numbered in the order they are asked within a step; seeds follow from the numbers."""

    def __init__(
        self,
        models: Mapping[str, Model],
        seats: Mapping[str, str],
        env: Env,
        sampling: Sampling,
        seed: int,
        steps: int,
        ended: Sequence[Listener] = (),
        noise: int | None = None,
    ) -> None:
        self.models, self.seats, self.env, self.sampling = models, seats, env, sampling
        self.seed, self.steps, self.step = seed, steps, 0
        self.noise = seed if noise is None else noise  # what tokens are drawn by; problems and all else, by the seed
        self.ended = ended  # called with every episode as soon as it has ended
        self.elsewhere: Elsewhere | None = None
        self.warned: dict[str, bool] = {}  # message: whether it was passed on
        self.begin(0)

    def begin(self, step: int) -> None:
        """Turn to a step: counters at zero, nothing logged. From now on the models count for this player: an exam that had a
        player of its own in between is not billed to the run."""
        self.step = step
        self.began = time.perf_counter()
        self.asked = self.calls = self.episodes = 0
        self.meter = Meter()
        for model in self.models.values():
            model.meter = self.meter
        self.metrics: dict[str, float] = {}

    @property
    def tokens(self) -> int:
        return self.meter.tokens

    def counts(self) -> dict[str, int]:
        """What was asked, sampled, read and learned since `begin`."""
        return {name: getattr(self, name) for name in ("asked", "calls", "episodes")} | vars(self.meter)

    def spent(self, unit: str) -> float:
        if unit == "seconds":
            return time.perf_counter() - self.began
        return {**self.counts(), "samples": self.episodes, "steps": 1}[unit]

    def count(self, more: Mapping[str, int]) -> None:
        """Add what was done elsewhere for this step, by another player for one."""
        for name, number in more.items():
            holder = self.meter if hasattr(self.meter, name) else self
            setattr(holder, name, getattr(holder, name) + number)

    def __call__(
        self, asks: Sequence[Ask], env: Env | None = None, seats: Mapping[str, str] | None = None
    ) -> list[Episode]:
        return list(self.played(asks, env, seats))

    def played(
        self, asks: Sequence[Ask], env: Env | None = None, seats: Mapping[str, str] | None = None
    ) -> Sequence[Episode]:
        """The episodes as they come: those of one turn as columns (`core/one_turn.py`), which `pack` takes as they are."""
        env = env or self.env
        asks = [self._placed(ask, seats) for ask in asks]
        sampling = self._settled(self.sampling)
        if self.elsewhere is not None and asks:
            episodes = self._elsewhere(self.elsewhere, asks, env, sampling)
            if episodes is not None:
                return episodes
        place = (self.noise, self.step, self.asked)
        to_play = in_columns(env, asks, self.models, self.seats, sampling, place) if asks else None
        if to_play is None:
            together = in_lock_step(env, asks, self.models, self.seats, sampling, place) if asks else None
            return self._by_coroutines(asks, env, sampling) if together is None else self._together(asks, env, together)
        columns = _run(to_play.play_to(self.ended)) if self.ended else to_play.play()
        self.asked += len(asks)
        self.meter.tokens += len(columns.action)
        self.calls += len(columns)
        self.episodes += len(columns)
        return columns

    def _elsewhere(
        self, others: Elsewhere, asks: Sequence[Ask], env: Env, sampling: Sampling
    ) -> Sequence[Episode] | None:
        began = time.perf_counter()
        promised = others.ask(self, asks, env, sampling)
        if promised is None:
            return None
        parts = _run(_heard(promised, self.ended))
        self.asked += len(asks)
        for _, counts in parts:
            self.count(counts)
        self.log(**others.numbers(time.perf_counter() - began))
        return others.join([episodes for episodes, _ in parts])

    def _together(self, asks: Sequence[Ask], env: Any, together: LockStep) -> list[Episode]:
        episodes: list[Episode] = env.play_many(asks, together)
        self.asked += len(asks)
        self.meter.env_steps += together.acted
        self.calls += together.acted
        self.episodes += len(episodes)
        if self.ended:
            _run(_tell(self.ended, episodes))
        return episodes

    def _by_coroutines(self, asks: Sequence[Ask], env: Env, sampling: Sampling) -> list[Episode]:
        by_hand = not self.ended and awaits_seats_alone(env)
        batcher = HandBatcher(self.models) if by_hand else LoopBatcher(self.models)
        jobs = []
        for number, ask in enumerate(asks, start=self.asked):
            who = ask.seated(self.seats)
            for attempt in range(ask.n):
                place = (self.noise, self.step, number, attempt)
                table = EpisodeSeats(ask, who, self.models, sampling, place, batcher.call, batcher.read)
                jobs.append(_one(env, ask, table, self.ended))
        self.asked += len(asks)
        with closing(batcher):
            episodes = batcher.play_out(jobs) if isinstance(batcher, HandBatcher) else _run(_gather(jobs))
        self.meter.tokens += batcher.tokens
        self.calls += batcher.calls
        self.episodes += len(episodes)
        return episodes

    def _placed(self, ask: Ask, seats: Mapping[str, str] | None) -> Ask:
        """An ask as it is played: models that are not in the run's seats are recorded, for learners."""
        own = ask.seated(seats) if seats else ask.seats
        for role, name in (own or {}).items():
            if name not in self.models:
                raise unknown(f"model in an ask's seat {role!r}", name, self.models)
        how = ask.sampling and self._settled(ask.sampling)
        return ask if (own, how) == (ask.seats, ask.sampling) else ask.but(seats=own, sampling=how)

    def _settled(self, sampling: Sampling) -> Sampling:
        """How to sample now: schedules become numbers, which is what a segment records."""
        moving = {k: self.at(v) for k, v in knobs(sampling).items() if is_schedule(v)}
        return sampling.but(**moving) if moving else sampling

    def log(self, **metrics: float) -> None:
        self.metrics.update(metrics)

    def warn(self, message: str) -> None:
        self.warned.setdefault(message, False)

    def new_warnings(self) -> list[str]:
        """What was not yet passed on to the user."""
        messages = [message for message, is_told in self.warned.items() if not is_told]
        self.warned.update(dict.fromkeys(messages, True))
        return messages

    def at(self, value: Any) -> float:
        return at(value, self.step, self.steps)

    def generator(self, *path: int | str) -> torch.Generator:
        return generator(self.seed, self.step, *path)


async def _one(env: Env, ask: Ask, table: EpisodeSeats, ended: Sequence[Listener]) -> Episode:
    try:
        episode = await env.play(ask, table)
    except (EngineFault, UserError, GeneratorExit):
        raise
    except BaseException as error:
        if isinstance(error, asyncio.CancelledError) and _is_cancelled():
            raise
        return table.failed(why_broken(error, env))
    for listener in ended:
        await listener([episode])
    return episode


async def _heard(promised: Sequence[Future[Any]], listeners: Sequence[Listener]) -> list[Any]:
    """What was promised, each part told to listeners as soon as it is there."""

    async def one(promise: Future[Any]) -> Any:
        part = await asyncio.wrap_future(promise)
        await _tell(listeners, part[0])
        return part

    parts = await asyncio.gather(*map(one, promised), return_exceptions=True)
    for part in parts:
        if isinstance(part, BaseException):
            raise part
    return parts


async def _tell(listeners: Sequence[Listener], episodes: Sequence[Episode]) -> None:
    for listener in listeners:
        await listener(episodes)


def _is_cancelled() -> bool:
    """Whether the running task, if any, was cancelled."""
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


async def _gather(jobs: list[Coroutine[Any, Any, Episode]]) -> list[Episode]:
    tasks = [asyncio.ensure_future(job) for job in jobs]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        for task in tasks:
            task.cancel()


def _run(main: Coroutine[Any, Any, T]) -> T:
    """Run to the end, in this thread unless it already runs an event loop (a notebook), then in one of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return _loop(main)
    out: list[T] = []
    fault: list[BaseException] = []

    def work() -> None:
        try:
            out.append(_loop(main))
        except BaseException as error:  # noqa: BLE001 - handed to the caller's thread below
            fault.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    if fault:
        raise fault[0]
    return out[0]


def _loop(main: Coroutine[Any, Any, T]) -> T:
    """An event loop for this alone. `asyncio.run` would do, but for the time it takes over signals: it prints all the episodes
    into an error message that is never shown."""
    loop = asyncio.new_event_loop()
    playing = loop.create_task(main)
    try:
        return loop.run_until_complete(playing)
    except RuntimeError as error:
        if playing.done():
            raise
        raise RunStopped("an environment stopped the event loop that it is played in: leave that to the run") from error
    finally:
        loop.run_until_complete(_cancel(asyncio.all_tasks(loop)))
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


async def _cancel(left: set[asyncio.Task[Any]]) -> None:
    for task in left:
        task.cancel()
    await asyncio.gather(*left, return_exceptions=True)
