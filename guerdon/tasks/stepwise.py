"""The step checker of a task: its family, or its families where it mixes several.

Leaves out: tasks whose steps cannot be checked, which are refused.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import part
from guerdon.core.task import Split, Task, TaskSource, kinds_of
from guerdon.tasks.family import Family, NearMiss, Problem


def by_steps(task: Any) -> Family:
    """The task as a family, whose `first_wrong` checks every line: a family itself, and a mixture of families (`equation:6-7`)
    as one that asks the family a problem came from. Any other is refused.

    Args:
        task: a family, or a mixture of families.

    >>> import guerdon as gd
    >>> both = gd.tasks.by_steps(gd.tasks.load("chain:1-2"))
    >>> problem = both.get("train", 0)
    >>> problem.prompt, both.first_wrong(problem, ["4*4=16", "16*5=81"])
    ('chain 4 *4 *5', 1)
    """
    if isinstance(task, Family):
        return task
    if not has_steps(task):
        name = getattr(task, "name", repr(task))
        raise UserError(f"{name} has no step checker: choose a generated family (guerdon list tasks)")
    return mixed_families(task)


def has_steps(task: Any) -> bool:
    """Whether every line of a solution can be checked: of a family, and of a mixture of families.

    Args:
        task: the source.

    >>> import guerdon as gd
    >>> gd.tasks.has_steps(gd.tasks.load("chain:1-2")), gd.tasks.has_steps(gd.tasks.load("parity"))
    (True, False)
    """
    if isinstance(task, Family):
        return True
    kinds = kinds_of(task).values() if hasattr(task, "kinds") else ()
    return bool(kinds) and all(isinstance(source, Family) for source in kinds)


@part
class mixed_families(Family):
    """A mixture of families as one family: everything is asked of the family that a problem came from. `by_steps` makes it."""

    mixture: Any

    @property
    def name(self) -> str:
        return str(self.mixture.name)

    def __repr__(self) -> str:
        return repr(self.mixture)

    def kinds(self) -> Mapping[str, TaskSource]:
        return kinds_of(self.mixture)

    def of(self, task: Task) -> Family:
        """The family a problem came from."""
        family: Family = self.mixture.of(task)
        return family

    def size(self, split: Split) -> int | None:
        size: int | None = self.mixture.size(split)
        return size

    def get(self, split: Split, index: int) -> Task:
        task: Task = self.mixture.get(split, index)
        return task

    def make(self, draw: random.Random) -> Problem:
        source: Any = draw.choice(list(self.kinds().values()))
        problem: Problem = source.make(draw)
        return problem

    def read_problem(self, prompt: str) -> Problem | None:
        every: list[Any] = list(self.kinds().values())
        return next((problem for source in every if (problem := source.read_problem(prompt)) is not None), None)

    def steps(self, task: Task) -> list[str]:
        return self.of(task).steps(task)

    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        return self.of(task).first_wrong(task, steps)

    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        return self.of(task).blunders(task, draw)

    def right(self, task: Task, answer: str) -> bool:
        return self.of(task).right(task, answer)

    def check(self, task: Task, completion: str) -> float | None:
        return self.of(task).check(task, completion)

    def solution(self, task: Task) -> str:
        return self.of(task).solution(task)
