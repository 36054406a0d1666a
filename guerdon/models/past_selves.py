"""Past selves of a model to play against: copies that are renewed in turn, so that each has another age."""

from __future__ import annotations

from typing import Any

from guerdon.core.batch import Batch
from guerdon.core.errors import UserError
from guerdon.core.model import Model
from guerdon.core.part import knob, part
from guerdon.models.frozen_copy import snapshot


@part
class past_self(snapshot):
    """One of `turns` copies of a model: each `every`-th step one of them is renewed, this one in its `turn`.

    A pool of them is `pool(...)`; whom to play against is `curricula/opponents.py`.
    """

    turn: int = knob(default=0, ge=0)
    turns: int = knob(default=1, ge=1)

    def observe(self, batch: Batch, play: Any) -> None:
        rounds, left = divmod(play.step + 1, self.every)
        if left == 0 and (rounds - 1) % self.turns == self.turn:
            self.refresh()


def pool(of: str, keep: int = 4, every: int = 20) -> dict[str, Model]:
    """`keep` past selves of the model `of`, by name: `{"policy": m, **pool("policy")}` has `policy_1` to `policy_4`.

    After each `every`-th step one of them, in turn, becomes the model as it is then: they are never older than `keep` times
    `every` steps, and all of them are as it was at the start until their first turn. Weights and ages go to the checkpoint.

    Args:
        of: name of the model.
        keep: number of past selves.
        every: steps between two renewals.

    >>> import guerdon as gd
    >>> list(gd.models.pool("policy", keep=2, every=10).items())
    [('policy_1', past_self(of='policy', every=10, turns=2)), ('policy_2', past_self(of='policy', every=10, turn=1, turns=2))]
    """
    if keep < 1 or every < 1:
        raise UserError(f"a pool keeps at least one past self and copies one at least every step, not {keep}, {every}")
    return {f"{of}_{n + 1}": past_self(of, every, n, keep) for n in range(keep)}
