"""The reward that runs unit tests on the program in a completion, in the sandbox.

Leaves out: the sandbox (`guerdon/sandbox`), how a program is found in text and tests are told apart (`tasks/field`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.part import part
from guerdon.core.score import Score
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.program_tests import row_tests, share_passed


@part
class unit_tests(Leaf):
    """The share of unit tests that the program in a completion passes; without `partial`, 1 for all of them and else 0.

    Tests are the task's: `test` with `entry_point` as HumanEval has them, each assert counted, or `test_list` as MBPP has it.
    Programs run in the sandbox, many at once, where nothing they print, patch or leave counts as passing; why one failed (an
    assert, a timeout, memory, a refused system call) is in the detail. A sandbox that fails is *failed*, never a 0.

    >>> import asyncio
    >>> import guerdon as gd
    >>> tests = ["assert f(2) == 4", "assert f(3) == 9"]
    >>> score = asyncio.run(gd.unit_tests()("def f(x): return x + x", test_list=tests))
    >>> score.value, score.why
    (0.5, '1 of 2 tests passed; assertion: assert f(3) == 9')
    """

    partial: bool = True

    async def __call__(
        self,
        completion: str,
        prompt: str = "",
        test: Any = "",
        entry_point: Any = "",
        test_list: Any = (),
        test_setup_code: Any = "",
    ) -> Score:
        tests = row_tests(test, entry_point, test_list, test_setup_code)
        return await share_passed(completion, prompt, tests, self.partial)
