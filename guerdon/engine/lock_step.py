"""Tries that are played together: worlds of physics in lock step, their views stacked and answered in one pass.

For environments with `play_many` and models with `act_rows`. An episode is one segment: a row of context for each action, and
the last view, of episodes that ended too. A try draws its random numbers from its own place in the run, so what it does
depends on no other try; how many act at once changes how sums are rounded, and is a knob of the environment.
Leaves out: when a world is stepped and what its numbers mean (`worlds`).
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import broken_as, in_a_line, line_in
from guerdon.core.model import Model
from guerdon.core.part import walk
from guerdon.core.play import Env
from guerdon.core.seeds import Place
from guerdon.core.task import Ask, Sampling
from guerdon.engine.batching import fault
from guerdon.models.standin import behind

CHUNK = 64  # rows of random numbers that a try draws at a time

Rows = npt.NDArray[np.float32]


class Actor(Protocol):
    """A model that acts on rows of numbers."""

    def noise(self, dice: np.random.Generator, n: int) -> npt.NDArray[Any]:
        """[n, W] random numbers, those of an action in a row."""

    def act_rows(self, views: Rows, noise: npt.NDArray[Any], sampling: Sampling) -> tuple[npt.NDArray[Any], Rows]:
        """The actions [N] or [N, A] at views [N, D], and their log-probs [N]."""


def in_lock_step(
    env: Env,
    asks: Sequence[Ask],
    models: Mapping[str, Model],
    seats: Mapping[str, str],
    sampling: Sampling,
    place: tuple[int, int, int],
) -> LockStep | None:
    """Asks that are yet to be played, the first of which is number `place[2]` of step `place[1]` in a run of seed `place[0]`;
    None where they are to be played by the environment's own coroutine."""
    if not hasattr(env, "play_many") or any(ask.prefix is not None for ask in asks):
        return None
    hows = {ask.sampling or sampling for ask in asks}
    names = {role: {ask.seated(seats).get(role) for ask in asks} for role in env.roles}
    if len(hows) > 1 or any(len(each) > 1 or None in each for each in names.values()):
        return None
    actors = {role: models[str(name)] for role, (name,) in names.items()}
    if not all(hasattr(behind(model), "act_rows") for model in actors.values()) or any(how.guides for how in hows):
        return None
    return LockStep(env, asks, actors, hows.pop(), place)


@dataclass(eq=False)
class Tried:
    """One try, while it is played."""

    ask: Ask
    number: int  # of its ask, among the step's
    attempt: int
    place: Place
    seed: int  # of the environment's dice
    drawn: dict[str, Iterator[Any]] = field(default_factory=dict)  # by role

    def noise(self, role: str, actor: Actor) -> Any:
        """The numbers of its next action."""
        if role not in self.drawn:
            self.drawn[role] = _rows(actor, np.random.default_rng(self.place.derive("act", role)))
        return next(self.drawn[role])


def _rows(actor: Actor, dice: np.random.Generator) -> Iterator[Any]:
    while True:
        yield from actor.noise(dice, CHUNK)


class LockStep:
    """The tries of one `play`, which see and act together."""

    def __init__(
        self,
        env: Env,
        asks: Sequence[Ask],
        actors: Mapping[str, Model],
        sampling: Sampling,
        place: tuple[int, int, int],
    ) -> None:
        self.env, self.asks, self.sampling, self.place = env, asks, sampling, place
        self.actors: dict[str, Any] = {role: behind(model) for role, model in actors.items()}
        self.versions = {role: model.version for role, model in actors.items()}
        self.acted = 0

    def begin(self, ask: int, attempt: int) -> Tried:
        run, step, first = self.place
        at = Place(run, step, first + ask, attempt)
        return Tried(self.asks[ask], first + ask, attempt, at, at.derive("dice"))

    def act(self, role: str, tries: Sequence[Tried], views: Rows) -> tuple[npt.NDArray[Any], Rows]:
        actor = self.actors[role]
        self.acted += len(tries)
        try:
            with torch.no_grad():
                actions, logp = actor.act_rows(views, np.array([t.noise(role, actor) for t in tries]), self.sampling)
        except Exception as error:  # noqa: BLE001 - ours or the machine's fault, and no failed episode
            told = fault(error, f"the model of {role!r} could not act")
            raise told  # noqa: B904 - it has its cause
        return actions, logp

    def end(self, tried: Tried, role: str, track: Mapping[str, Any], end: End, **info: Any) -> Episode:
        segment = Segment(
            role=role,
            view=track.get("view"),
            context=np.asarray(track["views"], np.float32).reshape(-1),
            actions=np.asarray(track["actions"]),
            logp=np.asarray(track["logp"], np.float32),
            sampling=self.sampling,
            version=self.versions[role],
            end=end,
            rewards=np.asarray(track["rewards"], np.float32),
        )
        return Episode(tried.ask, (segment,), self.place[1], tried.number, tried.attempt, info, tried.seed)

    def why(self, error: BaseException) -> str:
        return why_broken(error, self.env)


def why_broken(error: BaseException, env: Any) -> str:
    """An error of an environment: what it is, and where."""
    return f"{broken_as(error)}\n{_place(error, env)}{in_a_line(error)}"


def _place(error: BaseException, env: Env) -> str:
    """The last line of the environment's own code, or of one within it, that was running when it broke."""
    modules = {type(each).__module__ for each in (env, *(part for _, part in walk(env)))}
    files = {getattr(sys.modules.get(name), "__file__", None) for name in modules}
    frames = [f for f in traceback.extract_tb(error.__traceback__) if f.filename in files]
    return f"{line_in(frames[-1].filename, frames[-1].lineno or 0)}: " if frames else ""
