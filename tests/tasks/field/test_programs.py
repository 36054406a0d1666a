"""Programs judged by unit tests: how they are found in text, HumanEval's own solutions, near misses and cheats."""

from __future__ import annotations

import asyncio
import gzip
import json
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.sandbox import Cause, Ran
from guerdon.tasks.field import program_tests
from guerdon.tasks.field.program_text import program_of, single_tests

HUMANEVAL = Path(__file__).parents[4] / "shared" / "data" / "humaneval.jsonl.gz"
needs_humaneval = pytest.mark.skipif(not HUMANEVAL.exists(), reason="HumanEval is not here")
SWAPS = (
    (" + ", " - "),
    (" < ", " <= "),
    (" > ", " >= "),
    (" == ", " != "),
    (" and ", " or "),
    ("range(", "range(1, 1 + "),
)
CHEATS = (
    "    pass\n",
    "    print('all tests passed')\n    import os\n    os._exit(0)\n",
    "    raise SystemExit(0)\n",
    "    class A:\n        __eq__ = lambda self, other: True\n    return A()\n",
    "    import builtins\n    builtins.AssertionError = Exception\n    return None\n",
)
PROMPT = 'import math\n\n\ndef double(x):\n    """Twice x."""\n'
TESTS = (
    "def check(candidate):\n    assert candidate(2) == 4\n    assert candidate(3) == 6\n    assert True, 'a comment'\n"
)
ROW = {"prompt": PROMPT, "entry_point": "double", "canonical_solution": "    return 2 * x\n", "test": TESTS}


def rows():
    return [json.loads(line) for line in gzip.decompress(HUMANEVAL.read_bytes()).splitlines()]


@pytest.mark.parametrize(
    ("completion", "right"),
    [
        ("    return 2 * x\n", 1.0),
        ("    return 2 * x\n\n\nprint(double('never run'))\ndef other():\n  broken", 1.0),
        ("return 2 * x", 1.0),
        ("So:\n```python\ndef double(x):\n    return math.floor(2 * x)\n```\nDone.", 1.0),
        ("```python\ndef double(x):\n    return 0\n```\nNo:\n```python\ndef double(x):\n    return x + x\n```", 1.0),
        ("def double(x):\n    return 3 * x", 0.0),
        ("    return 2 * (x", 0.0),
        ("", 0.0),
    ],
)
def test_the_program_is_found_in_a_completion(completion, right):
    source = gd.tasks.programs([ROW, ROW])
    assert source.check(source.get("train", 0), completion) == right


def test_rows_of_mbpp_show_their_tests_and_are_checked_by_them(tmp_path):
    row = {
        "task_id": 1,
        "text": "Write a function to double.",
        "code": "def f(x): return 2 * x",
        "test_setup_code": "n = 2",
    }
    row["test_list"] = ["assert f(n) == 4", "assert f('a') == 'aa'", "assert f(3) == 6"]
    path = tmp_path / "mbpp.jsonl.gz"
    path.write_bytes(gzip.compress("\n".join([json.dumps(row)] * 3).encode()))
    source = gd.tasks.programs(str(path))
    problem = source.get("train", 0)
    assert problem.prompt.splitlines()[-2:] == row["test_list"][1:] and source.name == "mbpp"
    gd.check_task(source, problems=1)
    score = gd.score_samples(
        gd.unit_tests(),
        [
            {"completion": text, "task": problem, "meta": problem.meta}
            for text in ("def f(x): return x + x", "def f(x): return 4")
        ],
    )
    assert score.whole == [1.0, pytest.approx(1 / 3)] and "assertion" in str(score.details[1])


def test_asserts_are_told_apart():
    one, two = single_tests(TESTS)
    assert "candidate(2)" in one and "candidate(3)" not in one and "candidate(3)" in two
    assert single_tests("not python (") == []
    score = asyncio.run(gd.unit_tests()("    return 4\n", PROMPT, TESTS, "double"))
    assert (score.value, score.why[:21]) == (0.5, "1 of 2 tests passed; ")
    assert asyncio.run(gd.unit_tests(partial=False)("    return 4\n", PROMPT, TESTS, "double")).value == 0.0


def test_calls_that_are_counted_are_not_all_passed():
    """Every assert alone is passed, the tests together are not."""
    program = "    double.calls = getattr(double, 'calls', 0) + 1\n    return 2 * x if double.calls == 1 else 0\n"
    assert asyncio.run(gd.unit_tests()(program, PROMPT, TESTS, "double")).value == 0.5


@pytest.mark.parametrize("cheat", CHEATS)
def test_cheats_pass_nothing(cheat):
    score = asyncio.run(gd.unit_tests()(cheat, PROMPT, TESTS, "double"))
    assert score.value == 0.0


def test_a_sandbox_that_breaks_is_failed_and_never_a_zero(monkeypatch):
    class Broken:
        async def check(self, *_, **__):
            return Ran(Cause.BROKEN, "the sandbox was lost")

    monkeypatch.setattr(program_tests, "shared_questions", Broken)
    scores = gd.score_samples(gd.unit_tests(), [{"completion": "", "meta": {"test_list": ["assert f(1)"]}}])
    assert scores.whole == [None] and "the sandbox was lost" in str(scores.details[0])


def test_rows_without_tests_are_refused():
    with pytest.raises(gd.UserError, match="no unit tests"):
        program_tests.passes_tests("x = 1")
    with pytest.raises(gd.UserError, match="test_list"):
        program_tests.passes_tests("x = 1", test_list="assert True")


@needs_humaneval
def test_some_of_humanevals_solutions_pass_and_empty_ones_do_not():
    for row in rows()[32:56:6]:
        source = gd.tasks.programs([row, row])
        problem = source.get("train", 0)
        assert source.check(problem, row["canonical_solution"]) == 1.0
        assert source.check(problem, "    pass\n") == 0.0


@needs_humaneval
@pytest.mark.slow
def test_all_of_humanevals_solutions_pass_and_most_near_misses_fail():
    source = gd.tasks.programs(str(HUMANEVAL), held_out=1.0)
    problems = [source.get("test", i) for i in range(164)]
    assert [source.check(problem, problem.answer) for problem in problems] == [1.0] * 164
    misses = [(p, p.answer.replace(*swap, 1)) for p in problems for swap in SWAPS if swap[0] in p.answer]
    cheats = [(p, cheat) for p in problems for cheat in CHEATS[:4]]
    samples = [{"completion": text, "prompt": p.prompt, "meta": p.meta} for p, text in misses + cheats]
    whole = gd.score_samples(gd.unit_tests(partial=False), samples).whole
    assert sum(whole[: len(misses)]) < 0.25 * len(misses), "some swaps change nothing that tests see"
    assert sum(whole[len(misses) :]) == 0.0


def test_a_fence_is_optional():
    assert program_of("x = 1") == "x = 1" and program_of("```\nx = 1\n```") == "x = 1\n"
