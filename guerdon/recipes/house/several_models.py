"""Several models that answer the same problems: what recipes of votes and of pairs across models have in common. No recipe."""

from __future__ import annotations

from typing import Any

from guerdon.core.part import part
from guerdon.core.play import Play
from guerdon.core.task import Ask

MEMBER = "member"  # in an ask's note: the model that was asked


@part
class asked_of_each:
    """The problems of a curriculum, each asked of every one of several models; an ask notes which, `member`. There are as many
    asks as without it, so fewer problems.

    >>> import guerdon as gd
    >>> from guerdon.core.example import ExamplePlay
    >>> each = asked_of_each(gd.curricula.uniform(gd.tasks.load("chain:1"), tries=2), ("policy", "second"))
    >>> [(ask.shown, ask.seats) for ask in each.draw(2, ExamplePlay())]
    [('chain 4 *4 *5', {'policy': 'policy'}), ('chain 4 *4 *5', {'policy': 'second'})]
    """

    curriculum: Any
    members: tuple[str, ...]

    def draw(self, n: int, play: Play) -> list[Ask]:
        asks = self.curriculum.draw(max(n // len(self.members), 1), play)
        return [ask.but(seats={"policy": m}, note={**ask.note, MEMBER: m}) for ask in asks for m in self.members]
