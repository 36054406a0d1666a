"""What a player asks in place of playing itself: a crew of workers.

Asks are cut into jobs, in their order; a free worker takes the next job. A job that a worker loses goes back to the front and
is played by the next free worker, for what is played follows from the asks' numbers and the weights alone. Answers are put
together in the order of the asks, so the run cannot tell who played them.
A thread for each worker hires it, gives it jobs and hires another in its place when it is lost.
Leaves out: environments in lock step, whose tries share sums, and what cannot be sent: these are played by the run's process.
"""

from __future__ import annotations

import itertools
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from typing import Any, Protocol

from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.part import get_state
from guerdon.core.play import Env
from guerdon.core.task import Ask, Sampling
from guerdon.engine.batching import EngineFault
from guerdon.engine.player import Player
from guerdon.scale.job import Answer, Job, Lost, Versions, dumps, joined, unpack_played
from guerdon.scale.station import Hello, processor
from guerdon.training.build import versions

PATIENCE = 30.0  # seconds without a word after which a worker is taken for lost
LOSSES = 5  # workers that one job may be lost with: it may be what kills them
STARTS = 3  # workers in a row that may fail to start in one place
LARGEST = 1 << 20  # bytes of an environment that is sent along with a job
ENDED = "the run ended while its workers played"
MUST_EQUAL = ("guerdon", "python", "torch", "numpy", "machine", "device")


class Worker(Protocol):
    """One worker, wherever it is."""

    hello: Hello
    where: str

    def do(self, job: Job) -> Answer:
        """Its answer; it raises Lost."""

    def close(self) -> None: ...


class Store(Protocol):
    """Where workers find weights."""

    def put(self, name: str, data: bytes) -> None: ...

    def drop(self, name: str) -> None: ...

    def close(self) -> None: ...


class Order:
    """A job that is waited for."""

    def __init__(self, job: Job, asks: Sequence[Ask]) -> None:
        self.job, self.asks = job, asks
        self.promise: Future[Answer] = Future()
        self.losses = 0

    @property
    def words(self) -> str:
        first, last = self.job.first, self.job.first + len(self.asks) - 1
        return f"ask {first}" if first == last else f"asks {first} to {last}"


class Crew:
    """The workers of a run. `hire` makes one, and raises Lost or UserError."""

    def __init__(self, count: int, play: Player, hire: Callable[[], Worker], store: Store, code: str = "") -> None:
        self.play, self.hire, self.store, self.code = play, hire, store, code
        on_gpu = all(model.device.type == "cuda" for model in play.models.values())
        self.processor = "" if on_gpu else processor()
        self.orders: deque[Order] = deque()
        self.ready = threading.Condition()
        self.over = threading.Event()
        self.fault = ""  # why no worker can be started
        self.workers: dict[int, Worker] = {}
        self.places = count
        self.number = itertools.count(1)
        self.publishing = threading.Lock()
        self.versions: dict[int, Versions] = {}  # by player
        self.busy = self.used = self.waited = 0.0  # seconds: of workers at work, of their processors, of the run
        self.compared = False
        self.threads = [threading.Thread(target=self._serve, args=(n,), daemon=True) for n in range(count)]
        for thread in self.threads:
            thread.start()

    # --- the run's side

    def ask(self, player: Player, asks: Sequence[Ask], env: Env, sampling: Sampling) -> list[Future[Any]] | None:
        """Promises of the episodes of asks, in parts and in their order; None where the player is to play them itself."""
        if hasattr(env, "play_many"):
            self.play.warn("--workers: worlds that are played in lock step are played by the run's own process")
            return None
        try:
            sent = None if env is player.env else dumps(env)
            parts = [(first, part, dumps(part)) for first, part in cut(asks, self.places)]
        except Exception as error:  # noqa: BLE001 - objects say in many ways that they cannot be pickled
            why = (str(error).splitlines() or [""])[0]
            self.play.warn(f"--workers: some asks are played by the run's own process, for they cannot be sent: {why}")
            return None
        if sent is not None and len(sent) > LARGEST:
            self.play.warn(f"--workers: an environment of {len(sent)} bytes is played by the run's own process")
            return None
        with self.publishing:
            known = self.versions.setdefault(id(player), Versions(f"weights-{len(self.versions)}"))
            before, data = known.name, known.changed(player.models)
            if data is not None:
                self.store.put(known.name, data)
                if before:  # it is not used any more: a player asks again when it has its episodes
                    self.store.drop(before)
        state, at = get_state(env) if sent is None else {}, (player.step, player.steps)
        orders = [
            Order(Job(next(self.number), *at, player.asked + n, data, sampling, known.name, sent, state), part)
            for n, part, data in parts
        ]
        with self.ready:
            if self.fault:
                raise UserError(self.fault)
            self.orders.extend(orders)
            self.ready.notify_all()
        if not self.compared:
            self.compared = True
            self._compare(player, asks[0], env, sampling, orders[0])
        return [self._heard(order) for order in orders]

    def _compare(self, player: Player, ask: Ask, env: Env, sampling: Sampling, order: Order) -> None:
        """Play the run's first try here as well, once a worker has survived it: both have to be the same, to the bit."""
        if order.promise.exception() is not None or order.promise.result().fault is not None:
            return
        here = Player(player.models, player.seats, env, sampling, player.seed, player.steps, (), player.noise)
        here.begin(player.step)
        here.asked = player.asked
        try:
            own = here.played([ask.but(n=1)])[0].segments
        finally:
            for model in player.models.values():
                model.meter = player.meter
        other = unpack_played(order.promise.result().played, order.asks)[0].segments
        if len(own) != len(other) or not all(_alike(a, b) for a, b in zip(own, other, strict=True)):
            self.play.warn(
                "--workers: a worker played the first try otherwise than this process, so the weights may not be those of one"
                " process: the environment is random, or processors or numbers of threads round differently (set"
                " OMP_NUM_THREADS=1)"
            )

    def _heard(self, order: Order) -> Future[Any]:
        """The episodes and counts of an order, once it is answered."""
        told: Future[Any] = Future()

        def hear(done: Future[Answer]) -> None:
            if not told.set_running_or_notify_cancel():  # it is not waited for any more
                return
            try:
                answer = done.result()
                told.set_result((self._episodes(answer, order), answer.counts))
            except BaseException as error:  # noqa: BLE001 - who waits for it raises it
                told.set_exception(error)

        order.promise.add_done_callback(hear)
        return told

    def _episodes(self, answer: Answer, order: Order) -> Sequence[Episode]:
        if answer.fault is not None:
            kind, message = answer.fault
            if not kind:
                raise EngineFault(f"a worker could not play {order.words}:\n{message}")
            raise (RunStopped if kind == "RunStopped" else UserError)(message)
        if answer.drew:
            raise UserError(
                "--workers: the environment draws from the global generators (random, numpy or torch), so its tries would"
                " depend on who plays them; draw from seats.seed, or leave --workers out"
            )
        return unpack_played(answer.played, order.asks)

    def join(self, parts: Sequence[Sequence[Episode]]) -> Sequence[Episode]:
        return joined(parts)

    def numbers(self, seconds: float) -> dict[str, float]:
        """The workers that live, and the share of the last seconds in which they were idle."""
        with self.ready:
            busy, self.busy = self.busy, 0.0
            idle = 1 - busy / (seconds * self.places) if seconds > 0 else 0.0
            return {"workers": float(len(self.workers)), "workers/idle": max(0.0, idle)}

    def close(self) -> None:
        with self.ready:
            self.over.set()
            self.ready.notify_all()
            workers, orders = [*self.workers.values()], [*self.orders]
            self.orders.clear()
        for order in orders:
            order.promise.set_exception(RunStopped(ENDED))
        for worker in workers:
            worker.close()
        self.store.close()

    # --- a worker's side

    def _serve(self, place: int) -> None:
        worker: Worker | None = None
        while not self.over.is_set():
            worker = worker or self._hired(place)
            if worker is None:
                return
            with self.ready:
                self.ready.wait_for(lambda: self.over.is_set() or self.orders)
                if self.over.is_set():
                    break
                order = self.orders.popleft()
            began = time.perf_counter()
            try:
                answer = worker.do(order.job)
            except Lost as lost:
                self._forget(place, worker)
                worker = None
                self._again(place, order, lost)
                continue
            except Exception as error:  # noqa: BLE001 - an answer that cannot be read, for one: the run raises it
                order.promise.set_exception(error)
                continue
            with self.ready:
                self.busy += time.perf_counter() - began
                self.used += answer.used
            order.promise.set_result(answer)
        if worker is not None:
            worker.close()

    def _hired(self, place: int) -> Worker | None:
        """A worker that has built the run; None where there will be none."""
        why = ""
        for _ in range(STARTS):
            if self.over.is_set():
                return None
            try:
                worker = self.hire()
            except Lost as lost:
                why = f"worker {place} {lost}"
                if not self.over.is_set():
                    self.play.warn(f"{why}: another is started")
                continue
            except Exception as error:  # noqa: BLE001 - no process, no file: whatever it is, the run has to say it
                why = str(error) if isinstance(error, UserError) else f"worker {place} does not start: {error!r}"
                break
            why = self._unfit(place, worker)
            if why:
                worker.close()
                break
            with self.ready:
                self.workers[place] = worker
                if self.over.is_set():
                    worker.close()
            return worker
        with self.ready:
            self.places -= 1
            if not self.over.is_set():
                self.play.warn(why)
            if self.places == 0:
                self.fault = why
                for order in self.orders:
                    order.promise.set_exception(UserError(why))
                self.orders.clear()
        return None

    def _unfit(self, place: int, worker: Worker) -> str:
        """Why a worker cannot play for this run; empty where it can."""
        said, own = worker.hello, versions()
        who = f"worker {place} on {worker.where}"
        if said.fault:
            return f"{who} cannot build the run: {said.fault}"
        for name in MUST_EQUAL:
            if said.versions.get(name) != own[name]:
                return (
                    f"{who} has {name} {said.versions.get(name)}, and the run has {own[name]}: install the same there"
                )
        if self.processor and said.processor != self.processor:
            return f"{who} has another processor ({said.processor}) than the run ({self.processor}), which rounds differently"
        if self.code and said.code != self.code:
            return f"{who} has other code of guerdon {own['guerdon']} than the run: install the same there"
        return ""

    def _forget(self, place: int, worker: Worker) -> None:
        with self.ready:
            self.workers.pop(place, None)
        worker.close()

    def _again(self, place: int, order: Order, lost: Lost) -> None:
        """Have a lost job played by another."""
        with self.ready:
            if self.over.is_set():
                order.promise.set_exception(RunStopped(ENDED))
                return
            order.losses += 1
            what = f"step {order.job.step}: worker {place} {lost} while it played {order.words}"
            if order.losses < LOSSES:
                self.orders.appendleft(order)
                self.ready.notify()
                self.play.warn(f"{what}: another plays them again")
                return
        order.promise.set_exception(RunStopped(f"{what}, as {LOSSES - 1} did before: what they play may kill them"))


def _alike(a: Segment, b: Segment) -> bool:
    return all(getattr(a, name).tobytes() == getattr(b, name).tobytes() for name in ("context", "actions", "logp"))


def cut(asks: Sequence[Ask], parts: int) -> Iterator[tuple[int, list[Ask]]]:
    """Asks in at most so many parts of nearly as many tries, each with the number of its first ask.

    >>> import guerdon as gd
    >>> asks = [gd.Ask(gd.Task(str(n), "", ""), n=4) for n in range(5)]
    >>> [(first, len(part)) for first, part in cut(asks, 2)]
    [(0, 3), (3, 2)]
    """
    whole = sum(ask.n for ask in asks)
    tried = first = done = 0
    for number, ask in enumerate(asks, start=1):
        tried += ask.n
        if tried * parts >= whole * (done + 1):
            yield first, list(asks[first:number])
            first, done = number, tried * parts // whole
