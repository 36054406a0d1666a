"""Unit tests in boxes: what they tell of honest programs, and that no program can forge it."""

from __future__ import annotations

import ast
import asyncio
import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.core.errors import UserError
from guerdon.sandbox import Cause, Limits, SandboxPool
from guerdon.sandbox.unit_tests import program_names

linux = pytest.mark.skipif(sys.platform != "linux", reason="full isolation takes Linux")
HUMANEVAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "humaneval.jsonl.gz"


@pytest.fixture(scope="module")
def pool():
    with SandboxPool(workers=2) as pool:
        yield pool


VERDICTS = [  # a program, its tests, what comes of it, and a part of the line that says so
    ("def f(x): return x + 1", "assert f(1) == 2", Cause.DONE, ""),
    ("def f(x): return x + 2", "assert f(1) == 2, 'off'", Cause.ASSERTION, "assert f(1) == 2, 'off': off"),
    ("def f(x): raise KeyError(x)", "assert f(1) == 2", Cause.RAISED, "f() raised KeyError: 1, in: assert f(1) == 2"),
    (
        "class E(ValueError): pass\ndef f(): raise E",
        "try: f()\nexcept ValueError: pass\nelse: assert 0",
        Cause.DONE,
        "",
    ),
    ("def f(x): x.sort(); x.append(9)", "a = [2, 1]; f(a); assert a == [1, 2, 9]", Cause.DONE, ""),
    ("def f(): return {(1, 2.5): {3}, None: b'x'}", "assert f() == {(1, 2.5): {3}, None: b'x'}", Cause.DONE, ""),
    (
        "from collections import Counter\ndef f(): return Counter('aab')",
        "assert f() == {'a': 2, 'b': 1}",
        Cause.DONE,
        "",
    ),
    ("import math\ndef f(): return 1.0", "assert math.isclose(f(), 1)", Cause.DONE, ""),
    ("def sum(a, b): return 6", "assert sum(10, 15) == 6", Cause.DONE, ""),
    ("def g(): pass", "assert f(1) == 2", Cause.RAISED, "NameError: name 'f' is not defined"),
    ("def f(): return 2\n1 / 0", "assert f() == 2", Cause.RAISED, "ZeroDivisionError"),
    ("def f(x): return [0] * 10**10", "assert f(1)", Cause.MEMORY, "f() raised MemoryError"),
    ("def f():\n while True: pass", "assert f()", Cause.CPU, "processor time"),
    ("class f:\n def __init__(self): self.x = 2", "assert f().x == 2", Cause.RAISED, "the program's class f"),
    ("def f(g): return g(1)", "assert f(lambda x: x) == 1", Cause.BROKEN, "can not be handed to another process"),
    ("def twice(f, x): return f(f(x))\ndef inc(x): return x + 1", "assert twice(inc, 1) == 3", Cause.DONE, ""),
    # Functions that work in place.
    ("def f(x): x.sort()", "a = [2, 1]\nassert f(a) is None and a == [1, 2]", Cause.DONE, ""),
    ("def f(x): x.sort()", "a = [2, 1]\nassert f(a) is None\nassert a == [1, 2]", Cause.DONE, ""),
    ("def f(x): x.sort()", "a = [2, 1]\nassert (f(a), a)[1] == [1, 2]", Cause.DONE, ""),
    ("def f(x): x.sort(); return x", "a = [2, 1]\nassert f(a) == sorted(a)\nassert a == [1, 2]", Cause.DONE, ""),
    (
        "def f(x): x.sort(); return x",
        "def check(g):\n a = [2, 1]\n b = g(a)\n assert b == sorted(a)\ncheck(f)",
        Cause.DONE,
        "",
    ),
    ("def pop(x): return x.pop()", "a = [1, 2]\nassert pop(a) == 2\nassert pop(a) == 1\nassert not a", Cause.DONE, ""),
    ("def pop(x): return x.pop()", "a = [1, 2]\nassert [pop(a), pop(a)] == [2, 1]", Cause.DONE, ""),
    ("def pop(x): return x.pop()", "a = [1, 2]\nb = pop(a)\nc = pop(a)\nassert (b, c) == (2, 1)", Cause.DONE, ""),
    (
        "def f(n):\n n[:] = sorted(set(n)); return len(n)",
        "n = [1, 1, 2]\nk = f(n)\nassert n[:k] == [1, 2]\nassert k == len(n)",
        Cause.DONE,
        "",
    ),
    ("def f(d): d['a'] = 1", "d = {}\nfor _ in range(2):\n    f(d)\n    assert d == {'a': 1}", Cause.DONE, ""),
    (
        "def f(d): d.add(1); return 1",
        "d = set()\nif f(d):\n    assert d == {1}\nelse:\n    assert False",
        Cause.DONE,
        "",
    ),
    ("def f(x): x.sort()", "def g(a):\n 'Say.'\n f(a)\n return a\nassert g([2, 1]) == [1, 2]", Cause.DONE, ""),
    # Functions that empty what they are held against.
    *(
        (f"def f(x):\n x.clear(); return {empty}", tests, Cause.ASSERTION, tests.splitlines()[-1].strip())
        for empty, tests in (
            ("[]", "a = [2, 1]\nassert f(a) == sorted(a)"),
            ("[]", "a = [2, 1]\nassert sorted(a) == f(a) == sorted(a)"),
            ("[]", "a = [2, 1]\nb = f(a)\nassert b == sorted(a)"),
            ("[]", "a = [2, 1]\nb: list = f(a)\nassert b == sorted(a)"),
            ("0", "a = {1, 2}\nassert f(a) == len(a)"),
            ("{}", "a = {1: 2}\nassert f(a) == dict(a)"),
            ("[]", "a = [2, 1]\nassert isinstance(f(a), list) and f(a) == sorted(a)"),
            ("[]", "a = [2, 1]\nassert all(x in f(a) for x in a)"),
            ("[]", "def same(x, y):\n n = 0\n return x == sorted(y)\na = [2, 1]\nassert same(f(a), a)"),
            ("[]", "for a in [[2, 1]]:\n    assert f(a) == sorted(a)"),
        )
    ),
    # Who is to blame: never the box, never the tests, for what a program answers.
    ("import os\nos.write(5, b'\\x04\\0\\0\\0null')", "assert f(1) == 1", Cause.LEFT, "where its answers go"),
    (
        "def grow(x): return ['a' * (3 << 20)] * 2\ndef f(x): return 1",
        "assert f(grow(1) + grow(2)) == 2",
        Cause.RAISED,
        "can not be handed",
    ),
    (
        "def deep(x):\n y = []\n for _ in range(60): y = [y]\n return y\ndef f(x): return 1",
        "assert f([[[[[[deep(1)]]]]]]) == 2",
        Cause.RAISED,
        "nested deeper",
    ),
    ("def f(x): return 1\ndef limit(): pass", "assert f([limit]) == 2", Cause.RAISED, "can not be handed"),
    ("def f(x): return '(' * 200_000", "import ast\nassert ast.literal_eval(f(1)) == 1", Cause.RAISED, ""),
    ("def f(x): return 1", "import ctypes\nassert ctypes.string_at(f(1)) == b''", Cause.CRASHED, "without a verdict"),
    ("def f(x): return 'a' * 40", "import re\nassert not re.match('(a+)+b', f(1))", Cause.CPU, ""),
    # Forgers.
    ("def f(x): return 0\nprint('passed'); import os; os._exit(0)", "assert f(1)", Cause.LEFT, "before its tests were"),
    ("def f(x): raise SystemExit(0)", "assert f(1) == 2", Cause.LEFT, "f() raised SystemExit"),
    (
        "class L:\n def __eq__(s, o): return True\ndef f(x): return L()",
        "assert f(1) == 2",
        Cause.RAISED,
        "not plain data",
    ),
    ("class L(int):\n def __eq__(s, o): return True\ndef f(x): return L(5)", "assert f(1) == 2", Cause.ASSERTION, ""),
    ("def abs(x): return 0\ndef f(x): return 9", "assert abs(f(1) - 2) < 0.1", Cause.ASSERTION, ""),
    ("import builtins\nbuiltins.AssertionError = None\ndef f(x): return 9", "assert f(1) == 2", Cause.ASSERTION, ""),
    ("def f(x): return 2**10_000_000", "assert f(1) == 2", Cause.ASSERTION, ""),
    (
        "def f(x):\n a = []\n for _ in range(9999): a = [a]\n return a",
        "assert f(1) == 2",
        Cause.RAISED,
        "nested deeper",
    ),
    ("import os\ndef f(x): os.write(5, b'\\xff' * 999); return 2", "assert f(1) == 2", Cause.LEFT, ""),
    ("""import os\nos.write(3, b'{"end":"done"}')\ndef f(x): return 9""", "assert f(1) == 2", Cause.ASSERTION, ""),
    ("import os, signal\ndef f(x): os.kill(3, signal.SIGKILL)", "assert f(1) == 2", Cause.FORBIDDEN, "kill"),
]


@linux
@pytest.mark.parametrize(("program", "tests", "cause", "said"), VERDICTS)
def test_verdicts(pool, program, tests, cause, said):
    ran = pool.check_now(program, tests, limits=Limits(cpu=0.3, wall=30))
    assert (ran.cause, said in ran.error) == (cause, True), ran


@linux
def test_an_entry_is_what_check_is_called_with(pool):
    tests = (
        "def check(candidate):\n    assert candidate(1) == 2\n    assert helper(2) == 4\ndef helper(x): return 2 * x"
    )
    assert pool.check_now("def add(x): return x + 1\ndef helper(x): return 0", tests, "add").ok
    assert pool.check_now("x = 1", tests, "add").error == "the program defines no function add"
    for empty in (tests, "", "import math"):
        with pytest.raises(UserError, match="tests check nothing"):
            pool.check_now("def add(x): return x + 1", empty)
    with pytest.raises(UserError, match="are not valid Python"):
        pool.check_now("", "assert (")


@linux
def test_what_the_program_prints_and_the_tests_read_stay_apart(pool):
    program = (
        "import os\nopen('tests.py', 'w').write('x')\nopen('json.py', 'w').write('x')\nprint('mine')\ndef f(): return 1"
    )
    ran = pool.check_now(program, "import json, os\nprint(os.getcwd())\nassert f() == 1")
    assert ran.ok and ran.stdout == "mine\n/\n"


def test_names_that_are_the_programs():
    def names(tests: str) -> set[str]:
        return program_names(ast.parse(tests))

    assert names("from m import h\nx = 1\ndef check(c): assert abs(c(x) - f(h)) < g") == {"f", "g"}
    assert names("assert sum(len([1]), 2) == 3\nassert max(1) > 0") == {"sum", "max"}  # nothing else is left to define
    assert names("assert [f(i) for i in range(3)] == list(map(int, '012'))") == {"f"}


@linux
@pytest.mark.slow
@pytest.mark.skipif(not HUMANEVAL.exists(), reason="needs shared/data")
def test_humaneval_is_judged_as_it_was_written(pool):
    rows = [json.loads(line) for line in gzip.decompress(HUMANEVAL.read_bytes()).splitlines()]

    async def causes(body) -> list[Cause]:
        programs = ((row["prompt"] + body(row), row["test"], row["entry_point"]) for row in rows)
        return [ran.cause for ran in await asyncio.gather(*(pool.check(*each, limits=LONG) for each in programs))]

    LONG = Limits(cpu=30, wall=120)
    assert set(asyncio.run(causes(lambda row: row["canonical_solution"]))) == {Cause.DONE}
    assert set(asyncio.run(causes(lambda row: "    return None\n"))) == {Cause.ASSERTION, Cause.RAISED}


@linux
@pytest.mark.slow
def test_a_crash_is_told_however_busy_the_machine_is():
    """The program's end of the wire is closed before its status is there; its tests end by that, and were once asked first."""
    busy = [subprocess.Popen([sys.executable, "-c", "while 1: pass"]) for _ in range(4)]
    program = "import ctypes\ndef f(): ctypes.memset(1, 0, 8)"
    try:
        with SandboxPool(workers=6) as crowded:
            limits = Limits(cpu=20.0, wall=120.0)
            asked = [crowded.check(program, ["assert f() == 1"], limits=limits) for _ in range(600)]
            causes = {ran.cause for ran in asyncio.run(_gathered(asked))}
    finally:
        for process in busy:
            process.kill()
            process.wait()
    assert causes == {Cause.CRASHED}


async def _gathered(asked):
    return await asyncio.gather(*asked)
