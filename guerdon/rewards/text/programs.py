"""Rewards that run unit tests on the program in a completion, in the sandbox: all tests, or the share that passes.

Leaves out: the sandbox (`guerdon/sandbox`), how a program is found in text and tests are separated (`tasks/field`), how
programs are run (`tasks/code`).
"""

from __future__ import annotations

from typing import Any

from guerdon.core.errors import UserError
from guerdon.core.part import fingerprint, part
from guerdon.core.score import Score
from guerdon.core.task import Task, kinds_of
from guerdon.rewards.asking.function import Leaf
from guerdon.tasks.field.program_tests import row_tests, share_passed


@part
class unit_tests(Leaf):
    """The share of unit tests that the program in a completion passes; without `partial`, 1 for all of them and else 0.

    Tests are the task's: `test` with `entry_point` as HumanEval has them, each assert counted, or `test_list` as MBPP has it.
    Programs run in the sandbox, many at once, where nothing they print, patch or leave counts as passing; why one failed (an
    assert, a timeout, memory, a refused system call) is in the detail. A sandbox that fails is *failed*, never a 0.

    Args:
        partial: pay the share of tests that pass.

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


@part
class tests_passed(Leaf):
    """The share of a problem's hidden tests that a completion passes; its `parts` are the tests, 1 or 0 each, for rewards that
    look at them one by one (`by_rarity`).

    `source` is where problems come from and who runs the tests: `gd.tasks.functions`, a mixture of its levels, or any source
    with `passed_later(task, completion)`, a list of bools, as long for every try at a problem. Many are run at once. A sandbox
    that fails is *failed*, never a 0.

    Args:
        source: the source that runs the tests.

    >>> import guerdon as gd
    >>> source = gd.tasks.load("functions:1")
    >>> problem = source.get("train", 0)
    >>> said = [{"task": problem, "completion": text} for text in (source.solution(problem), "no program")]
    >>> gd.score_samples(gd.rewards.tests_passed(source), said).whole
    [1.0, 0.0]
    """

    source: Any

    def __post_init__(self) -> None:
        lacking = [kind for kind, source in kinds_of(self.source).items() if not hasattr(source, "passed_later")]
        if lacking:
            raise UserError(
                f"{lacking[0]} has no separate test cases: choose functions:3, or a source with passed_later"
            )

    def meant(self) -> dict[str, Any]:
        """For the hash: a source is replaced by its problems."""
        return {"source": fingerprint(self.source)}

    async def __call__(self, task: Task, completion: str) -> Score:
        source = self.source.of(task) if hasattr(self.source, "of") else self.source
        passed = await source.passed_later(task, completion)
        why = f"{sum(passed)} of {len(passed)} tests passed"
        return Score(
            sum(passed) / len(passed), why=why, parts={str(n): float(is_so) for n, is_so in enumerate(passed, 1)}
        )
