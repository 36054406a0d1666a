"""A reward is a function. Its arguments are filled by name; what it returns, or how it breaks, is typed."""

from __future__ import annotations

import asyncio
import inspect
import math
import traceback
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any, NamedTuple

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.part import check_knobs, knob, part
from guerdon.rewards.base import Reward
from guerdon.rewards.plain import Score
from guerdon.rewards.scores import Outcome

FOREVER = 24 * 3600.0  # seconds; a longer wait is more than a poll of the system takes
FIELDS = ("prompt", "completion", "answer", "task", "meta", "level", "role", "turns", "episode")


class Leaf(Reward):
    """A reward that is asked about one sample: a callable whose parameters name what it needs of it.

    Names are those of the track: prompt, completion (the last turn's text), answer, task, meta, level, role, turns (every
    turn's text), episode, or any key of the task's meta. It returns a number, a bool, None for *not applicable*, a list
    with a number a step, or a `Score`. An exception is *failed*, a TimeoutError *timed out*; neither becomes a number.
    """

    @property
    def called(self) -> Callable[..., Any]:
        return self.__call__  # type: ignore[no-any-return, operator]

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

    async def judge_all(self, samples: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[Outcome]:
        """Score many tracks. `seeds` are for what draws random numbers, one a track."""
        return list(await asyncio.gather(*(self.judge(fields) for fields in samples)))

    def ask(self, fields: Mapping[str, Any]) -> Outcome:
        """Score one track, here and now."""
        coroutine = self.judge(fields)
        if self.is_async:
            return asyncio.run(coroutine)
        try:  # a plain function never waits: its coroutine ends at the first step
            coroutine.send(None)
        except StopIteration as done:
            found: Outcome = done.value
            return found
        raise AssertionError("a plain function waited")

    async def judge(self, fields: Mapping[str, Any]) -> Outcome:
        """Score one track. The broad catch is the point: a user's function may break in any way, and it is recorded."""
        given = self._arguments(fields)
        try:
            found = self.called(**given)
            return _outcome(await found if inspect.isawaitable(found) else found)
        except TimeoutError:
            return Outcome(Reason.TIMED_OUT, detail={"error": traceback.format_exc(limit=-3)})
        except Exception:  # noqa: BLE001
            return Outcome(Reason.FAILED, detail={"error": traceback.format_exc(limit=-3)})

    def _arguments(self, fields: Mapping[str, Any]) -> dict[str, Any]:
        every = {**fields["meta"], **fields}
        if self.wants.any_name:
            return every
        self.check_arguments(fields["meta"])
        return {name: every[name] for name in self.wants.names if name in every}

    def __str__(self) -> str:
        return self.name


class Arguments(NamedTuple):
    names: tuple[str, ...]
    optional: frozenset[str]
    any_name: bool  # whether it takes all there is


@part
class reward(Leaf):
    """A plain function as a reward: `@reward` above `def exact(answer, completion): ...`.

    It may be `async`: then episodes are scored as they end, while others are still being played. With `isolate` a plain
    function runs in worker processes: one that hangs is stopped after `timeout` seconds, one that crashes or eats all
    memory takes nothing else with it, and it too is asked early. A `timeout` of 0 is none; a plain function that is not
    isolated cannot be stopped. Where it draws from Python's or numpy's generators in a worker, each sample has its seed.
    """

    function: Callable[..., Any]
    isolate: bool = False
    timeout: float = knob(default=0.0, ge=0.0)

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise UserError(f"a reward is a function, not {self.function!r}")
        check_knobs(self)
        if self.timeout and not self.is_async and not self.isolate:
            raise UserError(f"reward {self.name}: a plain function can only be stopped in a worker: isolate=True")

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def called(self) -> Callable[..., Any]:
        return self.function

    @property
    def waits(self) -> bool:
        return self.is_async or self.isolate

    def __call__(self, **fields: Any) -> Any:
        return self.function(**fields)

    async def judge(self, fields: Mapping[str, Any]) -> Outcome:
        if self.isolate and not self.is_async:
            return (await self.judge_all([fields], [0]))[0]
        if not self.timeout:
            return await super().judge(fields)
        try:
            return await asyncio.wait_for(super().judge(fields), self.timeout)
        except TimeoutError:
            return Outcome(Reason.TIMED_OUT, detail={"error": f"TimeoutError: no answer in {self.timeout:g} s"})

    async def judge_all(self, samples: Sequence[Mapping[str, Any]], seeds: Sequence[int]) -> list[Outcome]:
        if not self.isolate or self.is_async:
            return await super().judge_all(samples, seeds)
        from guerdon.rewards.isolation.workers import workers

        given = [{"seed": s, "fields": self._arguments(f)} for f, s in zip(samples, seeds, strict=True)]
        answers = await workers().call(_Seeded(self.function), given, timeout=self.timeout or FOREVER)
        return [_answered(answer) for answer in answers]


class _Seeded:
    """A function that draws the same random numbers whichever worker calls it."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function

    def __call__(self, seed: int, fields: dict[str, Any]) -> Any:
        import random
        import sys

        random.seed(seed)
        if "numpy" in sys.modules:
            sys.modules["numpy"].random.seed(seed % (1 << 32))
        return self.function(**fields)


def _answered(answer: Any) -> Outcome:
    """What a worker said."""
    if answer.kind != "value":
        reason = Reason.FAILED if answer.kind == "failed" else Reason.TIMED_OUT
        return Outcome(reason, detail={"error": answer.error})
    value = answer.value
    if isinstance(value, dict) and value.get("__dataclass__") == "Score":
        value = Score(**{k: v for k, v in value.items() if k != "__dataclass__"})
    return _outcome(value)


def as_reward(found: Any) -> Reward:
    """A reward from a plain function, or the reward itself."""
    return found if isinstance(found, Reward) else reward(found)


def ask_all(leaf: Reward, samples: Sequence[Mapping[str, Any]], seeds: Sequence[int] | None = None) -> list[Outcome]:
    """Ask a leaf about samples given by their fields, here and now."""
    assert isinstance(leaf, Leaf), f"{leaf} is no leaf"
    filled = [{"meta": {}, **fields} for fields in samples]
    seeds = seeds or [0] * len(filled)
    return run(leaf.judge_all(filled, seeds)) if leaf.waits else [leaf.ask(fields) for fields in filled]


def run(coroutine: Coroutine[Any, Any, list[Outcome]]) -> list[Outcome]:
    """Wait for it, also where an event loop is already running (a notebook): then in a thread of its own."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(coroutine)
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, coroutine).result()


def _outcome(found: Any) -> Outcome:
    if found is None:
        return Outcome(Reason.NOT_APPLICABLE)
    if isinstance(found, Score):
        plain = _outcome(found.value)
        detail = {k: v for k, v in (("why", found.why), ("parts", found.parts)) if v}
        return Outcome(plain.reason, plain.value, {**detail, **(plain.detail or {})} or None, plain.steps)
    if isinstance(found, list | tuple):
        return _along(found)
    try:
        if isinstance(found, str):
            raise TypeError
        value = float(found)
    except (TypeError, ValueError):
        return Outcome(Reason.FAILED, detail={"error": f"TypeError: a reward returned {found!r}, not a number"})
    if not math.isfinite(value):
        return Outcome(Reason.FAILED, detail={"error": f"ValueError: a reward returned {value}"})
    return Outcome(Reason.VALUE, value)


def _along(found: Sequence[Any]) -> Outcome:
    """A number for each step; one that is missing or no number breaks them all."""
    each = [_outcome(x) for x in found]
    bad = next((o for o in each if o.reason is not Reason.VALUE or o.steps is not None), None)
    if bad is not None or not each:
        return Outcome(Reason.FAILED, detail={"error": f"TypeError: a reward returned {found!r}, not a number a step"})
    return Outcome(Reason.VALUE, math.fsum(o.value for o in each), steps=tuple(o.value for o in each))


def fields_of(episode: Episode, path: list[Segment]) -> dict[str, Any]:
    """What a reward may ask for about one track."""
    task = episode.task
    return {
        "prompt": episode.ask.shown,
        "completion": path[-1].text,
        "answer": task.answer,
        "task": task,
        "meta": {**task.meta, **episode.ask.note},
        "level": task.level,
        "role": path[-1].role,
        "turns": [s.text for s in path],
        "episode": episode,
    }


def paths(batch: Batch) -> list[tuple[Episode, list[Segment]]]:
    """Each track's episode and segments, root to leaf."""
    found: list[tuple[Episode, list[Segment]]] = [(batch.episodes[e], []) for e in batch.episode[batch.leaf].tolist()]
    place = batch.place.tolist()
    for k, g in zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True):
        found[k][1].append(found[k][0].segments[place[g]])
    return found
