"""A reward is a function. Its arguments are filled by name; what it returns, or how it breaks, is typed."""

from __future__ import annotations

import asyncio
import inspect
import math
import traceback
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

from guerdon.core.batch import Batch
from guerdon.core.column import Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError, unknown
from guerdon.core.part import part
from guerdon.rewards.base import Reward
from guerdon.rewards.scores import Outcome

FIELDS = ("prompt", "completion", "answer", "task", "meta", "level", "role", "turns", "episode")


@dataclass(frozen=True)
class Score:
    """A value with its why: `parts` are named components, `why` is a sentence for people."""

    value: float | list[float] | None
    why: str = ""
    parts: dict[str, float] = field(default_factory=dict)


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

    It may be `async`: then episodes are scored as they end, while others are still being played.
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise UserError(f"a reward is a function, not {self.function!r}")

    @property
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @property
    def called(self) -> Callable[..., Any]:
        return self.function

    def __call__(self, **fields: Any) -> Any:
        return self.function(**fields)


def as_reward(found: Any) -> Reward:
    """A reward from a plain function, or the reward itself."""
    return found if isinstance(found, Reward) else reward(found)


def ask_all(leaf: Reward, samples: Sequence[Mapping[str, Any]]) -> list[Outcome]:
    """Ask a leaf about samples given by their fields, here and now."""
    assert isinstance(leaf, Leaf), f"{leaf} is no leaf"
    return [leaf.ask({"meta": {}, **fields}) for fields in samples]


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
