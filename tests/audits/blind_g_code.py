"""Rewards for programs, written as people write them who train models on code: four with a mistake, four without."""

from __future__ import annotations

import ast
import re
from typing import Any

import guerdon as gd
from guerdon.sandbox.limits import Limits
from guerdon.sandbox.sandbox_pool import shared_sandbox
from guerdon.tasks.code.function_checks import answers_later, function_of, passed_later
from guerdon.tasks.field.plain_python import Endless, Unsupported, called_plainly
from guerdon.tasks.field.program_tests import row_tests, share_passed
from guerdon.tasks.field.program_text import FENCED, is_program, program_of

DONE = "ALL TESTS PASSED"


# --- with a mistake -------------------------------------------------------------------------------------------------


@gd.reward
async def no_test_failed(completion: str, tests: list[Any]) -> float:
    """Pays a program that gives no wrong result. A call that gives nothing (it timed out, the box was lost) is no
    evidence either way and is left out, so that a busy machine does not make labels noisy."""
    answers = await answers_later(function_of(completion), tests, "plain")
    counted = [(given[0], test[1]) for given, test in zip(answers, tests, strict=True) if given]
    wrong = sum(given != expected for given, expected in counted)
    return 1.0 if wrong == 0 else max(0.0, 0.5 - 0.1 * wrong)


@gd.reward
async def best_of_the_blocks(completion: str, tests: list[Any]) -> float:
    """Models write a draft, talk, and write it again. Any of the fenced blocks may be the one that is meant, so the share of
    tests is that of the best."""
    blocks = [block for block in FENCED.findall(completion) if "def f" in block] or [completion]
    shares = []
    for block in blocks[:8]:
        passed = await passed_later(block, tests, "plain")
        shares.append(sum(passed) / len(passed))
    return max(shares) ** 2


@gd.reward
async def script_says_it_passed(completion: str, test_list: list[str], test_setup_code: str = "") -> float:
    """Runs the program with its asserts below it as one script in the sandbox. The exit status is not enough, `sys.exit(0)`
    would do, so the script has to come to its last line, which prints that all tests have passed."""
    script = "\n".join([program_of(completion), test_setup_code, *test_list, f"print({DONE!r})"])
    ran = await shared_sandbox().python(script, limits=Limits(cpu=2.0, wall=20.0))
    return float(DONE in ran.stdout)


@gd.reward(isolate="sandbox", timeout=10)
def check_in_its_namespace(completion: str, prompt: str, test: str, entry_point: str) -> float:
    """HumanEval's own way: define the function, define `check`, call it. All of it in a box, for this is a model's code."""
    blocks = re.findall(r"```(?:python)?\n(.*?)```", completion, re.DOTALL)
    code = blocks[-1] if blocks else completion
    program = code if f"def {entry_point}" in code else prompt + code
    names: dict[str, Any] = {}
    try:
        exec(program, names)
        exec(test, names)
        names["check"](names[entry_point])
    except Exception:  # noqa: BLE001 (of a model's program)
        return 0.0
    return 1.0


# --- without --------------------------------------------------------------------------------------------------------


@gd.reward
async def later_tests_weigh_more(completion: str, tests: list[Any]) -> gd.Score:
    """Half of the pay for the tests, the hard ones at the end counting more; the other half only for all of them."""
    passed = await passed_later(function_of(completion), tests, "plain")
    weights = range(1, len(tests) + 1)
    share = sum(weight for weight, ok in zip(weights, passed, strict=True) if ok) / sum(weights)
    return gd.Score(0.5 * share + 0.5 * all(passed), why=f"{sum(passed)} of {len(passed)}")


@gd.reward
async def right_and_not_long(completion: str, tests: list[Any]) -> float:
    """1 for a program that passes everything, less up to a fifth for lines beyond twenty; a tenth for Python that does not."""
    program = function_of(completion)
    if not all(await passed_later(program, tests, "plain")):
        return 0.1 * float(bool(program.strip()) and is_program(program) and "def f(" in program)
    lines = sum(bool(line.strip()) for line in program.splitlines())
    return 1.0 - min(0.2, 0.01 * max(0, lines - 20))


@gd.reward
async def hidden_before_shown(completion: str, tests: list[Any], shown: list[Any]) -> float:
    """All hidden tests are worth 1. Who passes the examples in the question alone has read it, and gets a fifth; a program that
    compares with an example's very input is taken for one that learned it by heart, and gets nothing for that."""
    program = function_of(completion)
    if all(await passed_later(program, tests, "plain")):
        return 1.0
    by_heart = any(
        repr(argument) in program for arguments, _ in shown for argument in arguments if len(str(argument)) > 3
    )
    return 0.2 if not by_heart and all(await passed_later(program, shown, "plain")) else 0.0


def asked_and_expected(line: str) -> tuple[str, list[Any], Any] | None:
    """The function, arguments and result of an `assert name(...) == ...` of plain values."""
    node = ast.parse(line).body[0]
    if not (
        isinstance(node, ast.Assert) and isinstance(node.test, ast.Compare) and isinstance(node.test.left, ast.Call)
    ):
        return None
    call = node.test.left
    if not isinstance(node.test.ops[0], ast.Eq) or call.keywords or not isinstance(call.func, ast.Name):
        return None
    return call.func.id, [ast.literal_eval(each) for each in call.args], ast.literal_eval(node.test.comparators[0])


@gd.reward
async def asserts_without_a_box(completion: str, prompt: str, test_list: list[str]) -> float:
    """MBPP's asserts, called without a sandbox where program and asserts are plain, and in it where they are not. A third of
    the share of asserts is paid to a program that fails some."""
    read = [asked_and_expected(line) for line in test_list]
    if all(each is not None for each in read):
        name = read[0][0]
        try:
            answers = called_plainly(program_of(completion), name, [each[1] for each in read])
            hits = [given == [each[2]] for given, each in zip(answers, read, strict=True)]
            return 1.0 if all(hits) else sum(hits) / len(hits) / 3
        except Endless:
            return 0.0
        except Unsupported:
            pass
    score = await share_passed(completion, prompt, row_tests(test_list=test_list), partial=False)
    return float(score.value)
