"""Which of its tests an untrusted function passes: called in one box, judged outside of it.

What a call should give never enters the box, so that a program cannot forge it. A program that one call of does not end, or
that takes its process down, passes no test; a sandbox that failed is neither right nor wrong (`SandboxBroke`).
Leaves out: functions that need no box (`field/plain_python.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from guerdon.sandbox.limits import Limits
from guerdon.sandbox.ran_program import Ran
from guerdon.sandbox.sandbox_pool import shared_sandbox
from guerdon.sandbox.shared_questions import is_small, shared_questions
from guerdon.tasks.field.plain_python import Endless, Unsupported, called_plainly, calls_plainly
from guerdon.tasks.field.program_tests import judged
from guerdon.tasks.field.program_text import program_of

Checker = Literal["sandbox", "plain"]
Test = Sequence[Any]  # arguments, and what they should give
LIMITS = Limits(cpu=1.0, wall=20.0)
ENTRY = "f"
KNOWN = 4096  # programs whose answers are remembered
LONGEST = 10_000  # elements, letters and bits of what is taken as an answer
CALLS = """


def answers_to_all_calls(calls):
    def is_plain(value):
        if type(value) is int:
            return value.bit_length() <= LONGEST
        return type(value) in (bool, float, type(None)) or type(value) is str and len(value) <= LONGEST

    answers = []
    for arguments in calls:
        try:
            value = f(*arguments)
            if is_plain(value) or type(value) is list and len(value) <= LONGEST and all(map(is_plain, value)):
                answers.append([value])
                continue
        except Exception:
            pass
        answers.append([])
    return answers
""".replace("LONGEST", str(LONGEST))

_known: dict[tuple[str, str], list[Any]] = {}  # what programs that need no box gave, by program and calls


def function_of(completion: str) -> str:
    """The program that a completion writes, with the function in it."""
    return program_of(completion, "", ENTRY)


def passed_now(program: str, tests: Sequence[Test], checker: Checker = "sandbox") -> list[bool]:
    """Which tests a program passes, in their order. A test is a pair: arguments, and what they should give.

    >>> from guerdon.tasks.code.function_checks import passed_now
    >>> passed_now("def f(x): return 1 // x", [[[1], 1], [[0], 0], [[2], 0]])
    [True, False, True]
    """
    return right_ones(answers_now(program, tests, checker), tests)


def all_passed_now(program: str, tests: Sequence[Test], checker: Checker = "sandbox") -> bool:
    """Whether a program passes every test: without a box the first that it fails decides.

    >>> from guerdon.tasks.code.function_checks import all_passed_now
    >>> all_passed_now("def f(x): return 1 // x", [[[1], 1], [[0], 0]], "plain")
    False
    """
    if checker == "plain":
        if (known := _known.get(_key(program, tests))) is not None:
            return all(right_ones(known, tests))
        try:
            answers = calls_plainly(program, ENTRY, [test[0] for test in tests])
            return all(answer == [test[1]] for answer, test in zip(answers, tests, strict=True))
        except Unsupported:
            pass
        except Endless:
            return False
    return all(passed_now(program, tests))


def answers_now(program: str, tests: Sequence[Test], checker: Checker = "sandbox") -> list[Any]:
    """What a program gives to the calls of tests, each in a list of one, empty where a call gives nothing."""
    answers = _plainly(program, tests) if checker == "plain" else None
    if answers is None:
        answers = _heard(shared_sandbox().call_now(*_asked(program, tests), limits=LIMITS), len(tests))
    return answers


async def passed_later(program: str, tests: Sequence[Test], checker: Checker = "sandbox") -> list[bool]:
    """The same, for a caller that can await: many boxes run at once."""
    return right_ones(await answers_later(program, tests, checker), tests)


async def answers_later(program: str, tests: Sequence[Test], checker: Checker = "sandbox") -> list[Any]:
    """What a program's function gives for the arguments of each test: a list of one, or an empty one where it gives nothing."""
    answers = _plainly(program, tests) if checker == "plain" else None
    if answers is None:
        answers = _heard(await shared_questions().call(*_asked(program, tests), limits=LIMITS), len(tests))
    return answers


def _asked(program: str, tests: Sequence[Test]) -> tuple[str, list[dict[str, Any]], str]:
    return program + CALLS, [{"calls": [list(test[0]) for test in tests]}], "answers_to_all_calls"


def _heard(ran: Ran, count: int) -> list[Any]:
    """What each call gave, in a list of one, empty where it gave nothing."""
    if not judged(ran) or not isinstance(ran.value, list) or len(ran.value) != 1:
        return [[]] * count
    answers = ran.value[0]
    if not isinstance(answers, list) or len(answers) != count:
        return [[]] * count
    return answers


def _plainly(program: str, tests: Sequence[Test]) -> list[Any] | None:
    """The same without a box; None where that cannot be. What is asked again, as a reward and as the truth, is known."""
    key = _key(program, tests)
    known = _known.get(key)  # at once: another thread may clear it
    if known is not None:
        return known
    try:
        answers = called_plainly(program, ENTRY, [test[0] for test in tests])
    except Unsupported:
        return None
    except Endless:
        answers = [[]] * len(tests)
    if is_small(answers):
        if len(_known) >= KNOWN:
            _known.clear()
        _known[key] = answers
    return answers


def _key(program: str, tests: Sequence[Test]) -> tuple[str, str]:
    return program, repr([test[0] for test in tests])


def right_ones(answers: Sequence[Any], tests: Sequence[Test]) -> list[bool]:
    """Which of the answers are what the tests expect. Any shape may come out of a box."""
    return [
        isinstance(answer, list) and len(answer) == 1 and bool(answer[0] == test[1])
        for answer, test in zip(answers, tests, strict=True)
    ]
