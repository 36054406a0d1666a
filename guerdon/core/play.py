"""What a stage or a curriculum is handed: `play`.

Call it to have episodes played; read from it where the run stands.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from guerdon.core.batch import Batch
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.one_turn import asks_in
from guerdon.core.task import Ask, Sampling

Playing = TypeVar("Playing", bound=Callable[..., Any])
Listener = Callable[[Sequence[Episode]], Awaitable[None]]  # called with episodes that ended together


class Play(Protocol):
    """The run, as its parts see it."""

    step: int
    steps: int
    seed: int
    models: Mapping[str, Model]
    seats: Mapping[str, str]

    def __call__(
        self, asks: Sequence[Ask], env: Env | None = None, seats: Mapping[str, str] | None = None
    ) -> list[Episode]:
        """Play every ask `n` times, in the recipe's environment and seats by default."""

    def log(self, **metrics: float) -> None:
        """Add numbers to this step's record."""

    def count(self, more: Mapping[str, int]) -> None:
        """Add `tokens`, `read`, `calls` and the like that were spent elsewhere to this step's budget."""

    def spent(self, unit: str) -> float:
        """What this step has cost so far, in a unit of budgets (`core/budget.py`)."""

    def warn(self, message: str) -> None:
        """Show the user a message, once in the run."""

    def at(self, value: Any) -> float:
        """A knob's value now, schedule or number."""

    def generator(self, *path: int | str) -> torch.Generator:
        """Random numbers for this place in this step."""


class Seat(Protocol):
    """A role at the table of one episode."""

    @property
    def calls(self) -> str:
        """How the model in this seat was trained to call tools (`data/call_formats.py`)."""

    async def act(
        self,
        view: Any,
        *,
        after: int | None = None,
        fresh: bool = False,
        sampling: Sampling | None = None,
        go_on: bool = False,
    ) -> Segment:
        """Show what is new since this role last acted; wait for its actions. `go_on`: in the same turn, as plain text."""

    async def branch(
        self,
        ways: Sequence[int | None],
        view: Any,
        *,
        sampling: Sampling | Sequence[Sampling] | None = None,
        go_on: bool = False,
    ) -> list[tuple[int, Segment]]:
        """One way on from each of several places, sampled together: the new segments, with their numbers."""

    def room(self, after: int | None = None, view: Any = None) -> int | None:
        """How many more actions the model's context holds at a place, once it was shown `view` there, if it has a limit."""

    async def read(
        self, want: str | Sequence[str], *, view: Any = None, text: Any = None, after: int | None = None
    ) -> dict[str, Tensor]:
        """A model's readings of this role's path, or of a text after it: `await seat.read("final")`."""

    async def read_each(
        self, want: str | Sequence[str], places: Sequence[int], *, said: bool = False
    ) -> list[dict[str, Tensor]]:
        """A model's readings at each of several places, or of the texts there, in one pass."""

    async def read_texts(self, want: str | Sequence[str], view: Any, texts: Sequence[str]) -> list[dict[str, Tensor]]:
        """A model's readings of each of several texts after a view, in one pass."""

    def teacher_force(self, view: Any, text: str, *, after: int | None = None, fresh: bool = False) -> Segment:
        """Append `text` to this role's path as its own output, without sampling."""


class Seats(Protocol):
    """The seats of one episode by role, and the record of it so far."""

    @property
    def seed(self) -> int:
        """For the environment's own dice: another for every episode, the earlier one's where that is started again."""

    @property
    def sampling(self) -> Sampling:
        """How a role samples by default in `act` and `branch`: as the ask sets it, or the run."""

    def __getitem__(self, role: str) -> Seat: ...

    def last(self, role: str) -> int:
        """The number of the role's latest segment, -1 before its first."""

    def reward(self, **paid: float | Sequence[float]) -> None:
        """Pay roles for their latest segment, or for each of its actions."""

    def cut(self, **seen: Any) -> None:
        """A limit ended the episode: what roles would have been shown next, and did not get to act on."""

    def episode(self, **info: Any) -> Episode:
        """Close the record."""


class Together(Protocol):
    """Tries that are played together, as an environment's `play_many` is handed them: worlds of physics in lock step."""

    def begin(self, ask: int, attempt: int) -> Any:
        """Try number `attempt` at an ask: it has the `ask` and a `seed` for the environment's dice."""

    def act(self, role: str, tries: Sequence[Any], views: npt.NDArray[np.float32]) -> tuple[Any, Any]:
        """Show each try its row of numbers [N, D], all at once; the actions [N] or [N, A], and their log-probs [N]."""

    def end(self, tried: Any, role: str, track: Mapping[str, Any], end: End, **info: Any) -> Episode:
        """The record of a try: one segment, with a row of `views` for each action and the last view, `actions`, `logp` and
        `rewards`."""

    def why(self, error: BaseException) -> str:
        """What broke a try, for `error=` in its info."""


class Env(Protocol):
    """One method is the whole contract: straight-line async code over named seats. One whose views are rows of numbers may also
    have `play_many(asks, together)`, which plays all asks and returns their episodes; it is called where models act on rows
    (`Model.act_rows`), and plays the same kind of episodes several at a time."""

    @property
    def roles(self) -> tuple[str, ...]: ...

    async def play(self, ask: Ask, seats: Seats) -> Episode: ...


def seats_alone(play: Playing) -> Playing:
    """Declare that an environment's `play` awaits nothing but its seats. Its episodes then need no event loop: they are the
    same, and many short ones take less time."""
    play.seats_alone = True  # type: ignore[attr-defined]
    return play


def one_turn(play: Playing) -> Playing:
    """Declare that an environment's `play` shows the ask's view to the environment's one role, once, and closes the record:
    `await seats[role].act(ask.shown)`, then `return seats.episode()`. Such episodes may be played as columns."""
    play.one_turn = True  # type: ignore[attr-defined]
    return seats_alone(play)


def role_of_one_turn(env: Env) -> str | None:
    """The role that acts, where `play` declares that it is one turn; a subclass that overrides `play` has to declare it
    again."""
    return env.roles[0] if getattr(env.play, "one_turn", False) else None


def awaits_seats_alone(env: Env) -> bool:
    """Whether its `play` declares so; a subclass that overrides `play` has to declare it again."""
    return getattr(env.play, "seats_alone", False)


@runtime_checkable
class Curriculum(Protocol):
    def draw(self, n: int, play: Play) -> list[Ask]: ...


class Stage(Protocol):
    """Batch to Batch. `needs` and `gives` name columns, or `pairs`; the loop has every needed column there before the call.

    One with `async prefetch(episodes, seed)` receives episodes as soon as they have ended, while others are being played,
    and the run's seed. With an `asks_early` that is False it need not be.
    """

    @property
    def needs(self) -> tuple[str, ...]: ...

    @property
    def gives(self) -> tuple[str, ...]: ...

    def __call__(self, batch: Batch, play: Play) -> Batch: ...


def players(batch: Batch, play: Play) -> list[str]:
    """[K] the model that acted each track: by its ask's own seats or else the run's; "" for a role that has no seat."""
    names, asks = [], asks_in(batch.episodes)
    for e, number in zip(batch.episode[batch.leaf].tolist(), batch.role_K.tolist(), strict=True):
        role, own = batch.roles[number], asks[e].seats or {}
        names.append(own[role] if role in own else play.seats.get(role, ""))
    return names


def played_by(batch: Batch, models: Collection[str], play: Play) -> Tensor:
    """[K] the tracks that one of these models acted. All of them, if none of the models has a place in the run's seats."""
    names = players(batch, play)
    mine = torch.tensor([name in models for name in names], dtype=torch.bool, device=batch.seg.device)
    if not set(models).isdisjoint(play.seats.values()):
        return mine
    if bool(mine.any()):
        name = names[int(mine.nonzero()[0])]
        raise UserError(
            f"{name!r} is seated by asks alone: give it a place in the recipe's seats, {{..., {name!r}: {name!r}}}"
        )
    return ~mine
