"""The first test that a function fails, as its author is shown it: a call, its result and the right result.

Leaves out: how calls are made (`function_checks.py`), and how models use the feedback (`tasks/field/reflections.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from guerdon.core.task import Task, kinds_of
from guerdon.tasks.code.function_checks import answers_now, function_of, right_ones
from guerdon.tasks.field.program_tests import first_failing

TESTS = "tests"  # in a task's meta: calls and what they give
LONGEST = 80  # characters of a wrong value


def first_failure(source: Any, task: Task, completion: str) -> str:
    """The first hidden test of a problem of `functions` that the program in a completion fails, or the first test of a row;
    empty where it passes all.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("functions:1", checker="plain")
    >>> problem = source.get("train", 0)
    >>> first_failure(source, problem, "def f(*a): return 'no'").split(" gives ")[1].split(",")[0]
    "'no'"
    >>> first_failure(source, problem, source.solution(problem))
    ''
    """
    if TESTS not in task.meta:
        return first_failing(task, completion)
    tests = task.meta[TESTS]
    family: Any = kinds_of(source)[task.kind] if hasattr(source, "kinds") else source
    answers = answers_now(function_of(completion), tests, family.checker)
    for is_right, answer, (arguments, wanted) in zip(right_ones(answers, tests), answers, tests, strict=True):
        if not is_right:
            return failed_call(f"f({', '.join(map(repr, arguments))})", wanted, answer)
    return ""


def failed_call(call: str, wanted: Any, gave: Sequence[Any]) -> str:
    """One line on a call that a program fails: what it gives, in a list of one, or an empty one for an error; and should give.

    >>> failed_call("f([1, 2])", 4, [1]), failed_call("f([])", 0, [])
    ('f([1, 2]) gives 1, not 4', 'f([]) ends in an error, not 0')
    """
    return f"{call} {f'gives {gave[0]!r:.{LONGEST}}' if gave else 'ends in an error'}, not {wanted!r}"
