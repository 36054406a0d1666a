"""What a generated problem family is: problems with exact truth, down to the step.

A family makes problems from a seed, checks a final answer, writes a worked solution in steps,
names the first wrong step of anyone's solution, and makes near-misses: answers that look right and are not.
Solutions are text: one step a line, then a last line `= answer`.
"""

from __future__ import annotations

import abc
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.plain_wordings import in_plain_words

HELD_OUT = 5  # one problem in five, chosen by its canonical form, is never trained on
ANSWER = "= "


@dataclass(frozen=True)
class Problem:
    """A problem as its family makes it. `meta` holds what the checkers need, as JSON values.

    Args:
        prompt: the problem as text.
        answer: the right answer.
        meta: JSON values for checkers.

    >>> import guerdon as gd
    >>> problem = gd.tasks.equation(level=1).read_problem("equation x-8=8")
    >>> problem.prompt, problem.answer
    ('equation x-8=8', '16')
    """

    prompt: str
    answer: str
    meta: dict[str, Any]


@dataclass(frozen=True)
class NearMiss:
    """A whole solution that looks right and is not. `kind` names the error; `step` is the first wrong step (the number of
    steps, when the steps are right and only the answer is wrong).

    Args:
        text: the solution.
        kind: name of the error.
        step: number of the first wrong step.

    >>> import random
    >>> import guerdon as gd
    >>> family = gd.tasks.chain(level=1)
    >>> miss = family.near_misses(family.get("train", 0), random.Random(0))[0]
    >>> miss.text.splitlines(), miss.kind, miss.step
    (['4*4=16', '16*5=81', '= 81'], 'off by one', 1)
    """

    text: str
    kind: str
    step: int


class Family(abc.ABC):
    """Base of the generated families; a family is a part whose `level`, 1 to 8, sets the difficulty.

    >>> import guerdon as gd
    >>> family = gd.tasks.load("chain:1")
    >>> problem = family.get("train", 0)
    >>> isinstance(family, gd.tasks.Family), problem.prompt, family.first_wrong(problem, ["4*4=16", "16*5=81"])
    (True, 'chain 4 *4 *5', 1)
    """

    level: int

    @property
    def name(self) -> str:
        return type(self).__name__

    # --- what every family says for itself ----------------------------------------------------------------------

    @abc.abstractmethod
    def make(self, draw: random.Random) -> Problem:
        """A problem of this level."""

    @abc.abstractmethod
    def read_problem(self, prompt: str) -> Problem | None:
        """The problem a prompt states, as `make` would have given it; None unless this family could make it at this level.
        Any text may be asked about."""

    @abc.abstractmethod
    def steps(self, task: Task) -> list[str]:
        """A worked solution, a line each; the last step leaves nothing to do but say the answer."""

    @abc.abstractmethod
    def first_wrong(self, task: Task, steps: Sequence[str]) -> int | None:
        """The number of the first step that does not follow, None when all do. Any valid order is right; a step that is
        not readable is wrong; a solution that stops early has no wrong step."""

    @abc.abstractmethod
    def blunders(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Solutions with one typical error each, of several kinds; one that turns out right by chance is dropped later."""

    def right(self, task: Task, answer: str) -> bool:
        """Whether a final answer is right. Families with several right answers say so here."""
        return answer == task.answer

    def canonical(self, problem: Problem) -> str:
        """The same text for problems that are one and the same but for an order, a name or a side that does not matter: who
        has solved one has solved the other. Families in which texts can differ so say so here."""
        return problem.prompt

    def same_problem(self, task: Task, text: str) -> Problem | None:
        """The problem that a text states, if it is `task` in the same or in other words, plain ones among them; None if it is
        another problem. Families that can read more wordings than they write say so here."""
        if text == in_plain_words(task.prompt):
            return Problem(text, task.answer, task.meta)
        other = self.read_problem(text)
        same = other is not None and self.canonical(other) == self.canonical(
            Problem(task.prompt, task.answer, task.meta)
        )
        return other if same else None

    # --- what follows from that ---------------------------------------------------------------------------------

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index` of a split. A problem's canonical form decides its split, so that the two never meet, not even
        in another order."""
        draw = random.Random(derive(self.name, self.level, split, index))
        while True:
            problem = self.make(draw)
            if self.holds_out(problem) == (split == "test"):
                return Task(problem.prompt, problem.prompt, problem.answer, self.name, self.level, problem.meta)

    def holds_out(self, problem: Problem) -> bool:
        """Whether a problem is never trained on."""
        return derive(self.name, self.canonical(problem)) % HELD_OUT == 0

    def check(self, task: Task, completion: str) -> float | None:
        _, answer = read_solution(completion)
        return float(answer is not None and self.right(task, answer))

    def near_misses(self, task: Task, draw: random.Random) -> list[NearMiss]:
        """Solutions that look right and are not, at least two kinds."""
        return [miss for miss in self.blunders(task, draw) if self.check(task, miss.text) == 0.0]

    def solution(self, task: Task) -> str:
        return write_solution(self.steps(task), task.answer)


def write_solution(steps: Sequence[str], answer: str) -> str:
    """A solution as text: a step a line, then `= answer`."""
    return "\n".join([*steps, ANSWER + answer])


def read_solution(text: str) -> tuple[list[str], str | None]:
    """The steps and the answer of a solution; no answer unless the last line gives one, and only the last."""
    lines = [line.strip() for line in text.strip().split("\n")]
    if not lines or not lines[-1].startswith(ANSWER):
        return [line for line in lines if line], None
    return [line for line in lines[:-1] if line], lines[-1].removeprefix(ANSWER).strip()
