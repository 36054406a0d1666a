"""Functions as rewards, the leaves of formulas.

Arguments are filled by name. What a function returns, or how it breaks, is typed.

Leaves out: how a function is called (`calls.py`), what its results become (`formula/scores.py`), how formulas are made of
leaves (`formula/reward.py`).
"""

from __future__ import annotations

import asyncio
import dataclasses
import inspect
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar

from guerdon.core.column import Reason
from guerdon.core.errors import UserError, broken_as, unknown
from guerdon.core.part import knob, live, part
from guerdon.core.score import CallResult
from guerdon.rewards.asking.calls import (
    Given,
    call_each_here,
    call_here,
    call_in_boxes,
    call_in_workers,
    fields_that_cross,
    refuse_what_stays,
    retried,
    turn,
)
from guerdon.rewards.asking.samples import FIELDS, Samples
from guerdon.rewards.formula.reward import Reward
from guerdon.rewards.formula.scores import Outcome, outcomes_from, passed, shared_out
from guerdon.workers.carry import carry
from guerdon.workers.plain_result import PlainResult
from guerdon.workers.seeded_calls import Seeded, seeded

T = TypeVar("T")
TIMEOUT = 30.0  # seconds a call may take by default: long for a scorer, short against a run that would hang for ever


class Leaf(Reward):
    """A reward that is asked about samples: a callable whose parameters name what it needs of one.

    Names are those of the track: prompt, completion (the last turn's text), answer, task, meta, level, role, turns (every
    turn's text), episode; path (the track's own segments), made and actions (of its last turn), view (what it was shown); or
    any key of the task's meta. It returns a number, a bool, None for *not applicable*, a list with a number a step, or a
    `Score`. An exception is *failed*, a TimeoutError *timed out*; neither becomes a number.

    One that compares samples, or reads the step's batch, is not `alone` and has a `score` of its own instead.

    >>> import guerdon as gd
    >>> @gd.part
    ... class starts_with(gd.rewards.Leaf):
    ...     word: str = "So"
    ...     def __call__(self, completion: str) -> float:
    ...         return float(completion.startswith(self.word))
    >>> gd.score_samples(starts_with("Well"), [{"completion": "Well, 4"}]).whole
    [1.0]
    """

    alone: ClassVar[bool] = True  # a sample's score depends on it alone, so it may be asked early, an episode at a time

    @property
    def called(self) -> Callable[..., Any]:
        return self.__call__ if callable(self) else _without_arguments

    @cached_property
    def wants(self) -> Arguments:
        wanted = inspect.signature(self.called).parameters.values()
        return Arguments(
            tuple(p.name for p in wanted if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)),
            frozenset(p.name for p in wanted if p.default is not p.empty),
            any(p.kind is p.VAR_KEYWORD for p in wanted),
        )

    def check_arguments(self, known: Collection[str]) -> None:
        """Refuse one that asks for what no track has; `known` are the keys its tasks' meta hold."""
        for name in self.wants.names:
            if name not in FIELDS and name not in known and name not in self.wants.optional:
                raise unknown(f"argument of reward {self.name}", name, [*FIELDS, *known])

    @property
    def is_async(self) -> bool:
        return inspect.iscoroutinefunction(self.called)

    @property
    def waits(self) -> bool:
        """Whether asking it takes waiting rather than work of this process: it is worth asking early."""
        return self.is_async

    @property
    def apart(self) -> bool:
        """Whether its samples may be asked one at a time, and so as they come."""
        return self.alone

    async def score(self, samples: Samples) -> list[Outcome]:
        """Score samples together: one by one, by default. What waits does so for all of them at once."""
        calls = [call_here(self.called, self._arguments(fields)) for fields in samples.fields]
        results = await asyncio.gather(*calls) if self.waits else [await call for call in calls]
        return outcomes_from(results)

    def ask(self, fields: Mapping[str, Any]) -> Outcome:
        """Score one sample, here and now."""
        return ask_all([(self, Samples.of([fields]))])[0][0]

    def _arguments(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        meta = fields["meta"]
        if self.wants.any_name:
            return {**meta, **fields}
        arguments = {name: fields[name] for name in self.wants.names if name in fields}
        if len(arguments) < len(self.wants.names):
            self.check_arguments(meta)
            arguments |= {name: meta[name] for name in self.wants.names if name not in fields and name in meta}
        return arguments

    def __str__(self) -> str:
        return self.name


def _without_arguments() -> None:
    """In place of `__call__` for a leaf that has only a `score`: it asks for no field by name."""


class Arguments(NamedTuple):
    names: tuple[str, ...]
    optional: frozenset[str]
    any_name: bool  # whether it takes all there is


@part
class reward(Leaf):
    """A plain function as a reward: `@reward` above `def exact(answer, completion): ...`, or `@reward(timeout=5)`.

    A plain function runs in worker processes: one that hangs is stopped after `timeout` seconds (default 30, 0 for no
    limit), one that crashes or eats all memory takes nothing else with it. What it draws from Python's, numpy's or torch's
    generators there repeats itself. What it keeps in globals is each worker's own. With `isolate=False` it runs in this
    process, where nothing can stop it. An `async` function runs in this process as well, in a loop that such functions have
    for themselves, with the same time limit, and at most `concurrency` calls of it at once, 0 for no limit. Both are asked
    as episodes end, while others are still played.

    A function that executes other code than its own, as one that calls `exec` on the completion, has each of its calls made in
    a process that ends with the call; one whose every `exec` and `eval` is harmless may be declared `trusted`.

    With `isolate="sandbox"` each call is made in a box of its own, where the function sees nothing of the user's: no file, no
    variable of the environment, no network. It gets the sample's plain fields, and its own code travels with it.

    A call that raises or runs out of time is made again up to `retries` times. With `batched` there is one call for all
    samples of a step, each argument a list, which returns a list of scores. If it breaks it is called for each sample alone.

    Args:
        function: the function.
        isolate: run in worker processes (True), in this process (False) or in the sandbox.
        timeout: seconds of a call; 30 by default, 0 for no limit.
        retries: further calls after one that failed.
        concurrency: async calls at a time; 0 for no limit.
        batched: one call gets the samples of a step.
        trusted: code that it passes to `exec` and `eval` is harmless.

    >>> import guerdon as gd
    >>> @gd.reward(isolate=False)
    ... def brief(completion: str) -> float:
    ...     return float(len(completion) < 9)
    >>> gd.score_samples(brief, [{"completion": "four"}]).whole
    [1.0]
    """

    function: Callable[..., Any] | None = None
    isolate: bool | Literal["sandbox"] = True
    timeout: float | None = knob(default=None, ge=0.0)
    retries: int = knob(default=0, ge=0)
    concurrency: int = knob(default=0, ge=0)
    batched: bool = False
    trusted: bool = knob(default=False, absent=False)

    sent: tuple[int, bytes] | None = live()  # a step, and the function as it was sent to workers then

    def __post_init__(self) -> None:
        if self.function is None:
            return  # used as a decorator: the function is still to come
        if not callable(self.function):
            raise UserError(f"a reward is a function, not {self.function!r}")
        if self.timeout and not self.waits:
            raise UserError(
                f"reward {self.name}: a plain function can only be stopped in a worker: leave out isolate=False"
            )
        if self.concurrency and not self.is_async:
            raise UserError(f"reward {self.name}: concurrency is for async functions; plain ones have a worker a core")
        if self.isolate == "sandbox":
            refuse_what_stays(self.name, self.wants.names, self.is_async)

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def called(self) -> Callable[..., Any]:
        if self.function is None:
            raise UserError(f"{self!r} has no function: write it above one, @reward(...), or give it one first")
        return self.function

    @property
    def is_async(self) -> bool:
        own = type(self.called).__call__  # of an object that is called like a function
        return inspect.iscoroutinefunction(self.called) or inspect.iscoroutinefunction(own)

    @property
    def waits(self) -> bool:
        return self.is_async or bool(self.isolate)

    @property
    def apart(self) -> bool:
        return not self.batched

    @property
    def sources(self) -> Sequence[Any]:
        return (self.called,)

    @property
    def limit(self) -> float:
        return TIMEOUT if self.timeout is None else self.timeout

    def __call__(self, *decorated: Any, **fields: Any) -> Any:
        if self.function is None and len(decorated) == 1:
            return dataclasses.replace(self, function=decorated[0])
        return self.called(*decorated, **fields)

    async def score(self, samples: Samples) -> list[Outcome]:
        each = samples.once(("given", self.wants), lambda: [self._arguments(fields) for fields in samples.fields])
        if self.isolate == "sandbox" and self.wants.any_name:
            each = [fields_that_cross(given) for given in each]

        async def call(given: Sequence[Given], seeds: Sequence[int]) -> list[CallResult]:
            return await self._call(samples, given, seeds)

        if not self.batched:
            return outcomes_from(await retried(call, each, samples.seeds, self.retries))
        lists = {name: [given.get(name) for given in each] for name in {n: None for given in each for n in given}}
        (whole,) = await retried(call, [lists], samples.seeds[:1], self.retries)
        if whole.kind == "value" or len(samples) == 1:
            return shared_out(whole, len(samples))
        ones = [{name: [value] for name, value in given.items()} for given in each]
        results = await retried(call, ones, samples.seeds, self.retries)
        return [shared_out(result, 1)[0] for result in results]

    async def _call(self, samples: Samples, given: Sequence[Given], seeds: Sequence[int]) -> list[CallResult]:
        if self.is_async:
            return list(await asyncio.gather(*(self._call_in_turn(each) for each in given)))
        if not self.isolate:
            return await call_each_here(self.called, given)
        if given is samples.made.get(("given", self.wants)):
            ready = samples.once(("seeded", self.wants), lambda: seeded(given, seeds))
        else:
            ready = seeded(given, seeds)
        if self.isolate == "sandbox":
            return await call_in_boxes(self._carried(samples), ready, self.limit)
        return await call_in_workers(self._carried(samples), ready, self.limit, self.trusted)

    async def _call_in_turn(self, given: Given) -> CallResult:
        async with turn(self, self.concurrency):
            return await call_here(self.called, given, self.limit)

    def _carried(self, samples: Samples) -> Callable[..., Any] | bytes:
        """What to send to workers. In a run the function is made ready once a step: samples come one by one there."""
        function = Seeded(PlainResult(self.called) if self.isolate == "sandbox" else self.called)
        if samples.batch is None:
            return function
        step = samples.fields[0]["episode"].step
        if self.sent is None or self.sent[0] != step:
            self.sent = step, carry(function)
        return self.sent[1]


Question = tuple[Leaf, Samples]


def ask_all(questions: Sequence[Question]) -> list[list[Outcome]]:
    """Ask each leaf about its samples, here and now; also where an event loop is already running (a notebook)."""
    return run(ask_all_later(questions))


async def ask_all_later(questions: Sequence[Question]) -> list[list[Outcome]]:
    """The same for a caller that can wait. Those that wait do so at once, and before those that keep this process busy:
    the time one may take must not run out on another's work."""
    waiting = [n for n, (leaf, _) in enumerate(questions) if leaf.waits]
    outcomes = dict(zip(waiting, await asyncio.gather(*(_ask(*questions[n]) for n in waiting)), strict=True))
    return [outcomes[n] if n in outcomes else await _ask(*question) for n, question in enumerate(questions)]


async def _ask(leaf: Leaf, samples: Samples) -> list[Outcome]:
    try:
        outcomes = await leaf.score(samples) if len(samples) else []
    except BaseException as error:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise
        return [broken_part(leaf, error)] * len(samples)
    if not isinstance(outcomes, list) or len(outcomes) != len(samples) or not {*map(type, outcomes)} <= {Outcome}:
        raise UserError(f"reward {leaf.name}: its `score` must give one Outcome for each of {len(samples)} samples")
    return [passed(outcome) for outcome in outcomes]


def broken_part(part: Reward, error: BaseException) -> Outcome:
    """The outcome of a user's part that raised, for each of its samples. What is meant to stop a run does, and a bug of ours
    keeps its traceback."""
    if isinstance(error, UserError):
        raise error
    if isinstance(error, Exception) and type(part).__module__.partition(".")[0] == "guerdon":
        raise error
    return Outcome(Reason.FAILED, detail={"error": broken_as(error)})


def run(coroutine: Coroutine[Any, Any, T]) -> T:
    """Wait for it, where an event loop is already running in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, coroutine).result()
