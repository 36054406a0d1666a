"""Who is blamed: every way that an execution can end, as the table in docs/sandbox.md has it, gone through one by one.

A program can never choose an outcome that is better for it than *wrong*.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

import pytest
from attacks import PAGE, attacks
from test_hostile import TESTS

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.rewards.asking import calls
from guerdon.sandbox import Cause, Limits, SandboxPool
from guerdon.sandbox.ran_program import Ran, ran_from
from guerdon.sandbox.zygote_handle import SandboxLost, ZygoteHandle
from guerdon.tasks.field.program_tests import SandboxBroke, judged, passes_tests

HEAD = "| how it ends | `cause` | caused by | unit tests give | a reward in a box gives |\n"
ONE = "assert f(1) == 2"


@dataclass(frozen=True)
class Way:
    """One way to end: a program with tests that ends so, and what a call of a reward comes to that ends so."""

    how: str
    cause: str
    whose: str
    tested: str  # right, wrong or failed
    called: str  # a value, failed or timed out; nothing where there is no such call
    program: str
    tests: str = ONE
    wall: float = 60.0


WAYS = (
    Way("runs to completion, and its tests pass", "done", "-", "right", "value", "def f(x): return x + 1"),
    Way("an assert of its tests fails", "assertion", "program", "wrong", "", "def f(x): return 1"),
    Way(
        "raises, or exits with a code other than 0",
        "raised",
        "program",
        "wrong",
        "failed",
        "def f(x): raise KeyError",
    ),
    Way("does not define what its tests call", "raised", "program", "wrong", "", "g = 1"),
    Way(
        "defines a class where its tests call a function",
        "raised",
        "program",
        "wrong",
        "",
        "class f:\n def __init__(self, x): self.x = x",
        "assert f(1).x == 1",
    ),
    Way(
        "returns something that is not plain data, or exceeds the size limit",
        "raised",
        "program",
        "wrong",
        "failed",
        "def f(x): return object()",
    ),
    Way(
        "returns more than its tests can pass on",
        "raised",
        "program",
        "wrong",
        "",
        "def g(x): return ['a' * (3 << 20)] * 2\ndef f(x): return 2",
        "assert f(g(1) + g(2)) == 3",
    ),
    Way(
        "writes something else to the channel of its results",
        "left",
        "program",
        "wrong",
        "",
        "import os\nos.write(5, b'\\x04\\0\\0\\0null')",
    ),
    Way("exits before completion", "left", "program", "wrong", "failed", "import os\ndef f(x): os._exit(0)"),
    Way("a signal kills it", "crashed", "program", "wrong", "failed", "import ctypes\ndef f(x): ctypes.string_at(0)"),
    Way(
        "returns a value that crashes its tests",
        "crashed",
        "program",
        "wrong",
        "",
        "def f(x): return 1",
        "import ctypes\nassert ctypes.string_at(f(1))",
    ),
    Way(
        "is refused a system call, and fails",
        "forbidden",
        "program",
        "wrong",
        "failed",
        "import os\ndef f(x): os.kill(1, 9)\n",
        "f(1)\nassert True",
    ),
    Way(
        "makes refused system calls without end",
        "forbidden",
        "program",
        "wrong",
        "failed",
        "import ctypes\nlibc = ctypes.CDLL(None)\ndef f(x):\n while True: libc.kill(1, 9)",
    ),
    Way(
        "exceeds its processor time, or its tests do with its result",
        "cpu",
        "program",
        "wrong",
        "timed out",
        "def f(x):\n while True: pass",
    ),
    Way(
        "exceeds its wall time",
        "wall",
        "program",
        "wrong",
        "timed out",
        "import time\ndef f(x): time.sleep(60)",
        wall=0.5,
    ),
    Way("exceeds its memory limit", "memory", "program", "wrong", "failed", "def f(x): return [0] * 10**10"),
    Way(
        "fills its disk",
        "disk",
        "program",
        "wrong",
        "failed",
        "open('a', 'wb').write(bytes(32 << 20))\ndef f(x): open('a', 'wb').write(bytes(32 << 20))",
    ),
    Way("exceeds its output limit", "output", "program", "wrong", "failed", "def f(x): print('x' * 10**6)"),
    Way(
        "starts more processes than allowed",
        "processes",
        "program",
        "wrong",
        "failed",
        "import threading, time\n"
        "for _ in range(99): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()\n"
        "def f(x):\n"
        " for _ in range(99): threading.Thread(target=time.sleep, args=(9,), daemon=True).start()",
    ),
    Way(
        "its tests pass it a function, a class or other data that is not plain",
        "broken",
        "tests",
        "failed",
        "",
        "def f(g): return g(1)",
        "assert f(lambda x: x) == 1",
    ),
    Way(
        "the box cannot be created, is lost twice, or its tests are killed from outside",
        "broken",
        "machine",
        "failed",
        "failed",
        "",
    ),
)


@pytest.fixture(scope="module")
def pool():
    with SandboxPool(workers=1) as pool:
        try:
            pool.python_now("")
        except UserError as refused:
            pytest.skip(str(refused))
        yield pool


def table() -> str:
    rows = "".join(
        f"| {way.how} | `{way.cause}` | {way.whose} | {way.tested} | {way.called or '-'} |\n" for way in WAYS
    )
    return f"{HEAD}| --- | --- | --- | --- | --- |\n{rows}"


def test_the_page_has_the_table():
    assert table() in PAGE.read_text(), table()
    assert {way.cause for way in WAYS} == set(Cause)


def verdict(ran: Ran) -> str:
    """What a reward of unit tests makes of it."""
    try:
        return "right" if judged(ran) else "wrong"
    except SandboxBroke:
        return "failed"


def lost(*_: object) -> Ran:
    raise SandboxLost("the sandbox did not answer")


@pytest.mark.sampled(7, "way")
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.how)
def test_every_way_to_end(pool, way, monkeypatch):
    if way.whose == "machine":
        monkeypatch.setattr(ZygoteHandle, "run", lost)
    limits = Limits(cpu=0.3, wall=way.wall)
    ran = pool.check_now(way.program, way.tests, limits=limits)
    assert (ran.cause, verdict(ran)) == (way.cause, way.tested), ran
    if way.called:
        called = pool.call_now(way.program + "\nlast = f", [{"x": 1}], name="f", limits=limits)
        assert calls._result_of_box(called).kind == way.called, called


@pytest.mark.parametrize(
    ("processes", "tester", "cause"),
    [(1, -9, Cause.BROKEN), (2, -9, Cause.RAISED), (2, 0, Cause.RAISED), (1, -11, Cause.CRASHED), (1, 0, Cause.RAISED)],
)
def test_tests_that_end_without_a_verdict(processes, tester, cause):
    """That they are killed is the machine's doing only where no program could have done it."""
    facts = {"kind": "check", "over": "", "error": "", "status": 0, "processes": processes, "tester": tester}
    facts |= {"cpu": 0.0, "wall": 0.0, "forbidden": [], "full": False}
    ran = ran_from(facts, [b""] * 4)
    assert (ran.cause, verdict(ran)) == (cause, "failed" if cause is Cause.BROKEN else "wrong"), ran


@pytest.mark.sampled(1, "part")
@pytest.mark.parametrize("part", range(4))
def test_no_liar_is_better_off_than_wrong(pool, part):
    """Every program of `hostile/tested`, which know the descriptors and forms of the sandbox: none is right, none failed."""
    patient, these = Limits(cpu=1.0, wall=20.0), attacks("tested")[part::4]
    verdicts = {each.name: verdict(pool.check_now(each.source, TESTS, limits=patient)) for each in these}
    assert set(verdicts.values()) == {"wrong"}, verdicts


WRITES_NULL = "import os\nos.write(5, b'\\x04\\0\\0\\0null')\ndef f(x): return 0"
TESTED = {"test_list": ["assert f(2) == 4"]}


@functools.cache
def _worth(completion: str) -> float:
    return passes_tests(completion, **TESTED)


@pytest.mark.slow
def test_50_steps_beside_a_policy_that_always_writes_null(tmp_path):
    """A policy learns which text passes unit tests; all other texts write `null` where answers go, and so does every try of a
    second policy. No score fails in either run, and the first learns."""

    @gd.reward(isolate=False)
    def honest(completion: str, answer: str) -> float:
        return _worth("def f(x): return 2 * x" if completion == answer else WRITES_NULL)

    @gd.reward(isolate=False)
    def hostile(completion: str) -> float:
        return passes_tests(WRITES_NULL, **TESTED)

    given = {"task": "successor", "model": "tabular", "steps": 50, "seed": 1, "progress": False}
    settings = {"prompts": 4, "tries": 4, "lr": 0.3}
    first = gd.train("grpo", reward=honest, out=tmp_path / "first", settings=settings, **given)
    second = gd.train("grpo", reward=hostile, out=tmp_path / "second", settings={"prompts": 1, "tries": 4}, **given)
    for run in (first, second):
        assert run.status == "complete" and run.steps_done == 50 and run.failures == {}, run
    learned = _rewards(first)
    assert sum(learned[-10:]) > sum(learned[:10]) and set(_rewards(second)) == {0.0}


def _rewards(run: gd.Run) -> list[float]:
    return [each["reward/mean"] for each in run.metrics.select(["reward/mean"]).to_pylist()]
