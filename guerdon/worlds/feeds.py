"""A user of a feed as an environment: what to show next, when showing bores and a bored user leaves.

One user of `crowds.py` behind Gymnasium's two methods, so that what acts in control acts here; and, for models that answer in
text and for `gd.check_env`, an item number as text. Leaves out: slates, creators and many users at once, which are the crowd's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from guerdon.core.episode import End, Episode
from guerdon.core.errors import require_extra
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask, Task
from guerdon.worlds.crowds import Catalogue, Crowd
from guerdon.worlds.lock_step import gym, seed_of
from guerdon.worlds.sources import episodes
from guerdon.worlds.spaces import Row

ENOUGH = 0.75  # of what the gold player is liked for: the goal


class Feed:
    """One user in Gymnasium's shape: a view is the user's group and what was lately clicked and shown of each category, an
    action is an item, the reward a click.

    `catalogue` is what can be shown: 200 drawn items in 20 categories, without one; `fatigue` is how much boredom costs,
    `length` the steps of a session.

    >>> import guerdon as gd
    >>> feed = gd.worlds.Feed()
    >>> view, _ = feed.reset(seed=0)
    >>> feed.step(3)[1:4]  # reward, terminated, truncated
    (0.0, False, False)
    """

    def __init__(self, catalogue: Catalogue | None = None, fatigue: float = 0.7, length: int = 40) -> None:
        try:
            from gymnasium.spaces import Box, Discrete
        except ImportError as error:
            raise require_extra("gymnasium", "control") from error
        self.items = catalogue or Catalogue.drawn(200, 20, seed=0)
        self.fatigue, self.length = fatigue, length
        self.crowd = self._user(0)
        self.observation_space = Box(0.0, np.inf, self.crowd.view()[0].shape, np.float32)
        self.action_space = Discrete(len(self.items.category))

    def _user(self, seed: int) -> Crowd:
        return Crowd(1, self.items, seed, self.fatigue, length=self.length, first=seed % 2)

    def reset(self, *, seed: int = 0, options: Any = None) -> tuple[Row, dict[str, Any]]:
        self.crowd = self._user(seed)
        return self._view(), {}

    def step(self, action: int) -> tuple[Row, float, bool, bool, dict[str, Any]]:
        """Show an item, or nothing (-1)."""
        clicks = self.crowd.step(np.array([[action]]))
        return self._view(), float(clicks[0]), bool(self.crowd.done[0]), False, {}

    def gold(self) -> int:
        """What who knows the user's tastes and boredom shows."""
        return int(self.crowd.gold()[0, 0])

    def _view(self) -> Row:
        return np.asarray(self.crowd.view()[0], np.float32)


@dataclass(frozen=True)
class users(episodes):
    """Users of a feed, as a source of problems with a home: those held out are the same in every run.

    The goal of a session is to be liked three quarters as much as what the gold player shows to the same user.

    Args:
        env: a feed's class, or a function that makes a feed.

    >>> import guerdon as gd
    >>> gd.check_env(gd.worlds.users(), episodes=2)["goals"]
    2
    """

    env: Any = Feed

    @property
    def home(self) -> Any:
        return audience(self.env)

    def check(self, task: Task, completion: str) -> float:
        return 0.0  # a session is judged as a whole

    def check_track(self, task: Task, track: dict[str, Any]) -> float | None:
        goal: float | None = track["episode"].info.get("goal")
        return goal


@part
class audience(gym):
    """A user of a feed: rows of numbers for what acts in control, several at a time; item numbers as text for others.

    A text that is no item's number shows nothing, which adds no boredom and lowers the mood. `info` has `liked`, the sum of the
    probabilities with which what was shown was clicked, and `goal`, whether that is three quarters of the gold player's.

    Args:
        env: a function that makes a feed, or a feed's class.
        at_once: worlds that are stepped side by side.
        limit: steps after which an episode is cut; 0: the feed's own.
        options: keyword arguments for making it.
        reward: pays for each step in the feed's place, as `gd.worlds.gym` takes it.
        role: the role that acts.

    >>> import guerdon as gd
    >>> gd.worlds.audience().opened().actions.choices
    (200,)
    """

    env: Any = Feed
    at_once: int = knob(default=8, ge=1)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        return await self._session(ask, seats, gold=False)

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        """The gold player's session."""
        return await self._session(ask, seats, gold=True)

    async def _session(self, ask: Ask, seats: Seats, gold: bool) -> Episode:
        feed, over = self.env(**self.options), False
        view, _ = feed.reset(seed=seed_of(ask, seats.seed) % 2**31)
        while not over:
            seat = seats[self.role]
            said = seat.teacher_force(view, str(feed.gold())) if gold else await seat.act(view)
            if said.end is End.CUT:
                break
            word = said.text.strip()
            item = int(word) if word.isascii() and word.isdecimal() and len(word) < 9 else -1
            view, pay, over, _, _ = feed.step(item if item < feed.action_space.n else -1)
            seats.reward(**{self.role: pay})
        liked = float(feed.crowd.liked[0])
        return seats.episode(liked=round(liked, 9), goal=float(liked >= ENOUGH * self._best(ask, seats)))

    def _best(self, ask: Ask, seats: Seats) -> float:
        """What the gold player is liked for by the same user."""
        feed, over = self.env(**self.options), False
        feed.reset(seed=seed_of(ask, seats.seed) % 2**31)
        while not over:
            over = feed.step(feed.gold())[2]
        return float(feed.crowd.liked[0])
