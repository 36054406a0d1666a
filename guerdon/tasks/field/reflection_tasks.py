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

from guerdon.core.batch import Batch
from guerdon.core.part import live, part
from guerdon.core.play import Play
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task, kinds_of, text_truth_later
from guerdon.core.wordings import unfilled
from guerdon.tasks.changed_source import ChangedSource
from guerdon.tasks.field import reflections
from guerdon.tasks.field.reflections import has_program, read_debugged, read_reflections
from guerdon.tasks.role_wordings import ROLE_WORDINGS, RoleWording
from guerdon.tasks.task_loading import load

EMPTY = "pass"  # a wrong program for every problem
EXPLAIN, FIX, REFLECT = (ROLE_WORDINGS[name] for name in ("explain", "fix", "reflect"))


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
        explain: how a wrong program is shown to be explained and put right, with the places {question}, {answer}, {failure}.
        fix: how it is shown to be put right alone, with the same places.

    >>> import guerdon as gd
    >>> read = gd.tasks.debugged(gd.tasks.load("functions:1"))
    >>> problem = read.get("train", 0)
    >>> read.check(problem, "? nothing is wrong\\n" + problem.answer)
    1.0
    """

    source: Any
    explain: str = EXPLAIN.knob()
    fix: str = FIX.knob()

    asked_in: RoleWording | None = live()  # the role that a program was last shown in

    def program_in(self, completion: str) -> str:
        return read_debugged(completion)[1]

    def shown_again(self, task: Task, program: str, failure: str, explain: bool) -> str:
        """A wrong program as it is shown, to be explained and put right or to be put right alone."""
        self.asked_in = EXPLAIN if explain else FIX
        wording: str = getattr(self, self.asked_in.name)
        return wording.format(question=task.prompt, answer=program, failure=failure)

    def observe(self, batch: Batch, play: Play) -> None:
        if self.asked_in is not None:
            self.asked_in.log_read(getattr(self, self.asked_in.name), map(has_program, batch.texts), play)


@part
class reflecting(ProgramsRead):
    """The problems of `source`, to be answered with a program, reflections on it and better programs, until one stands: the
    last counts. Nothing is run before it counts. A reply to learn from plants errors and finds them, with `wrong` of all first
    programs being such. `source` is a task source, or the name of one.

    A model that does not know sprig's roles is asked in plain language, and `roles/reflect/unreadable` counts replies without a
    program. Such a reply is wrong, as one without the form is.

    Args:
        source: where problems come from.
        wrong: share of first programs that have an error.
        wording: how a problem is shown, with the place {question}.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("reflecting:functions:1")
    >>> problem = source.get("train", 0)
    >>> problem.prompt.split()[0], source.check(problem, source.solution(problem))
    ('reflect', 1.0)
    """

    source: Any
    wrong: float = 0.5
    wording: str = REFLECT.knob()

    def __post_init__(self) -> None:
        if isinstance(self.source, str):
            self.source = load(self.source)

    def get(self, split: Split, index: int) -> Task:
        return self._saying(task := self.source.get(split, index), self.wording.format(question=task.prompt))

    def asked(self, task: Task) -> Task:
        question = unfilled(self.wording, task.prompt)
        return task if question is None else self._saying(task, question)

    def _saying(self, task: Task, prompt: str) -> Task:
        return dataclasses.replace(task, prompt=prompt, view=None if task.view is None else task.view.saying(prompt))

    def program_in(self, completion: str) -> str:
        return read_reflections(completion).final

    def observe(self, batch: Batch, play: Play) -> None:
        REFLECT.log_read(self.wording, map(has_program, batch.texts), play)

    def solution(self, task: Task) -> str:
        draw = random.Random(derive(0, f"reflections {task.key}"))
        ((_, reply),) = reflections.reflect(self.of(task), self.asked(task), draw, self.wrong)
        return reply
