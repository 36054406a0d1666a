"""Functions from a specification: promises, programs of every style, planted errors, hand-written cases and the split."""

from __future__ import annotations

import asyncio
import doctest
import random
import re
from pathlib import Path

import pytest
from scheduling import mostly_slow

import guerdon as gd
from guerdon.sandbox.ran_program import broken
from guerdon.sandbox.sandbox_pool import SandboxPool
from guerdon.tasks.code import function_checks
from guerdon.tasks.code.function_checks import passed_later, passed_now
from guerdon.tasks.code.function_compositions import OPERATIONS, Composition, behaviour, composition_of
from guerdon.tasks.code.function_operations import Step
from guerdon.tasks.code.function_programs import STYLES, text_of
from guerdon.tasks.code.function_sources import SOURCES
from guerdon.tasks.code.function_tasks import score_by_tests
from guerdon.tasks.field.program_tests import SandboxBroke

LEVELS = range(1, 9)


def composed(source, *steps):
    return Composition(SOURCES[source], tuple(Step(OPERATIONS[name], k) for name, k in steps))


@pytest.mark.parametrize(
    ("source", "steps", "arguments", "gives"),
    [
        ("list", [("even", None), ("square", None), ("sum", None)], [[1, 2, 3, 4]], 20),
        ("list", [("above", 3), ("count", None)], [[3, 4, 5, -9]], 2),
        ("list", [("largest", None)], [[]], 0),
        ("list", [("largest", None)], [[-4, -2]], -2),
        ("list", [("differences", None), ("absolute", None), ("largest", None)], [[5, 1, 8]], 7),
        ("list", [("digit_sum", None)], [[-19, 205, 0]], [10, 7, 0]),
        ("list", [("odd", None)], [[-3, -2, 0, 7]], [-3, 7]),
        ("list", [("running_sum", None), ("last_few", 2)], [[1, 2, 3, 4]], [6, 10]),
        ("list", [("distinct", None), ("product", None)], [[2, 3, 2, 3]], 6),
        ("list", [("commonest", None)], [[4, 1, 1, 4, 2]], 4),
        ("list", [("alternating", None)], [[9, 4, 1]], 6),
        ("list", [("mean", None)], [[-1, -2]], -2),
        ("list", [("quotient", 3)], [[-7, 7]], [-3, 2]),
        ("list", [("product", None)], [[]], 1),
        ("list_and_number", [("multiples", "k"), ("minus", "k")], [[3, 4, 6], 3], [0, 3]),
        ("words", [("longer", 3), ("initial", None), ("joined", None)], ["the cold river ran"], "cr"),
        ("words", [("length", None), ("sum", None)], ["a bee  far"], 7),
        ("words", [("longest", None)], ["one two three stone"], "three"),
        ("letters", [("vowels", None), ("count", None)], ["guerdon"], 3),
        ("letters", [("changed", None), ("joined", None)], ["aabba"], "aba"),
        ("letters", [("place", None), ("spread", None)], ["bad"], 3),
        ("digits", [("even", None), ("sum", None)], [2047], 6),
        ("divisors", [("not_last", None), ("sum", None)], [28], 28),
        ("up_to", [("multiples", 3), ("count", None)], [0], 0),
        ("sums", [("positive", None)], [[1, -5, 9], [1, 2]], [2]),
        ("missing", [("smallest", None)], [[3, 1, 2], [1, 7]], 2),
    ],
)
def test_compositions_by_hand(source, steps, arguments, gives):
    """What a composition does, and what each of its programs does in the box."""
    composition = composed(source, *steps)
    assert composition.run(arguments) == gives
    for write in STYLES.values():
        assert passed_now(text_of(write(composition)), [[arguments, gives]]) == [True], text_of(write(composition))


def test_programs_are_written_as_by_hand():
    composition = composed("list", ("even", None), ("square", None), ("sum", None))
    loops = "def f(xs):\n total = 0\n for x in xs:\n  if x % 2 == 0:\n   total += x * x\n return total"
    steps = "def f(xs):\n xs = [x for x in xs if x % 2 == 0]\n xs = [x * x for x in xs]\n return sum(xs)"
    expression = "def f(xs):\n return sum(x * x for x in xs if x % 2 == 0)"
    assert {name: text_of(write(composition)) for name, write in STYLES.items()} == {
        "loops": loops,
        "steps": steps,
        "expression": expression,
    }


def test_it_keeps_its_promises():
    gd.check_task(gd.tasks.functions(level=4), problems=3)


@pytest.mark.sampled(1, "level")
@pytest.mark.parametrize("level", mostly_slow(LEVELS, 1, 4))
def test_every_level_keeps_its_promises(level):
    family = gd.tasks.functions(level=level, checker="plain")
    gd.check_task(family, problems=40)
    sides = {"train": set(), "test": set()}
    for split, seen in sides.items():
        for index in range(60):
            composition = composition_of(family.get(split, index).meta)
            seen.add((composition.source.takes, str(behaviour(composition))))
    assert not sides["train"] & sides["test"]


def test_what_is_held_out_at_one_level_is_at_every():
    """Two keeps in another order do the same, so they are on one side."""
    one = composed("list", ("even", None), ("above", 3), ("sum", None))
    other = composed("list", ("above", 3), ("even", None), ("sum", None))
    assert behaviour(one) == behaviour(other) != behaviour(composed("list", ("even", None), ("sum", None)))


def programs_of(level, problems):
    """Tests, and programs with whether they should pass."""
    family = gd.tasks.functions(level=level)
    for index in range(problems):
        task = family.get("train", index)
        misses = family.near_misses(task, random.Random(index))
        assert misses
        for program in family.solutions(task):
            yield task, program, True
        for miss in misses:
            lines = miss.text.split("\n")
            number, right = int(re.match(r"line (\d+) ", family.explain(task, miss))[1]), miss.right.split("\n")
            assert number == miss.step + 1 <= len(lines)
            assert (
                lines[: miss.step] == right[: miss.step] and lines[miss.step : miss.step + 1] != right[miss.step :][:1]
            )
            yield task, miss.text, False


async def judged_in_boxes(rows):
    return await asyncio.gather(*(passed_later(program, task.meta["tests"]) for task, program, _ in rows))


@pytest.mark.parametrize("problems", [1, pytest.param(12, marks=pytest.mark.slow)])
def test_solutions_pass_and_planted_errors_fail(problems):
    rows = [row for level in LEVELS for row in programs_of(level, problems)]
    for (task, program, is_right), passed in zip(rows, asyncio.run(judged_in_boxes(rows)), strict=True):
        assert all(passed) is is_right, f"{task.prompt}\n{program}"
        assert passed_now(program, task.meta["tests"], "plain") == passed


@pytest.mark.slow
def test_tests_are_easy_and_hard():
    """Of the tests some are passed by most planted errors, and some by few."""
    family = gd.tasks.functions(level=4, checker="plain")
    counts = [0] * 12
    seen = 0
    for index in range(40):
        task = family.get("train", index)
        for miss in family.near_misses(task, random.Random(0)):
            seen += 1
            counts = [a + b for a, b in zip(counts, family.passed(task, miss.text), strict=True)]
    assert max(counts) > 0.75 * seen and min(counts) < 0.4 * seen


def test_an_error_says_what_it_is():
    family = gd.tasks.functions(level=1)
    drawn = (family.get(split, i) for i in range(500) for split in ("train", "test"))
    task = next(task for task in drawn if task.meta["steps"] == [["positive", None]])
    misses = family.near_misses(task, random.Random(0))
    said = {miss.kind: miss.says.partition(" ")[2].partition(" ")[2] for miss in misses}
    assert said["wrong comparison"].startswith("is wrong: it should keep the positive numbers, not ")


@pytest.mark.parametrize(
    ("program", "passed"),
    [
        ("def f(x): return 10 // x", [True, False, True]),
        ("def f(x): return [5, 0, 2][x % 3]", [False, False, True]),
        ("def f(x):\n while x == 5: pass\n return 5", [False, False, False]),
        ("import os; os._exit(0)", [False, False, False]),
        ("class Same(int):\n def __eq__(s, o): return True\ndef f(x): return Same(1)", [False, False, False]),
        ("def f(x): return 5.0 if x == 2 else (2,)", [True, False, False]),
        ("def f(x): return f", [False, False, False]),
        ("def f(x)", [False, False, False]),
        ("def f(x): return 10 // x\nok", [False, False, False]),
        ("f\ndef f(x): return 10 // x", [False, False, False]),
        ("def f(x): return 10 // x\nf\nlen", [True, False, True]),
        ("def answers_to_all_calls(calls): return [[5], [0], [2]]", [False, False, False]),
    ],
)
def test_hostile_and_broken_programs(program, passed):
    tests = [[[2], 5], [[0], 0], [[5], 2]]
    assert passed_now(program, tests) == passed_now(program, tests, "plain") == passed


def test_a_broken_sandbox_is_no_verdict(monkeypatch):
    monkeypatch.setattr(SandboxPool, "_run", lambda self, job, zygote: job.done.set_result(broken("lost")))
    family = gd.tasks.functions(level=1)
    task = family.get("train", 0)
    with pytest.raises(SandboxBroke):
        family.check(task, family.solution(task))
    assert gd.tasks.functions(level=1, checker="plain").check(task, family.solution(task)) == 1.0


def test_a_score_says_which_tests_passed():
    score = asyncio.run(score_by_tests("def f(x): return x", [[[1], 1], [[2], 2], [[3], 4], [[5], 0]]))
    assert score.value == 0.5 and score.why == "2 of 4 tests passed" and score.parts["test 2"] == 0.0


def test_what_the_page_shows_is_what_comes_of_it():
    page = (Path(__file__).parents[3] / "docs" / "field_tasks.md").read_text()
    section = page.partition("## Small functions from a specification\n")[2].partition("\n## ")[0]
    said = "\n".join(re.findall(r"```python\n(.*?)```", section, re.S))
    test = doctest.DocTestParser().get_doctest(said, {"gd": gd}, "field_tasks.md", None, 0)
    result = doctest.DocTestRunner().run(test)
    assert result.failed == 0 and result.attempted == 7
    shown = re.search(r"```text\n(.*?)\n```", section, re.S)[1]
    tests = [line.removeprefix("f(").split(") == ") for line in shown.splitlines()[1:]]
    composition = composed("divisors", ("remainder", 3), ("first_few", 4), ("last", None))
    assert [composition.run([int(given)]) for given, _ in tests] == [int(gives) for _, gives in tests] == [2, 0]


def test_a_program_that_needs_no_box_is_evaluated_once_for_its_reward_and_the_truth(monkeypatch):
    evaluated = []
    for name in ("called_plainly", "calls_plainly"):
        plain = getattr(function_checks, name)
        monkeypatch.setattr(function_checks, name, lambda *given, plain=plain: evaluated.append(given) or plain(*given))
    family = gd.tasks.functions(level=3, checker="plain")
    task, other = family.get("train", 1), family.get("train", 2)
    program = family.solution(task) + "# of this test alone"
    assert asyncio.run(family.passed_later(task, program)) == family.passed(task, program) == [True] * 12
    assert family.check(task, program) == 1.0 and len(evaluated) == 1
    assert family.check(other, program) == 0.0 and len(evaluated) == 2, "other tests ask for other calls"
    assert family.check(task, program.replace("return", "return 0 and")) == 0.0 and len(evaluated) == 3
