"""Programs tested by unit tests, in the sandbox: one verdict, or how many of the tests were passed.

Tests run in another process than the program, which can neither see nor forge them (`guerdon/sandbox`).
Leaves out: which text is the program (`program_text.py`), and rows of files (`program_rows.py`).
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.score import Score
from guerdon.core.task import Task
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.ran_program import Cause, Ran
from guerdon.sandbox.sandbox_pool import shared_sandbox
from guerdon.sandbox.shared_questions import shared_questions
from guerdon.tasks.field.program_text import program_of, single_tests

COLUMNS = ("test", "entry_point", "test_list", "test_setup_code")  # of a row
LIMITS = Limits(cpu=3.0, wall=20.0)  # the clock is generous: a busy machine is not the program's fault
ONE_TEST = Limits(cpu=1.0, wall=20.0)


class SandboxBroke(Exception):
    """The sandbox, or the tests themselves, failed: the program is neither right nor wrong."""


@dataclass(frozen=True)
class UnitTests:
    """The tests of a row: HumanEval's `check(candidate)` with its entry point, or MBPP's list of asserts and their setup."""

    test: str = ""
    entry: str = ""
    listed: tuple[str, ...] = ()
    setup: str = ""

    @property
    def source(self) -> str:
        """All tests, as the sandbox takes them."""
        return "\n".join([self.setup, *self.listed]) if self.listed else self.test


def row_tests(test: Any = "", entry_point: Any = "", test_list: Any = (), test_setup_code: Any = "") -> UnitTests:
    """The tests of a row by its columns, which HumanEval's and MBPP's rows have."""
    if isinstance(test_list, str):
        raise UserError("test_list must be a list of asserts, as MBPP has it; one text with all tests goes into `test`")
    setup = str(test_setup_code or "")
    tests = UnitTests(str(test or ""), str(entry_point or ""), tuple(str(each) for each in test_list or ()), setup)
    if not tests.test.strip() and not tests.listed:
        raise UserError("a row has no unit tests: it needs a column `test` (with `entry_point`) or `test_list`")
    return tests


def passes_tests(
    completion: str,
    prompt: str = "",
    test: Any = "",
    entry_point: Any = "",
    test_list: Any = (),
    test_setup_code: Any = "",
) -> float:
    """1 if the program in a completion passes all of a row's tests, else 0.

    >>> from guerdon.tasks.field.program_tests import passes_tests
    >>> passes_tests("def f(x): return 2 * x", test_list=["assert f(2) == 4"])
    1.0
    >>> passes_tests("print('passed'); import os; os._exit(0)", test_list=["assert f(2) == 4"])
    0.0
    """
    program, tests, entry = _asked(completion, prompt, test, entry_point, test_list, test_setup_code)
    return float(judged(shared_sandbox().check_now(program, tests, entry, limits=LIMITS)))


async def passes_tests_later(
    completion: str,
    prompt: str = "",
    test: Any = "",
    entry_point: Any = "",
    test_list: Any = (),
    test_setup_code: Any = "",
) -> float:
    """The same, for a caller that can await: many programs run at once."""
    program, tests, entry = _asked(completion, prompt, test, entry_point, test_list, test_setup_code)
    return float(judged(await shared_questions().check(program, tests, entry, limits=LIMITS)))


def each_passed(task: Task, completion: str) -> list[bool]:
    """Which of the tests of a row's problem the program in a completion passes, each run alone, in their order.

    >>> from guerdon.core.task import Task
    >>> from guerdon.tasks.field.program_tests import each_passed
    >>> problem = Task("1", "Double.", meta={"test_list": ["assert f(2) == 4", "assert f(3) == 9"]})
    >>> each_passed(problem, "def f(x): return 2 * x")
    [True, False]
    """
    program, entry, singles = _one_by_one(task, completion)
    return [judged(shared_sandbox().check_now(program, each, entry, limits=ONE_TEST)) for each in singles]


def first_failing(task: Task, completion: str) -> str:
    """The first of the tests of a row's problem that the program in a completion fails; empty where it passes all."""
    failed = [
        test
        for test, is_so in zip(_one_by_one(task, completion)[2], each_passed(task, completion), strict=True)
        if not is_so
    ]
    return f"{failed[0]} fails" if failed else ""


async def each_passed_later(task: Task, completion: str) -> list[bool]:
    """The same, for a caller that can await: many programs run at once."""
    program, entry, singles = _one_by_one(task, completion)
    boxes = shared_questions()
    return [
        judged(ran)
        for ran in await asyncio.gather(*(boxes.check(program, each, entry, limits=ONE_TEST) for each in singles))
    ]


def _one_by_one(task: Task, completion: str) -> tuple[str, str, Sequence[str]]:
    """The program, its entry, and the tests of a row, each in a text of its own; all of them in one where they cannot be
    separated."""
    tests = row_tests(*(task.meta.get(name, "") for name in COLUMNS))
    singles = single_tests(tests.test, tests.listed, tests.setup) or [tests.source]
    return program_of(completion, task.prompt, tests.entry), tests.entry, singles


def _asked(completion: str, prompt: str, *columns: Any) -> tuple[str, str, str]:
    """The program in a completion, the tests of a row's columns, and the name of the function that they are about."""
    tests = row_tests(*columns)
    return program_of(completion, prompt, tests.entry), tests.source, tests.entry


def judged(ran: Ran) -> bool:
    """Whether a program passed; raises where that cannot be said."""
    if ran.cause is Cause.BROKEN:
        raise SandboxBroke(ran.error)
    return ran.ok


async def share_passed(completion: str, prompt: str, tests: UnitTests, partial: bool) -> Score:
    """How many of the tests a completion's program passes, as a share, and why not all; without `partial`, all or nothing."""
    boxes, program = shared_questions(), program_of(completion, prompt, tests.entry)
    ran = await boxes.check(program, tests.source, tests.entry, limits=LIMITS)
    if judged(ran):
        return Score(1.0, why="all tests passed")
    why = f"{ran.cause}: {ran.error}"
    singles: Sequence[str] = single_tests(tests.test, tests.listed, tests.setup) if partial else ()
    if len(singles) < 2:
        return Score(0.0, why=why)
    each = await asyncio.gather(*(boxes.check(program, one, tests.entry, limits=ONE_TEST) for one in singles))
    passed = sum(judged(one) for one in each)
    # All asserts alone may pass where together they do not: a program that counts its calls is not right.
    return Score(min(passed, len(singles) - 1) / len(singles), why=f"{passed} of {len(singles)} tests passed; {why}")
