"""Several solutions of one problem in one episode: a data set of contrasts as an environment."""

from __future__ import annotations

from guerdon.core.episode import Episode
from guerdon.core.part import knob, part
from guerdon.core.play import Seats, seats_alone
from guerdon.core.task import Ask


@part
class side_by_side:
    """Each of the solutions an ask brings (`note["say"]`) is recited from the start, as a track of its own; then the role
    tries `tries` times itself.

    Args:
        tries: sampled tries beside the given solutions.
        role: the role that acts.

    >>> import guerdon as gd
    >>> gd.envs.side_by_side(tries=2).roles
    ('policy',)
    """

    tries: int = knob(default=0, ge=0)
    role: str = "policy"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        for text in ask.note["say"]:
            seats[self.role].teacher_force(ask.shown, text, fresh=True)
        for _ in range(self.tries):  # one after the other, so that their order is always the same
            await seats[self.role].act(ask.shown, fresh=True)
        return seats.episode()
