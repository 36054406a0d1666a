"""One environment of Gymnasium's kind, opened, stepped and held to its contract; and how it is brought back to where it was.

An environment is named by its id, by FILE.py:NAME of a function that makes it, or is such a function. What breaks the contract
is one line that names the environment and the call. A reward that is not a finite number is a failure, never 0.
Leaves out: several at a time (`lock_step.py`).
"""

from __future__ import annotations

import functools
import inspect
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from guerdon.core.errors import UserError, in_a_line, nearest, require_extra, unknown
from guerdon.core.user_file import find_in_file
from guerdon.worlds.own_names import OWN, is_own
from guerdon.worlds.spaces import Row, actions_of, views_of
from guerdon.worlds.step_rewards import copied

FLAGS = (bool, np.bool_)
SUCCESS = ("success", "is_success")  # of an environment's info: Meta-World's name, and stable-baselines3's
LONGEST = 10_000  # steps of an episode where neither the environment nor anyone else bounds it


class NotFinite(Exception):
    """A reward or a view that is not a number: the episode failed."""


def open_world(env: Any, options: Mapping[str, Any] | None = None, limit: int = 0, watched: bool = False) -> SomeWorld:
    """An environment by its Gymnasium id, by a name of our own worlds (`desk:push`, `bandits:10`), by FILE.py:NAME of a
    function that makes it, or by such a function.

    Args:
        env: the id or name, the file and name, or the function.
        options: keyword arguments of the function, or of `gymnasium.make`.
        limit: steps after which an episode is cut; 0: the environment's own bound, or 10,000.
        watched: keep what a reward of env steps reads.

    >>> import guerdon as gd
    >>> world = gd.worlds.open_world("CartPole-v1")
    >>> world.views.size, world.actions.choices, world.reset(seed=0).shape
    (4, (2,), (4,))
    """
    name, make = title_of(env), maker_of(env)
    made = make(**dict(options or {})) if make is not None else registered(str(env), options or {})
    return SomeWorld(name, made, limit, watched)


def title_of(env: Any) -> str:
    """What an environment is called."""
    return env if isinstance(env, str) else str(getattr(env, "__name__", env))


def maker_of(env: Any) -> Any:
    """The function that makes an environment; None for an id."""
    if isinstance(env, str) and is_own(env):
        return functools.partial(own_world, env)
    if isinstance(env, str):
        return find_in_file(env, "environment") if ".py:" in env else None
    if not callable(env):
        raise UserError(
            f"an environment is a Gymnasium id, FILE.py:NAME or a function that makes one, not {env!r}: worlds make several"
        )
    return env


def own_world(name: str) -> Any:
    """One of our own worlds as an environment of Gymnasium."""
    try:
        from guerdon.worlds.own_worlds import OwnWorld
    except ImportError as error:
        raise require_extra("gymnasium", "control") from error
    return OwnWorld(name)


def side_by_side(name: str, n: int) -> Any:
    """N of our own worlds as one vectorised environment of Gymnasium, which begins the next episode in the step that ends one
    (`SAME_STEP`). Each is the same as one alone at its seed; `gold()` is the action of an oracle policy in each.

    Args:
        name: of one of our own worlds: `desk:reach`, `desk:push`, `desk:carry`, `desk:obstacles`, `ball`, `bandits:5`.
        n: how many.

    >>> import guerdon as gd
    >>> worlds = gd.worlds.side_by_side("desk:reach", 256)
    >>> worlds.reset(seed=0)[0].shape, worlds.step(worlds.gold())[1].shape
    ((256, 6), (256,))
    """
    try:
        from guerdon.worlds.own_worlds import OwnWorlds
    except ImportError as error:
        raise require_extra("gymnasium", "control") from error
    return OwnWorlds(name, n)


def registered(name: str, options: Mapping[str, Any]) -> Any:
    """The environment of a Gymnasium id; one line where there is none, or it cannot be made."""
    try:
        import gymnasium
    except ImportError as error:
        raise require_extra("gymnasium", "control") from error
    wrong = gymnasium.error
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # an older version is what was asked for
            return gymnasium.make(name, disable_env_checker=True, **options)
    except (wrong.UnregisteredEnv, wrong.NamespaceNotFound, wrong.NameNotFound, wrong.VersionNotFound) as error:
        close = nearest(name, [*gymnasium.registry, *OWN])
        if close is None:
            raise UserError(
                f"unknown environment {name!r}: name a Gymnasium id, FILE.py:NAME, or MODULE:ID of a package that has it"
            ) from error
        raise unknown("environment", name, [close]) from error
    except (wrong.DependencyNotInstalled, ImportError) as error:
        raise UserError(f"{name} needs a library that is not installed: {in_a_line(error)}") from error
    except (wrong.Error, TypeError, ValueError) as error:
        raise UserError(f"{name} cannot be made: {in_a_line(error)}") from error


class SomeWorld:
    """An environment, `env`, with views as rows of numbers and actions as rows: `view` is what it shows now, `name` what it is
    called, and an episode is cut after `limit` steps. One that is `watched` keeps its last step, `did`, for a reward of env
    steps, and what `settle` says that this paid.

    >>> import guerdon as gd
    >>> world = gd.worlds.open_world("MountainCar-v0", limit=2)
    >>> view = world.reset(seed=0)
    >>> [world.step(1)[1:] for _ in range(2)]  # reward, over, cut
    [(-1.0, False, False), (-1.0, False, True)]
    """

    def __init__(self, name: str, env: Any, limit: int = 0, watched: bool = False) -> None:
        self.name, self.env, self.limit, self.watched = name, env, limit or LONGEST, watched
        for method in ("reset", "step", "observation_space", "action_space"):
            if not hasattr(env, method):
                raise UserError(f"{name} is not a Gymnasium environment: {type(env).__name__} has no `{method}`")
        self.views = views_of(env.observation_space, name)
        self.actions = actions_of(env.action_space, name)
        self.seed, self.total = 0, 0.0
        self.taken: list[Any] = []  # actions of the episode so far
        self.view: Row = np.zeros(self.views.size, np.float32)
        self.seen: Any = None  # the last observation, as the environment gave it
        self.did: tuple[Any, ...] = ()  # the fields of `step_rewards.Steps`
        self.paid, self.parts = 0.0, dict[str, float]()
        self.success: bool | None = None

    @property
    def steps(self) -> int:
        """Of the episode so far."""
        return len(self.taken)

    def reset(self, seed: int) -> Row:
        """Begin an episode; what is shown first."""
        given = self.env.reset(seed=seed % 2**31)
        if not isinstance(given, tuple) or len(given) != 2:
            raise UserError(f"{self.name}: reset returned {_said(given)}: Gymnasium's returns an observation and info")
        self.seed, self.taken, self.total = seed, [], 0.0
        self.paid, self.parts, self.success = 0.0, {}, None
        self.view = self._row(given[0], "reset")
        if self.watched:
            self.seen = copied(given[0])
        return self.view

    def step(self, action: Any) -> tuple[Row, float, bool, bool]:
        """Take an action, as actors give it: what is shown next, the reward, whether the episode is over, whether it is cut."""
        self.taken.append(action)
        does = self.actions.of(action)
        given = self.env.step(does)
        if not isinstance(given, tuple) or len(given) != 5:
            raise UserError(
                f"{self.name}: step returned {_said(given)}: Gymnasium's returns an observation, a reward, terminated,"
                " truncated and info"
            )
        seen, pay, over, cut, info = given
        if not (isinstance(over, FLAGS) and isinstance(cut, FLAGS)):
            what, flag = ("truncated", cut) if isinstance(over, FLAGS) else ("terminated", over)
            raise UserError(
                f"{self.name}: step returned {what}={flag!r}: it is True or False, not of type {type(flag).__name__}"
            )
        try:
            reward = float(pay)
        except (TypeError, ValueError) as error:
            raise UserError(f"{self.name}: step returned the reward {pay!r}: it is one number") from error
        if not math.isfinite(reward):
            raise NotFinite(
                f"{self.name}: the reward is {reward} at step {self.steps} of seed {self.seed}{_part(info)}"
            )
        self.view = self._row(seen, "step")
        self.total += reward
        over, cut = bool(over), bool(cut) or (len(self.taken) >= self.limit and not over)
        if info:
            self._note(info)
        if self.watched:
            self.did = (self.seen, does, seen, reward, over, cut, info)
            self.seen = copied(seen)
        return self.view, reward, over, cut

    def _note(self, info: Any) -> None:
        """Whether the goal was reached, at this step or before, where the environment says so."""
        said = next((info[name] for name in SUCCESS if name in info), None)
        if said is not None:
            self.success = bool(self.success) or bool(said)

    def settle(self, pay: float, parts: Mapping[str, float]) -> None:
        """What a reward paid for the last step."""
        self.paid += pay
        for name, value in parts.items():
            self.parts[name] = self.parts.get(name, 0.0) + value

    def summary(self) -> dict[str, Any]:
        """Of an episode that ended: what it was paid, its steps, and whether its goal was reached, where that is known."""
        of_reward = {"env_return": self.total, "parts": dict(self.parts)} if self.watched else {}
        reached = {} if self.success is None else {"success": self.success}
        return {"return": self.paid if self.watched else self.total, "steps": self.steps, **of_reward, **reached}

    def kept(self) -> dict[str, Any]:
        """What `bring_back` needs: JSON and tensors, for a checkpoint."""
        import torch

        return {
            "seed": self.seed,
            "actions": torch.from_numpy(np.asarray(self.taken)),
            "view": torch.from_numpy(self.view),
            **({"paid": self.paid, "parts": dict(self.parts)} if self.watched else {}),
        }

    def bring_back(self, kept: Mapping[str, Any]) -> None:
        """Play the record again, from the same seed; refused where it does not lead to the same place."""
        self.reset(int(kept["seed"]))
        for action in kept["actions"].numpy():
            self.step(action)
        self.paid, self.parts = kept.get("paid", 0.0), dict(kept.get("parts", {}))
        if not np.array_equal(self.view, kept["view"].numpy()):
            raise UserError(
                f"{self.name} does not repeat under its seed: after the same {self.steps} actions it shows something else, so"
                " no run in it can be resumed; draw all that is random from self.np_random, which reset(seed=...) seeds"
            )

    def close(self) -> None:
        if inspect.ismethod(getattr(self.env, "close", None)):
            self.env.close()

    def _when(self, call: str) -> str:
        return f"step {self.steps}" if call == "step" else call

    def _row(self, seen: Any, when: str) -> Row:
        try:
            row = self.views.row(seen)
        except (TypeError, ValueError, KeyError, IndexError) as error:
            raise UserError(
                f"{self.name}: {self._when(when)} shows what is not in its observation_space: {in_a_line(error)}"
            ) from error
        if len(row) != self.views.size:
            raise UserError(
                f"{self.name}: {self._when(when)} shows {len(row)} numbers, and its observation_space has {self.views.size}"
            )
        return row


def _said(given: Any) -> str:
    return f"{len(given)} values" if isinstance(given, tuple) else f"a {type(given).__name__}"


def _part(info: Any) -> str:
    """Which number in an environment's info is not finite, where one is: the part of the reward that broke."""
    named = info.items() if isinstance(info, Mapping) else ()
    for name, value in named:
        if isinstance(value, float | np.floating) and not math.isfinite(value):
            return f", component {str(name)!r}"
    return ", component 'reward'"
