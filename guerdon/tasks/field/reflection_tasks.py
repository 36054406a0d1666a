"""Tasks whose replies hold programs among other lines: `reflecting`, several with reflections between them, of which the last
counts; `debugged`, one below a line on what was wrong.

Leaves out: how such replies are written and read (`reflections.py`), and the problems, which are another source's.
"""

from __future__ import annotations

import abc
import dataclasses
import random
from collections.abc import Mapping
from typing import Any

from guerdon.core.part import part
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task, kinds_of, text_truth_later
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.field import reflections
from guerdon.tasks.field.reflections import REFLECT, read_debugged, read_reflections, reflect_view
from guerdon.tasks.task_loading import load

EMPTY = "pass"  # a wrong program for every problem


class ProgramsRead(ChangedSource, abc.ABC):
    """Base of sources in whose replies one program counts."""

    @abc.abstractmethod
    def program_in(self, completion: str) -> str:
        """That program."""

    def check(self, task: Task, completion: str) -> float | None:
        verdict: float | None = self.source.check(self.asked(task), self.program_in(completion))
        return verdict

    def check_track(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return self.check(task, track["completion"])

    async def check_later(self, task: Task, completion: str) -> float | None:
        return await text_truth_later(self.source, self.asked(task), self.program_in(completion))

    async def check_track_later(self, task: Task, track: Mapping[str, Any]) -> float | None:
        return await self.check_later(task, track["completion"])

    def passed(self, task: Task, program: str) -> list[bool]:
        """Which of a problem's tests a program passes."""
        return list(self.of(task).passed(self.asked(task), program))

    def right_programs(self, task: Task) -> list[str]:
        """Those that a problem's source knows: several, or its solution."""
        of = self.of(task)
        return list(of.solutions(task)) if hasattr(of, "solutions") else [str(of.solution(task))]

    def wrong_program(self, task: Task, draw: random.Random) -> tuple[str, str]:
        """One with a planted error, and what is wrong with it; an empty one where no errors are known."""
        of = self.of(task)
        if not hasattr(of, "near_misses"):
            return EMPTY, ""
        miss = of.near_misses(task, draw)[0]
        return miss.text, str(of.explain(task, miss))

    def asked(self, task: Task) -> Task:
        """The problem as its own source asks it."""
        return task

    def of(self, task: Task) -> Any:
        """The source that knows all about a problem, where several are mixed."""
        return kinds_of(self.source)[task.kind]


@part
class debugged(ProgramsRead):
    """The problems of `source`, answered with a program that a line on what was wrong may stand above: the program counts.

    Args:
        source: where problems come from.

    >>> import guerdon as gd
    >>> read = gd.tasks.debugged(gd.tasks.load("functions:1"))
    >>> problem = read.get("train", 0)
    >>> read.check(problem, "? nothing is wrong\\n" + problem.answer)
    1.0
    """

    source: Any

    def program_in(self, completion: str) -> str:
        return read_debugged(completion)[1]


@part
class reflecting(ProgramsRead):
    """The problems of `source`, to be answered with a program, reflections on it and better programs, until one stands: the
    last counts. Nothing is run before it counts. A reply to learn from plants errors and finds them, with `wrong` of all first
    programs being such. `source` is a task source, or the name of one.

    Args:
        source: where problems come from.
        wrong: share of first programs that have an error.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("reflecting:functions:1")
    >>> problem = source.get("train", 0)
    >>> problem.prompt.split()[0], source.check(problem, source.solution(problem))
    ('reflect', 1.0)
    """

    source: Any
    wrong: float = 0.5

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            self.source = load(self.source)

    def get(self, split: Split, index: int) -> Task:
        task: Task = self.source.get(split, index)
        return dataclasses.replace(task, prompt=reflect_view(task.prompt))

    def asked(self, task: Task) -> Task:
        return dataclasses.replace(task, prompt=task.prompt.removeprefix(REFLECT + "\n"))

    def program_in(self, completion: str) -> str:
        return read_reflections(completion).final

    def solution(self, task: Task) -> str:
        draw = random.Random(derive(0, f"reflections {task.key}"))
        ((_, reply),) = reflections.reflect(self.of(task), self.asked(task), draw, self.wrong)
        return reply
