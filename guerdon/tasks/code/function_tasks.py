"""Small Python functions from a specification, judged by hidden unit tests.

What a function does, not how that is said, decides whether it is held out (`function_compositions.py`). Making a problem runs
nothing that a model wrote and needs no sandbox: what its tests expect comes from our own callables.
Leaves out: how a program is judged (`function_checks.py`), the programs (`function_programs.py`, `function_faults.py`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

from guerdon.core.part import knob, part
from guerdon.core.score import Score
from guerdon.core.seeds import derive
from guerdon.core.task import Split, Task
from guerdon.tasks.code.function_checks import Checker, Test, all_passed_now, function_of, passed_later, passed_now
from guerdon.tasks.code.function_compositions import (
    Composition,
    acts,
    behaviour,
    composition_of,
    drawn_composition,
    is_sound,
)
from guerdon.tasks.code.function_faults import FaultyProgram, planted_errors
from guerdon.tasks.code.function_programs import STYLES, as_expression, in_loops, text_of
from guerdon.tasks.code.function_sources import LAST
from guerdon.tasks.family import HELD_OUT
from guerdon.tasks.field.plain_python import Endless, called_plainly

NAME = "functions"
PLACES = (*range(LAST + 1), LAST - 1, LAST)  # of tests, from easy to hard
DULL: tuple[Any, ...] = (0, [], "", False, 1)  # what says little as an example


@part
class functions:
    r"""Small functions over numbers, words and lists from a specification in plain words; a program is right if it passes all
    hidden tests.

    By level one operation, two, and so on to six; rarer ones and text from level 3, a second argument or a number from
    level 4, two lists from level 5. Twelve tests, from an empty list to long ones: some that nearly any program passes, some
    that only a right one does. The program is the last fenced block of a completion that defines `f`, else all of it.
    `checker` is where programs run: "sandbox", or "plain", which evaluates what it knows without running it and sends the
    rest to the sandbox.

    Args:
        checker: where programs run.

    >>> import guerdon as gd
    >>> family = gd.tasks.functions(level=2)
    >>> problem = family.get("train", 2)
    >>> print(problem.prompt)
    define f(xs). take the last 2; last return true if one of them is more than 3, else false.
    f([10, 10, -3, 4]) == True
    f([-3, -2, 5, -3, -2, -3]) == False
    >>> family.passed(problem, "def f(xs):\n return False").count(True), family.check(problem, family.solution(problem))
    (5, 1.0)
    """

    level: int = knob(default=1, ge=1, le=8)
    checker: Checker = knob(default="sandbox", choices=("sandbox", "plain"))

    @property
    def name(self) -> str:
        return NAME

    def size(self, split: Split) -> int | None:
        return None

    def get(self, split: Split, index: int) -> Task:
        """Problem number `index`. What its function does decides its split; wording, examples and tests do not."""
        draw = random.Random(derive(NAME, self.level, split, index))
        while True:
            composition = drawn_composition(draw, self.level)
            if not acts(composition):
                continue
            values = behaviour(composition)
            if is_held_out(composition, values) == (split == "test") and is_sound(values):
                break
        shown = _shown(composition, draw)
        tests = [_test(composition, composition.source.draw(draw, place)) for place in PLACES]
        prompt = "\n".join([composition.said(draw), *(written_test(test) for test in shown)])
        meta = {**composition.told(), "shown": shown, "tests": tests}
        return Task(f"{index}-{derive(prompt, str(tests)) % (1 << 32):08x}", prompt, text_of(as_expression(composition)), NAME,
            self.level, meta)  # fmt: skip

    def check(self, task: Task, completion: str) -> float | None:
        return float(all_passed_now(function_of(completion), task.meta["tests"], self.checker))

    @property
    def checks_later(self) -> bool:
        return self.checker == "sandbox"

    async def check_later(self, task: Task, completion: str) -> float | None:
        return float(all(await self.passed_later(task, completion)))

    def passed(self, task: Task, completion: str) -> list[bool]:
        """Which of the hidden tests the program in a completion passes, in their order."""
        return passed_now(function_of(completion), task.meta["tests"], self.checker)

    async def passed_later(self, task: Task, completion: str) -> list[bool]:
        """The same, for a caller that can await: many programs run at once."""
        return await passed_later(function_of(completion), task.meta["tests"], self.checker)

    def solution(self, task: Task) -> str:
        """The right program, with loops."""
        return text_of(in_loops(composition_of(task.meta)))

    def solutions(self, task: Task) -> list[str]:
        """Right programs of several lengths and styles, no two the same: loops, a line a step, and one expression."""
        composition = composition_of(task.meta)
        return list(dict.fromkeys(text_of(write(composition)) for write in STYLES.values()))

    def near_misses(self, task: Task, draw: random.Random) -> list[FaultyProgram]:
        """Programs with one planted error each, that fail a hidden test."""
        misses = failing_faults(task, draw, draw.choice(sorted(STYLES)))
        if len({miss.kind for miss in misses}) < 2:
            misses += failing_faults(task, draw, "loops")
        draw.shuffle(misses)
        return misses

    def explain(self, task: Task, fault: FaultyProgram) -> str:
        """What is wrong with a program from `near_misses`, in one line."""
        return fault.says


def failing_faults(task: Task, draw: random.Random, style: str) -> list[FaultyProgram]:
    """Programs of one style with one planted error each, that fail a hidden test of the task's."""
    tests = task.meta["tests"]
    return [
        fault
        for fault, meant in planted_errors(composition_of(task.meta), draw, style)
        if (_fails(meant, tests) if meant is not None else fails_plainly(fault.text, tests))
    ]


def is_held_out(composition: Composition, values: list[Any]) -> bool:
    """Whether what it does, its behaviour, is never trained on."""
    return derive(NAME, composition.source.takes, str(values)) % HELD_OUT == 0


def written_test(test: Test) -> str:
    """A test as it is shown: a call and what it gives."""
    return f"f({', '.join(map(repr, test[0]))}) == {test[1]!r}"


def _test(composition: Composition, arguments: list[Any]) -> list[Any]:
    return [arguments, composition.run(arguments)]


def _shown(composition: Composition, draw: random.Random) -> list[list[Any]]:
    """One or two informative examples."""
    shown: list[list[Any]] = []
    wanted, place = draw.choice((1, 2)), 4
    for tries in range(8):
        test = _test(composition, composition.source.draw(draw, place + tries % 2))
        if (test[1] not in DULL or tries >= 4) and test not in shown:
            shown.append(test)
        if len(shown) == wanted:
            break
    return shown or [_test(composition, composition.source.draw(draw, 3))]


def _fails(composition: Composition, tests: Sequence[Test]) -> bool:
    return any(composition.run(arguments) != value for arguments, value in tests)


def fails_plainly(program: str, tests: Sequence[Test]) -> bool:
    """A program of our own, evaluated."""
    try:
        answers = called_plainly(program, "f", [arguments for arguments, _ in tests])
    except Endless:
        return True
    return any(answer != [value] for answer, (_, value) in zip(answers, tests, strict=True))


async def score_by_tests(program: str, tests: Sequence[Test], checker: Checker = "sandbox") -> Score:
    """The share of tests that a program passes, and which."""
    passed = await passed_later(program, tests, checker)
    why = f"{sum(passed)} of {len(passed)} tests passed"
    return Score(
        sum(passed) / len(passed), why=why, parts={f"test {at}": float(each) for at, each in enumerate(passed)}
    )
