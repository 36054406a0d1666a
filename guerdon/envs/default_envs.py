"""The default environment of a source's problems, and demonstrations in it by an oracle policy.

Leaves out: when a default environment replaces a recipe's own (`training/homes.py`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.episode import Episode
from guerdon.core.errors import UserError
from guerdon.core.part import label, part
from guerdon.core.play import Env, Seats, awaits_seats_alone, seats_alone
from guerdon.core.task import Ask
from guerdon.envs.simple import single_turn
from guerdon.envs.world_turns import Shows


def default_env(source: Any) -> Env | None:
    """The default environment of a source's problems; None if a single answer is enough.

    Args:
        source: the source.

    >>> import guerdon as gd
    >>> gd.envs.default_env(gd.tasks.load("chain:2")) is None
    True
    """
    own: Env | None = getattr(source, "home", None)
    if own is not None or not hasattr(source, "kinds"):
        return own
    kinds = source.kinds()
    if len(kinds) < 2:  # rows of one kind have their own
        return getattr(next(iter(kinds.values()), None), "home", None)
    homes = {kind: default_env(each) for kind, each in kinds.items()}
    return by_kind({kind: home or single_turn() for kind, home in homes.items()}) if any(homes.values()) else None


@part
class by_kind:
    """Problems of several kinds, each in its own environment; the roles are those of all of them.

    Args:
        envs: environment of each kind.

    >>> import guerdon as gd
    >>> gd.envs.by_kind({"chain:2": gd.envs.single_turn(), "chain:3": gd.envs.dataset_env()}).roles
    ('policy',)
    """

    envs: dict[str, Any]

    @property
    def roles(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(role for env in self.envs.values() for role in env.roles))

    @property
    def play(self) -> Any:
        return self._alone if all(awaits_seats_alone(env) for env in self.envs.values()) else self._played

    @seats_alone
    async def _alone(self, ask: Ask, seats: Seats) -> Episode:
        return await self._played(ask, seats)

    async def _played(self, ask: Ask, seats: Seats) -> Episode:
        episode: Episode = await self.of(ask).play(ask, seats)
        return episode

    async def demonstrate(self, ask: Ask, seats: Seats) -> Episode:
        episode: Episode = await _showing(self.of(ask)).demonstrate(ask, seats)
        return episode

    def of(self, ask: Ask) -> Any:
        """Where a problem is played."""
        kind = ask.task.kind
        if kind not in self.envs:
            raise UserError(f"no environment for problems of the kind {kind}: give by_kind one, {{{kind!r}: ...}}")
        return self.envs[kind]


@part
class demonstrated:
    """An environment played by an oracle policy, whose turns are teacher-forced: demonstrations to train on (`sft`), and a
    check that the goal can be reached.

    Args:
        env: the environment.

    >>> import guerdon as gd
    >>> gd.envs.demonstrated(gd.envs.by_kind({})).roles
    ()
    """

    env: Any

    def __post_init__(self) -> None:
        _showing(self.env)

    @property
    def roles(self) -> tuple[str, ...]:
        roles: tuple[str, ...] = self.env.roles
        return roles

    async def play(self, ask: Ask, seats: Seats) -> Episode:
        episode: Episode = await self.env.demonstrate(ask, seats)
        return episode


def _showing(env: Any) -> Any:
    if not isinstance(env, Shows):
        raise UserError(f"{label(env)} has no demonstrations: give it `async def demonstrate(self, ask, seats)`")
    return env
