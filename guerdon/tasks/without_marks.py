"""Problems whose last line counts as the answer, whether or not it begins with the mark of an answer."""

from __future__ import annotations

from typing import Any

from guerdon.core.part import part
from guerdon.core.task import Task
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.family import ANSWER


@part
class unmarked(ChangedSource):
    """The problems of `source`, checked leniently: a completion whose last line lacks the mark of an answer (`= `) is read as
    if it had it. Its worked solutions have none.

    For what a model knows apart from how it says it: bases that were never taught the format.

    >>> from guerdon.tasks import load
    >>> plain, strict = unmarked(load("chain:1")), load("chain:1")
    >>> task = plain.get("test", 0)
    >>> plain.solution(task), plain.check(task, plain.solution(task)), strict.check(task, plain.solution(task))
    ('7*2=14\\n14-1=13\\n13', 1.0, 0.0)
    """

    source: Any

    def __repr__(self) -> str:
        return f"unmarked({self.source!r})"

    def check(self, task: Task, completion: str) -> float | None:
        return super().check(task, completion if is_marked(completion) else marked(completion))

    def solution(self, task: Task) -> str:
        *steps, answer = str(self.source.solution(task)).split("\n")
        return "\n".join([*steps, answer.removeprefix(ANSWER)])


def is_marked(completion: str) -> bool:
    """Whether the last line says that it is an answer."""
    return completion.strip().rpartition("\n")[2].strip().startswith(ANSWER)


def marked(completion: str) -> str:
    """The same with its last line made an answer."""
    steps, newline, answer = completion.strip().rpartition("\n")
    return f"{steps}{newline}{ANSWER}{answer}"
