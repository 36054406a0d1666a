"""Solutions that search: problems whose worked solutions try ways that lead elsewhere before the one that works."""

from __future__ import annotations

import random
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Task, kinds_of
from guerdon.tasks.changed_source import ChangedSource


@part
class searching(ChangedSource):
    """The problems of `source`, with worked solutions that go up to `most` other ways first (none as often as any other
    number): each way is gone to its end, and only one that ends at the target is answered with.

    For models that think longer than they must. One that imitates such solutions tries again until it is there, so that its
    answers differ in length and longer ones are right more often: what methods that shape length are about. Of families that
    can be searched (`searched(task, draw, ways)`: countdown).

    Args:
        source: where problems come from.
        most: the most wrong ways in a solution.

    >>> import guerdon as gd
    >>> long = gd.tasks.searching(gd.tasks.load("countdown:2"), most=2)
    >>> print(long.get("train", 6).prompt, long.solution(long.get("train", 6)), sep="\\n")
    countdown 4 3 9 make 10
    4+3=7 left 9 7
    9+7=16
    4-3=1 left 9 1
    9+1=10
    = 9+4-3
    """

    source: Any
    most: int = knob(default=3, ge=0)

    def __post_init__(self) -> None:
        for kind, source in kinds_of(self.source).items():
            if not hasattr(source, "searched"):
                raise UserError(f"{kind} has no search steps: use countdown")

    def __repr__(self) -> str:
        return f"searching({self.source!r}, {self.most})"

    def solution(self, task: Task) -> str:
        draw = random.Random(derive(0, f"ways {task.key}"))
        family: Any = kinds_of(self.source)[task.kind]
        return str(family.searched(task, draw, draw.randint(0, self.most)))
