"""Environments of Gymnasium's kind as one of ours, several worlds in lock step.

An ask is a try at a whole episode, or, with a note of how many `steps`, a stretch of a stream: a world that continues
from where the last stretch left it, and begins the next episode where one ends. A stretch gives an episode of ours for
each part of an episode in it; what is cut off by its end is CUT there, with the last view, for a critic to estimate the rest.
Leaves out: what is drawn (`sources.py`), and how actions are drawn (the engine).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from guerdon.core.episode import End, Episode
from guerdon.core.errors import UserError
from guerdon.core.part import knob, live, part, state
from guerdon.core.play import Play, Seats, Together, seats_alone
from guerdon.core.task import Ask
from guerdon.worlds.gymnasium_world import NotFinite, SomeWorld, open_world, title_of
from guerdon.worlds.spaces import Row
from guerdon.worlds.step_rewards import as_step_reward


@part
class gym:
    """Any environment of Gymnasium's kind: an id, FILE.py:NAME, or a function that makes one, `at_once` worlds at a time.

    A track is one segment: its context has a row of numbers for each action and the last view, of ended episodes too; its
    `rewards` are what the environment paid for each action. Where the environment says `terminated` the segment ends DONE,
    where it says `truncated`, or a stretch ends, CUT. A try whose environment raises, or pays what is not a finite number,
    failed, with the environment, the step and the component. Of an episode that ended, `info` has its `return` and `steps`,
    those of earlier stretches included.

    Worlds of streams stay open between the steps of a run; a checkpoint holds their seeds and actions so far, and a resumed
    run plays these again.

    Args:
        env: a Gymnasium id, FILE.py:NAME of a function that makes one, or such a function.
        at_once: worlds that are stepped side by side.
        limit: steps after which an episode is cut; 0: the environment's own bound, or 10,000.
        options: keyword arguments for making it.
        role: the role that acts.
        reward: pays for each step in the environment's place: a `step_reward`, a function as it takes, or FILE.py:NAME of one.
            Of an episode that ended, `info` then has the environment's own `env_return`, and sums of components, `parts`.

    >>> import guerdon as gd
    >>> env = gd.worlds.gym("CartPole-v1", at_once=4)
    >>> env.opened().views.size, env.opened().actions.choices
    (4, (2,))
    """

    env: Any
    at_once: int = knob(default=8, ge=1)
    limit: int = knob(default=0, ge=0)
    options: dict[str, Any] = knob(factory=dict)
    role: str = "policy"
    reward: Any = knob(default=None, absent=None)

    streams: dict[str, Any] = state(factory=dict)  # of the worlds that are in the middle of an episode, their records
    going: dict[str, SomeWorld] | None = live()  # these worlds
    spare: list[SomeWorld] | None = live()  # worlds to begin an episode in

    def __post_init__(self) -> None:
        self.reward = as_step_reward(self.reward)

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @property
    def name(self) -> str:
        return title_of(self.env)

    def opened(self) -> SomeWorld:
        """A world to look at; it is kept for playing."""
        world = self.take()
        self.give(world)
        return world

    def take(self) -> SomeWorld:
        return (
            self.spare.pop() if self.spare else open_world(self.env, self.options, self.limit, self.reward is not None)
        )

    def give(self, world: SomeWorld) -> None:
        self.spare = [*(self.spare or ()), world]

    def stream(self, key: str) -> SomeWorld | None:
        """The world of a stream, in the middle of its episode; None where the last one has ended."""
        world = (self.going or {}).get(key)
        if world is None and key in self.streams:
            world = self.take()
            world.bring_back(self.streams[key])
        return world

    def keep(self, key: str, world: SomeWorld | None) -> None:
        """Keep a stream's world for its next stretch; None: its episode is over."""
        going = {name: each for name, each in (self.going or {}).items() if name != key}
        streams = {name: each for name, each in self.streams.items() if name != key}
        self.going = going if world is None else {**going, key: world}
        self.streams = streams if world is None else {**streams, key: world.kept()}

    def observe(self, batch: Any, play: Play) -> None:
        """Note the means over the episodes that ended in a step: return, length, success; under a reward the environment's own
        return, and components."""
        ended = [episode.info for episode in batch.episodes if "return" in episode.info]
        for name in ("return", "steps", "success", "env_return"):
            said = [info[name] for info in ended if name in info]
            if said:
                play.log(**{f"episode_{name}": float(np.mean(said))})
        for name in dict.fromkeys(name for info in ended for name in info.get("parts", ())):
            play.log(**{f"episode_part/{name}": float(np.mean([info["parts"].get(name, 0.0) for info in ended]))})

    def play_many(self, asks: Sequence[Ask], together: Together) -> list[Episode]:
        waiting = deque(
            _Lane(self, together, number, attempt) for number, ask in enumerate(asks) for attempt in range(ask.n)
        )
        lanes, playing = list(waiting), [waiting.popleft() for _ in range(min(self.at_once, len(waiting)))]
        for lane in playing:
            lane.begin()
        while playing := _refilled(playing, waiting):
            views = np.array([lane.view for lane in playing], np.float32)
            actions, logp = together.act(self.role, [lane.tried for lane in playing], views)
            tried = zip(playing, views, actions, logp, strict=True)
            stepped = [lane for lane, view, action, each in tried if lane.step(view, action, each)]
            for lane, pay in zip(stepped, self._pay(stepped), strict=True):
                lane.settle(pay)
        return [episode for lane in lanes for episode in lane.episodes]

    def _pay(self, stepped: Sequence[_Lane]) -> list[float | NotFinite]:
        """What each world's last step was paid, or why nothing."""
        if self.reward is None:
            return [lane.own for lane in stepped]
        return self._by_reward([lane.world for lane in stepped])

    def _by_reward(self, worlds: Sequence[SomeWorld]) -> list[float | NotFinite]:
        if not worlds:
            return []
        paid = self.reward.pay_each([world.did for world in worlds])
        pays: list[float | NotFinite] = []
        for i, (world, parts) in enumerate(zip(worlds, paid.each(), strict=True)):
            if i in paid.why:
                pays.append(NotFinite(paid.told(i, self.name, f"step {world.steps} of seed {world.seed}")))
            else:
                world.settle(float(paid.total[i]), parts)
                pays.append(float(paid.total[i]))
        return pays

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        """One episode, a segment for each action: for models that do not act on rows."""
        world = self.take()
        view, over, cut = world.reset(seed_of(ask, seats.seed)), False, False
        while not (over or cut):
            said = await seats[self.role].act(view)
            view, pay, over, cut = world.step(said.actions[0])
            if self.reward is not None:
                (given,) = self._by_reward([world])
                if isinstance(given, NotFinite):
                    raise given
                pay = given
            seats.reward(**{self.role: pay})
        if not over:
            seats.cut(**{self.role: view})
        self.give(world)
        return seats.episode(**world.summary())


def seed_of(ask: Ask, own: int) -> int:
    """Of the environment's dice: the problem's, where it has one; else the try's `own`."""
    return int(ask.task.meta.get("seed", own))


def _refilled(playing: list[_Lane], waiting: deque[_Lane]) -> list[_Lane]:
    """Those that are not over, and the next in place of the others."""
    going = []
    for lane in playing:
        each: _Lane | None = lane
        while each is not None and each.over:
            each = waiting.popleft() if waiting else None
            if each is not None:
                each.begin()
        going += [each] if each is not None else []
    return going


class _Lane:
    """One of the worlds that are stepped side by side: a try, or the stretch of a stream."""

    def __init__(self, env: gym, together: Together, number: int, attempt: int) -> None:
        self.env, self.together, self.number, self.attempt = env, together, number, attempt
        self.episodes: list[Episode] = []
        self.over = False

    def begin(self) -> None:
        """Begin the try, or resume the stream."""
        self.tried = self.together.begin(self.number, self.attempt)
        note = self.tried.ask.note
        self.key, self.left = (str(note["stream"]), int(note["steps"])) if "stream" in note else ("", 0)
        try:
            world = self.env.stream(self.key) if self.key else None
            self.world = world or self.env.take()
            self._show(self.world.view if world is not None else self._reset())
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the environment's own code; what it raised is recorded
            self._fail(error)

    def step(self, view: Row, action: Any, logp: Any) -> bool:
        """Take an action at a view; whether the environment took it."""
        self.views.append(view)
        self.actions.append(action)
        self.logp.append(logp)
        try:
            self.view, self.own, self.done, self.cut = self.world.step(action)
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the same
            self.rewards.append(float("nan"))
            self._fail(error)
            return False
        return True

    def settle(self, pay: float | NotFinite) -> None:
        """Take the pay of the last action, and end what ends with it."""
        if isinstance(pay, NotFinite):
            self.rewards.append(float("nan"))
            self._fail(pay)
            return
        self.rewards.append(pay)
        self.left -= 1
        if self.done or self.cut:
            self._end(End.DONE if self.done else End.CUT, **self.world.summary())
            self._next()
        elif self.key and not self.left:
            self._end(End.CUT)
            self.env.keep(self.key, self.world)
            self.over = True

    def _reset(self) -> Row:
        return self.world.reset(seed_of(self.tried.ask, self.tried.seed))

    def _show(self, view: Row) -> None:
        """Begin a track at what is shown."""
        self.view, self.tried.seed, self.first = view, self.world.seed, self.world.steps
        self.views: list[Row] = []
        self.actions: list[Any] = []
        self.logp: list[Any] = []
        self.rewards: list[float] = []

    def _next(self) -> None:
        """After the end of an episode: the stream's next one, or nothing."""
        if not self.key or not self.left:
            if self.key:
                self.env.keep(self.key, None)
            self.env.give(self.world)
            self.over = True
            return
        self.attempt += 1
        self.tried = self.together.begin(self.number, self.attempt)
        try:
            self._show(self._reset())
        except UserError:
            raise
        except Exception as error:  # noqa: BLE001 - the same
            self._fail(error)

    def _end(self, end: End, **info: Any) -> None:
        begun = {"from": self.first} if self.first else {}
        views = self.views if end is End.FAILED else [*self.views, self.view]
        shown = f"{self.env.name}, seed {self.world.seed}" + (f", from step {self.first}" if self.first else "")
        track = {"actions": self.actions, "logp": self.logp, "rewards": self.rewards, "view": shown}
        if end is not End.FAILED and not np.isfinite(views).all():
            at = int(np.nonzero(~np.isfinite(views).all(1))[0][0])
            error = NotFinite(
                f"{self.env.name}: the view is not finite at step {self.first + at} of seed {self.world.seed}"
            )
            end, info = End.FAILED, {"error": self.together.why(error)}
        self.episodes.append(
            self.together.end(self.tried, self.env.role, {**track, "views": views}, end, **begun, **info)
        )

    def _fail(self, error: Exception) -> None:
        """The track failed, and its world is thrown away. A stream begins another episode in its next stretch."""
        if not hasattr(self, "views"):
            self.views, self.actions, self.logp, self.rewards, self.first = [], [], [], [], 0
        self._end(End.FAILED, error=self.together.why(error))
        if self.key:
            self.env.keep(self.key, None)
        self.over = True
