"""Worlds in turns: the player says something, the world answers, until it is over. What most environments of several turns are.

A world is one episode's own state. Its limits are here, in one place, and reported separately:
a turn that ran out of tokens, the most turns, a context without room for the next view and the time of an episode end it CUT,
`info["cut"]` says which; a world that raises ends it FAILED (the player does that, with the error). What came of it stands in
`info`: `goal`, 0 to 1, is what its task is checked by (`PlayedOut`).

Leaves out: environments other than a dialogue of one role with a world (`play` is straight-line code over seats: write it).
"""

from __future__ import annotations

import abc
import inspect
import time
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, Protocol, runtime_checkable

from guerdon.core.episode import End, Episode
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask, Task

Cut = Literal["tokens", "turns", "context", "time"]


@dataclass(frozen=True)
class Observed:
    """What a world answers: what the player sees next, what it is paid for the turn just taken, and whether that was the last.

    Args:
        view: what the player sees next.
        pay: reward of the turn.
        over: the episode has ended.

    >>> import guerdon as gd
    >>> gd.envs.Observed("You are in a kitchen.", pay=0.5).over
    False
    """

    view: Any = ""
    pay: float | None = None
    over: bool = False


class World(Protocol):
    """The state of one episode. All that is random in it comes from the seed it was opened with.

    >>> import guerdon as gd
    >>> class Echo:
    ...     def begin(self):
    ...         return "say something"
    ...     def step(self, said):
    ...         return gd.envs.Observed(said, over=said == "bye")
    ...     def gold(self):
    ...         return "bye"
    ...     def outcome(self):
    ...         return {"goal": 1.0}
    >>> Echo().step("bye").over
    True
    """

    def begin(self) -> Any:
        """What the player sees first."""

    def step(self, said: str) -> Observed | Awaitable[Observed]:
        """The world's answer to what the player said. Whatever that was: a move that is not understood is answered too."""

    def gold(self) -> str:
        """What an oracle would say now."""

    def outcome(self) -> dict[str, Any]:
        """What came of it so far, as JSON values: `goal`, 0 to 1, and what else is worth knowing."""


class InTurns(abc.ABC):
    """Base of environments in turns: say in `open` how a world begins. `most` turns at most, 0 for no limit; `seconds` for an
    episode, 0 for no limit. One whose worlds wait for something (a tool, a sandbox) has `waits = True`.

    >>> import guerdon as gd
    >>> isinstance(gd.envs.single_turn(), gd.envs.InTurns)
    False
    """

    waits: ClassVar[bool] = False
    role: str = "policy"  # write these in your own class, and they are knobs of it
    most: int = 8
    seconds: float = 0.0

    @abc.abstractmethod
    def open(self, ask: Ask, seed: int) -> World:
        """The world of one episode. Two that are opened with the same seed are the same."""

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def play(self) -> Any:
        return self._waiting if self.waits else self._at_once

    @seats_alone
    async def _at_once(self, ask: Ask, seats: Seats) -> Episode:
        return await played_in_turns(self.open(ask, seats.seed), seats, self.role, self.most, self.seconds)

    async def _waiting(self, ask: Ask, seats: Seats) -> Episode:
        return await played_in_turns(self.open(ask, seats.seed), seats, self.role, self.most, self.seconds)

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        """The same, teacher-forced on `gold`: a demonstration to train on, and to test an environment with."""
        return await played_in_turns(self.open(ask, seats.seed), seats, self.role, self.most, self.seconds, gold=True)


async def played_in_turns(
    world: World, seats: Seats, role: str, most: int = 0, seconds: float = 0.0, gold: bool = False
) -> Episode:
    """Play a role in a world, to its end or to the first limit; with `gold` the world says what the role should say."""
    began = time.monotonic()
    view, turns, cut = world.begin(), 0, None
    while cut is None:
        cut = _limit(seats, role, view, turns, most, began, seconds)
        if cut is not None:
            seats.cut(**{role: view})
            break
        segment = seats[role].teacher_force(view, world.gold()) if gold else await seats[role].act(view)
        turns += 1
        if segment.end is End.CUT:
            cut = "tokens"
            break
        answer = world.step(segment.text)
        observed = await answer if inspect.isawaitable(answer) else answer
        if observed.pay is not None:
            seats.reward(**{role: observed.pay})
        if observed.over:
            break
        view = observed.view
    return seats.episode(**world.outcome(), turns=turns, **({} if cut is None else {"cut": cut}))


def _limit(seats: Seats, role: str, view: Any, turns: int, most: int, began: float, seconds: float) -> Cut | None:
    """The limit that forbids another turn."""
    if most and turns >= most:
        return "turns"
    if seconds and turns and time.monotonic() - began > seconds:
        return "time"
    room = seats[role].room(seats.last(role), view)
    return "context" if room is not None and room < 1 else None


@runtime_checkable
class Shows(Protocol):
    """An environment with demonstrations: `demonstrate` is `play` with every role teacher-forced on the right turns.

    >>> import guerdon as gd
    >>> isinstance(gd.envs.by_kind({}), gd.envs.Shows), isinstance(gd.envs.single_turn(), gd.envs.Shows)
    (True, False)
    """

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode: ...


class PlayedOut:
    """Base of task sources whose truth is how an episode went, not what was said last: `goal` in its `info`, for a game of
    several the goal of the track's own role. `home` is where its problems are played unless another environment is given: the
    source itself, where it is one.

    >>> import guerdon as gd
    >>> gd.envs.PlayedOut().check(gd.Task("1", "Find the key."), "I have it.") is None
    True
    """

    @property
    def home(self) -> Any:
        return self if hasattr(self, "play") else None

    def check(self, task: Task, completion: str) -> float | None:
        """A text alone does not show it."""
        return None

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        goal = track["episode"].info.get("goal")
        return goal.get(track["role"]) if isinstance(goal, Mapping) else goal
