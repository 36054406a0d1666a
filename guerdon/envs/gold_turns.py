"""Demonstrations of an oracle policy as text, turn by turn, in any environment that has them: to build a corpus.

No model, no player and no tokens: seats that only write down what is put in their mouths. Calls of tools whose result the gold
knows are not run, so no sandbox is started for programs of our own.
Leaves out: episodes to learn from in a run (`envs/default_envs.py`, `demonstrated`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.play import awaits_seats_alone
from guerdon.core.task import Ask, Sampling, Task
from guerdon.envs.default_envs import by_kind, default_env
from guerdon.envs.tools.tool_worlds import tool_turns
from guerdon.envs.world_turns import Shows
from guerdon.tasks.roles import Turns

NO_STEPS = np.zeros(0, np.float32)


def gold_turns(source: Any, task: Task, *, role: str = "policy", seed: int = 0, calls: str = "sprig") -> Turns:
    """The turns of a role in a problem of `source`, played in its default environment by an oracle policy: its views
    and its outputs; without such an environment, the problem and its solution. `calls` is the format of tool calls, `seed` that
    of the environment.

    Args:
        source: where the problem comes from.
        task: the problem.
        role: whose turns.
        seed: of the environment.
        calls: format of tool calls.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("calculator/equation:4")
    >>> gd.gold_turns(source, source.get("train", 0))
    [('tool\\nequation 8x+12=6x+16', 'call 8-6'), ('2', 'call 16-12'), ('4', 'call 4/2'), ('2', '= 2')]
    """
    ask = Ask(task)
    home: Any = default_env(source)
    while isinstance(home, by_kind):
        home = home.of(ask)
    if not isinstance(home, Shows):  # an answer is all that is wanted
        solve = getattr(source, "solution", None)
        return _as_text(source, [(ask.shown, task.answer if solve is None else str(solve(task)))])
    if isinstance(home, tool_turns):
        remembered = home.world(ask, seed, calls).remembered()
        if remembered is not None:
            return _as_text(source, remembered)
    segments = _recited(home, ask, seed, calls)
    return _as_text(source, [(segment.view, segment.text) for segment in segments if segment.role == role])


def _recited(home: Any, ask: Ask, seed: int, calls: str) -> list[Segment]:
    """What was said in an environment that showed how it is done."""
    seats = _Dictated(ask, seed, calls)
    demonstration = home.demonstrate(ask, seats)
    if awaits_seats_alone(home):
        _run_at_once(demonstration)
    else:
        with ThreadPoolExecutor(1) as apart:  # a notebook has an event loop in this thread
            apart.submit(asyncio.run, demonstration).result()
    return seats.segments


def _as_text(source: Any, turns: list[tuple[Any, str]]) -> Turns:
    for view, _ in turns:
        if not isinstance(view, str):
            raise UserError(f"{source.name} shows {type(view).__name__} and no plain text: gd.demonstration plays it")
    return turns


def _run_at_once(play: Coroutine[Any, Any, Episode]) -> None:
    """Run what awaits nothing, for its seats answer at once."""
    try:
        play.send(None)
    except StopIteration:
        return
    play.close()
    raise AssertionError("it waits for something, though it says that it awaits its seats alone")


class _Dictated:
    """The seats of one episode in which every role plays given texts."""

    def __init__(self, ask: Ask, seed: int, calls: str) -> None:
        self.ask, self.seed, self.calls, self.sampling = ask, seed, calls, ask.sampling or Sampling()
        self.segments: list[Segment] = []

    def __getitem__(self, role: str) -> _DictatedSeat:
        return _DictatedSeat(self, role)

    def last(self, role: str) -> int:
        return next((i for i in reversed(range(len(self.segments))) if self.segments[i].role == role), -1)

    def reward(self, **paid: Any) -> None:
        """It is not trained on."""

    def cut(self, **seen: Any) -> None:
        """What would have been shown next is not answered."""

    def episode(self, **info: Any) -> Episode:
        return Episode(self.ask, tuple(self.segments), 0, 0, 0, info, self.seed)


class _DictatedSeat:
    def __init__(self, table: _Dictated, role: str) -> None:
        self.table, self.role, self.calls = table, role, table.calls

    def room(self, after: int | None = None, view: Any = None) -> int | None:
        return None

    def teacher_force(self, view: Any, text: str, *, after: int | None = None, fresh: bool = False) -> Segment:
        segment = Segment(self.role, view, NO_STEPS, NO_STEPS, NO_STEPS, text, -1, self.table.sampling, 0)
        self.table.segments.append(segment)
        return segment
