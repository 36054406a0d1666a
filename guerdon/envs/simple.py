"""The two simplest environments: one prompt and one answer, sampled or from a data set."""

from __future__ import annotations

from guerdon.core.episode import Episode
from guerdon.core.part import part
from guerdon.core.play import Seats, one_turn, seats_alone
from guerdon.core.task import Ask


@part
class single_turn:
    """One prompt, one sampled answer.

    Args:
        role: the role that acts.

    >>> import guerdon as gd
    >>> gd.envs.single_turn().roles, gd.envs.single_turn("critic").roles
    (('policy',), ('critic',))
    """

    role: str = "policy"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @one_turn
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        await seats[self.role].act(ask.shown)
        return seats.episode()


@part(was="recital")
class dataset_env:
    """A data set as an environment: the role is shown the prompt and teacher-forced on the task's answer; nothing is sampled.

    Args:
        role: the role that is teacher-forced.

    >>> import guerdon as gd
    >>> gd.envs.dataset_env().roles
    ('policy',)
    """

    role: str = "policy"

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.role,)

    @seats_alone
    async def play(self, ask: Ask, seats: Seats) -> Episode:
        seats[self.role].teacher_force(ask.shown, ask.task.answer)
        return seats.episode()
