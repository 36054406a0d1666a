"""Hostile programs: each is stopped, by its own cause; nothing is stolen, nothing left, and honest neighbours lose nothing.

The programs are the files in `hostile`; how each must end stands in its second line. They run together in one pool, with
honest programs between them.
"""

from __future__ import annotations

import asyncio
import functools
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

import pytest
from attacks import KINDS, PAGE, Attack, attacks, in_boxes, listed, page_with, victim

from guerdon.core.errors import UserError
from guerdon.sandbox import Cause, Limits, Ran, SandboxPool
from guerdon.sandbox.shared_questions import SharedQuestions

HONEST = """
import json, sys
numbers = json.load(sys.stdin)
open("sum.txt", "w").write(str(sum(numbers)))
print(open("sum.txt").read(), max(numbers))
"""
TESTS = """
def check(candidate):
    assert abs(candidate(3) - 9) < 1e-6
    assert all(map(lambda x: candidate(x) == x * x, range(3, 6)))

check(square)
"""
BUILD = "CREATE TABLE people (name TEXT, age INT); INSERT INTO people VALUES ('Ada', 36), ('Alan', 41);"
PATIENT = Limits(cpu=60.0, wall=300.0)


@pytest.fixture(scope="module")
def pool():
    with SandboxPool(workers=2) as pool:
        try:
            pool.python_now("")
        except UserError as refused:
            pytest.skip(str(refused))
        yield pool


async def honest(pool: SandboxPool, number: int) -> str:
    numbers = list(range(number, number + 50))
    ran = await pool.python(HONEST, stdin=json.dumps(numbers), limits=PATIENT)
    want = f"{sum(numbers)} {max(numbers)}\n"
    return "" if ran.cause is Cause.DONE and ran.stdout == want else f"an honest program came to {ran}"


async def in_company(pool: SandboxPool, hostile: list[Awaitable[Any]], each: int = 1) -> tuple[list[Any], list[str]]:
    """Runs them all at once with honest programs between them: what they came to, and what went wrong with the honest ones."""
    between: list[Awaitable[Any]] = []
    for number, attack in enumerate(hostile):
        between += [attack, *(honest(pool, number * each + more) for more in range(each))]
    results = await asyncio.gather(*between)
    ran = [result for result in results if not isinstance(result, str)]
    return ran, [result for result in results if isinstance(result, str) and result]


def held(pool: SandboxPool, folder: Path, kind: str, run: Any, part: int = 0, parts: int = 1) -> None:
    """All attacks of a kind, or a part of them, and everything that must be true of them."""
    these = attacks(kind)[part::parts]
    with victim(folder) as target:
        results, wrong = asyncio.run(in_company(pool, [run(target, attack) for attack in these]))
        for attack, ran in zip(these, results, strict=True):
            for each in ran if isinstance(ran, list) else [ran]:
                wrong += [attack.wrong(each)] if attack.wrong(each) else []
                wrong += [f"{attack.name} has stolen the secret: {each}"] if target.stolen(each) else []
        wrong += target.left()
    for _ in range(600):  # the kernel takes a moment to clear a box away; what was meant to outlive it has ten minutes
        if not (left := in_boxes()):
            break
        time.sleep(0.1)
    else:
        wrong.append(f"processes were left: {left}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.sampled(1, "part")
@pytest.mark.parametrize("part", range(4))
def test_hostile_programs(pool, tmp_path, part):
    async def run(target, attack: Attack) -> Ran:
        return await pool.python(attack.source, stdin=target.facts(), limits=attack.limits)

    held(pool, tmp_path, "alone", run, part, parts=4)


def test_programs_that_lie_to_their_tests(pool, tmp_path):
    async def run(target, attack: Attack) -> Ran:
        return await pool.check(attack.source, TESTS, limits=attack.limits)

    held(pool, tmp_path, "tested", run)
    true = "def square(x):\n    return x * x\n"
    assert asyncio.run(pool.check(true, TESTS, limits=PATIENT)).cause is Cause.DONE


@pytest.mark.usefixtures("pool")
def test_programs_that_leave_something_for_the_next(tmp_path):
    async def run(target, attack: Attack) -> list[Ran]:
        return [
            await pool.python(attack.source, stdin=target.facts(round=number), limits=attack.limits)
            for number in range(2)
        ]

    with SandboxPool(workers=1) as pool:  # the second is sure to come where the first has been
        held(pool, tmp_path, "twice", run)


@pytest.mark.parametrize("shared", [False, True])
def test_hostile_queries(pool, tmp_path, shared):
    """Each in a box of its own, and all in boxes that they share with an honest one."""
    questions = SharedQuestions(lambda: pool)

    async def run(target, attack: Attack) -> Ran:
        query = attack.source.partition("SELECT {deep}")[0] + "SELECT " + "(" * 5000 + "1" + ")" * 5000
        query = query if "{deep}" in attack.source else functools.reduce(
            lambda text, name: text.replace(f"{{{name}}}", target.about[name]), ("database", "secret_file"), attack.source
        )  # fmt: skip
        if not shared:
            return await pool.sql(BUILD, query, limits=attack.limits)
        asked = (questions.sql(BUILD, each, attack.limits) for each in ("SELECT 6 * 7", query, "SELECT 8 * 9"))
        before, ran, after = await asyncio.gather(*asked)
        assert [before.value["rows"], after.value["rows"]] == [[[42]], [[72]]]
        return ran

    held(pool, tmp_path, "sql", run)


CHOKING = """
def give():
    import json, os
    numbers = [["i", hex(n * ((1 << 61) - 1))] for n in range(60_000)]  # all have one hash
    said = json.dumps({"end": "value", "value": ["l", ["s", *numbers]]}).encode()
    while said:
        said = said[os.write(3, said) :]
    os._exit(0)
"""
SHELLS = (
    ("cat {secret_file}", "ended with code 1"),
    ("env; cat /proc/*/environ", "ended with code 1"),
    ("echo x > /usr/lib/guerdon-test-file", "ended with code"),
    ("cat < /dev/tcp/127.0.0.1/{port}", "ended with code"),
    ("kill -9 -1; su -c id; exit 3", ""),
)


def test_a_value_can_not_choke_its_reader(pool):
    """A program that writes its value itself: to build it would keep this process busy for hours."""
    ran = pool.call_now(CHOKING, [{}], limits=PATIENT)
    assert ran.cause in (Cause.RAISED, Cause.OUTPUT) and ran.value is None, ran


def test_hostile_shells(pool, tmp_path):
    with victim(tmp_path) as target:
        few = Limits(cpu=20.0, wall=120.0, processes=8)
        for words, error in SHELLS:
            ran = pool.program_now(["/bin/sh", "-c", words.format(**target.about)], limits=few)
            assert ran.cause in (Cause.RAISED, Cause.CRASHED, Cause.FORBIDDEN) and error in ran.error, (words, ran)
            assert not target.stolen(ran)
        bomb = pool.program_now(["/bin/sh", "-c", "f() { f | f & }; f; wait"], limits=Limits(wall=0.5, processes=8))
        assert bomb.cause is not Cause.BROKEN and not target.left()
    assert asyncio.run(honest(pool, 5)) == ""


def test_the_page_lists_every_attack():
    """`python tests/sandbox/attacks.py` writes the list anew."""
    assert page_with(PAGE.read_text()) == PAGE.read_text()
    assert sum(len(attacks(kind)) for kind in KINDS) >= 150 and listed()


BARE = (
    *(
        "read_secret_file",
        "read_by_dots",
        "read_by_symlink",
        "read_by_hard_link",
        "read_project",
        "read_other_processes",
    ),
    *("read_parent_memory", "read_root_of_pid_1", "read_environment", "connect_to_loopback", "fetch_url", "listen"),
    *(
        "connect_to_unix_socket",
        "connect_to_abstract_socket",
        "ask_netlink",
        "machine_code",
        "start_shell",
        "become_shell",
    ),
    *("run_from_memory", "sparse_file", "kill_parent", "copy_parent_memory", "thread_bomb", "search_own_memory"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", BARE)
def test_the_attacks_are_real(name, tmp_path):
    """Outside of the box they have what they want: an attack that could not succeed anywhere would prove nothing."""
    (attack,) = (attack for attack in attacks("alone") if attack.name == name)
    (tmp_path / "victim").mkdir()
    (tmp_path / "here").mkdir()
    with victim(tmp_path / "victim") as target:
        ran = subprocess.run(
            [sys.executable, "-c", attack.source], input=target.facts(), cwd=tmp_path / "here", text=True,
            capture_output=True, env={**os.environ},
        )  # fmt: skip
        assert "LOOT" in ran.stdout or target.secret in ran.stdout, ran
