"""Whom to play against: what another curriculum draws, with one of several models in the opponent's seat.

Leaves out: the models (`models/past_selves.py` keeps past selves), and choosing by who wins.
"""

from __future__ import annotations

from typing import Any

import torch

from guerdon.core.errors import UserError, unknown
from guerdon.core.part import knob, part, state
from guerdon.core.play import Play
from guerdon.core.task import Ask


@part
class against:
    """What `curriculum` draws, each ask with a model of `pool` in the seat of `role`: with a chance of `newest` the one
    whose weights have had the most updates (of equals the first), else any of them alike. Of several roles one is drawn,
    so that the model that learns plays every side.

    The tries of an ask are all against one opponent: compare them `by="ask"`. A model learns from the tracks it acted, so
    opponents' turns are not trained on unless they have a `Learn` of their own. Asks with seats of their own keep the others.
    Notes `opponent/updates`, how many updates the opponents had had on average.

    Args:
        curriculum: what draws the asks.
        pool: names of the opponents.
        role: the seat they play in, or several of which one is drawn.

    >>> import guerdon as gd
    >>> from types import SimpleNamespace as model
    >>> from guerdon.core.example import ExamplePlay
    >>> @gd.part
    ... class games:
    ...     def draw(self, n, play):
    ...         return [gd.Ask(gd.Task(str(i), "")) for i in range(n)]
    >>> class Run(ExamplePlay):
    ...     models = {"old": model(version=0), "new": model(version=3)}
    >>> [ask.seats for ask in gd.curricula.against(games(), ("old", "new"), newest=1.0).draw(2, Run())]
    [{'second': 'new'}, {'second': 'new'}]
    """

    curriculum: Any
    pool: tuple[str, ...]
    role: str | tuple[str, ...] = "second"
    newest: float = knob(default=0.5, ge=0.0, le=1.0)  # ours

    drawn: int = state(default=0)  # draws, for a step may draw twice

    def __post_init__(self) -> None:
        self.pool = tuple(self.pool)
        if not self.pool:
            raise UserError('against needs opponents: against(curriculum, ("policy_1", "policy_2"))')

    def draw(self, n: int, play: Play) -> list[Ask]:
        for name in self.pool:
            if name not in play.models:
                raise unknown("opponent", name, play.models)
        age = {name: play.models[name].version for name in self.pool}
        newest = max(self.pool, key=lambda name: age[name])
        roles = (self.role,) if isinstance(self.role, str) else tuple(self.role)
        asks: list[Ask] = self.curriculum.draw(n, play)
        dice = torch.rand(len(asks), 3, generator=play.generator("against", self.drawn), dtype=torch.float64).tolist()
        self.drawn += 1
        seated, total = [], 0
        for ask, (chance, which, side) in zip(asks, dice, strict=True):
            name = newest if chance < play.at(self.newest) else self.pool[int(which * len(self.pool))]
            seated.append(ask.but(seats={**(ask.seats or {}), roles[int(side * len(roles))]: name}))
            total += age[name]
        play.log(**{"opponent/updates": total / max(len(seated), 1)})
        return seated
