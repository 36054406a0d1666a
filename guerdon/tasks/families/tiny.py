"""Two-line problems for a table to learn: small enough to check by eye, in every split the same few prompts."""

from __future__ import annotations

import random

from guerdon.core.part import knob, part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task


class Tiny:
    """A generated family: `make` turns a random generator and a level into a prompt and its answer."""

    level: int

    @property
    def name(self) -> str:
        return type(self).__name__

    def make(self, draw: random.Random) -> tuple[str, str]:
        raise AssertionError("every family makes its own problems")

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        prompt, answer = self.make(random.Random(derive(self.name, self.level, split, index)))
        return Task(id=prompt, prompt=prompt, answer=answer, family=self.name, level=self.level)

    def check(self, task: Task, completion: str) -> float | None:
        return float(completion == task.answer)


@part
class successor(Tiny):
    """What comes after n? `level` is the number of digits: 10 prompts at level 1, 100 at level 2.

    >>> import guerdon as gd
    >>> problem = gd.tasks.successor(level=2).get("train", 0)
    >>> problem.prompt, problem.answer
    ('after 24?', '25')
    """

    level: int = knob(default=1, ge=1, le=4)

    def make(self, draw: random.Random) -> tuple[str, str]:
        n = draw.randrange(10**self.level)
        return f"after {n}?", str(n + 1)


@part
class parity(Tiny):
    """Is n odd (1) or even (0)? One digit to say; `level` is the number of digits shown.

    >>> import guerdon as gd
    >>> problem = gd.tasks.parity(level=2).get("train", 0)
    >>> problem.prompt, problem.answer
    ('odd 85?', '1')
    """

    level: int = knob(default=1, ge=1, le=4)

    def make(self, draw: random.Random) -> tuple[str, str]:
        n = draw.randrange(10**self.level)
        return f"odd {n}?", str(n % 2)
