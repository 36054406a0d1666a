"""What programs in boxes come to: each cause by its own cause, and nothing of this machine inside."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from guerdon.core.errors import UserError
from guerdon.sandbox import Cause, Limits, SandboxPool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="full isolation takes Linux")
SMALL = Limits(cpu=0.2, wall=10.0, memory=64 << 20, disk=1 << 20, output=1 << 12)


@pytest.fixture(scope="module")
def pool():
    with SandboxPool(workers=2) as pool:
        yield pool


ENDS = [  # a program, why it ends, and a part of the line that says so
    ("x = 1", Cause.DONE, ""),
    ("import sys\nprint(1)\nsys.exit(0)", Cause.DONE, ""),
    ("import sys; sys.stdout = None", Cause.DONE, ""),
    ("1 / 0", Cause.RAISED, "ZeroDivisionError: division by zero"),
    ("import sys; sys.exit(3)", Cause.RAISED, "ended with code 3"),
    ("def f(:", Cause.RAISED, "SyntaxError: invalid syntax (program.py, line 1)"),
    ("class E(Exception):\n def __str__(self): 1 / 0\nraise E", Cause.RAISED, "E"),
    ("while True: pass", Cause.CPU, "took more than 0.2 s of processor time"),
    ("x = bytearray(1 << 30)", Cause.MEMORY, "ran out of memory"),
    ("import os; os.fork()", Cause.PROCESSES, "was refused to start a process"),
    ("import subprocess; subprocess.run(['/bin/true'])", Cause.PROCESSES, "was refused to start a process"),
    ("open('a', 'wb').write(bytes(2 << 20))", Cause.DISK, "File too large"),
    ("for n in range(9): open(str(n), 'wb').write(bytes(300_000))", Cause.DISK, "No space left on device"),
    ("for n in range(5000): open(str(n), 'w')", Cause.DISK, "No space left on device"),
    ("while True: print('x' * 1000)", Cause.OUTPUT, "printed more than 4,096 bytes"),
    ("import socket; socket.socket()", Cause.FORBIDDEN, "was refused the system call socket: PermissionError"),
    ("import os; os.memfd_create('x')", Cause.FORBIDDEN, "memfd_create"),
    ("import os; os.execv('/bin/true', ['true'])", Cause.FORBIDDEN, "execve"),
    ("import os; os.kill(1, 9)", Cause.FORBIDDEN, "kill"),
    ("import ctypes; ctypes.string_at(0)", Cause.CRASHED, "crashed: SIGSEGV"),
    ("import os; os.kill(os.getpid(), 9)", Cause.CRASHED, "crashed: SIGKILL"),
    ("import os; os._exit(0)", Cause.LEFT, "ended before it was through"),
    ("import sys\nsys.exit(0)\nprint(1)", Cause.LEFT, "SystemExit before it was through"),
    ("import os; os.write(3, b'[' * 60_000); os._exit(0)", Cause.LEFT, "ended before it was through"),
    ("""import os; os.write(3, b'{"end":"raised","kind":"broken"}'); os._exit(1)""", Cause.RAISED, ""),
    ("""import os; os.write(3, b'{"end":"raised","kind":[],"error":{}}'); os._exit(1)""", Cause.RAISED, "{}"),
    ("""import os; os.write(3, b'{"end":[[]]}'); os._exit(0)""", Cause.LEFT, ""),
    ("import os; os.write(3, b'9' * 65_000 + b' ' * 99_000)", Cause.OUTPUT, "gave back more than 65,536 bytes"),
]


@pytest.mark.parametrize(("source", "cause", "said"), ENDS)
def test_why_a_program_ends(pool, source, cause, said):
    ran = pool.python_now(source, limits=SMALL)
    assert (ran.cause, ran.ok) == (cause, cause is Cause.DONE), ran
    assert said in ran.error and "\n" not in ran.error


def test_a_program_that_waits_is_ended_by_the_clock(pool):
    ran = pool.python_now("import time; print(1, flush=True); time.sleep(60)", limits=Limits(wall=0.1))
    assert (ran.cause, ran.error, ran.stdout) == (Cause.WALL, "took more than 0.1 s", "1\n")


def test_a_refused_call_that_is_caught_is_told_and_no_failure(pool):
    ran = pool.python_now("import socket\ntry: socket.socket()\nexcept PermissionError: print('went on')")
    assert ran.ok and ran.stdout == "went on\n" and ran.forbidden == ("socket",)


def test_a_program_sees_nothing_of_this_machine(pool, monkeypatch, tmp_path):
    monkeypatch.setenv("SECRET", "1")
    (tmp_path / "secret").write_text("secret")
    places = [str(tmp_path), str(Path.home() / ".bashrc"), "/proc", "/sys", "/etc/hostname", str(Path(__file__))]
    source = f"""
import os, socket
print(os.listdir("."), os.getcwd(), os.getuid(), os.getpid(), sorted(os.environ), socket.gethostname())
print([place for place in {places} if os.path.exists(place)])
print([number for number in range(3, 200) if os.path.exists(f"/dev/fd/{{number}}")])
"""
    told, seen, ends = pool.python_now(source).stdout.splitlines()
    assert told == "[] /box 1000 2 ['HOME', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR'] box"
    assert (seen, ends) == ("[]", "[]")


def test_a_program_has_its_input_its_files_and_a_fresh_folder(pool):
    source = "import helper; print(helper.twice(input()), open('data/x.txt').read()); open('left', 'w')"
    files = {"helper.py": "def twice(x): return x * 2", "data/x.txt": b"\xc3\xa9"}
    assert pool.python_now(source, stdin="ab\n", files=files).stdout == "abab é\n"
    assert pool.python_now("import os; print(os.listdir('.'))").stdout == "[]\n"
    for name in ("../x", "/x", "a//b", "", "a/./b", "\ud800", "x" * 256, "a\0b"):
        with pytest.raises(UserError, match="relative to the working folder"):
            pool.python_now("", files={name: ""})
    with pytest.raises(UserError, match="'a' is a file and cannot contain 'a/b'"):
        pool.python_now("", files={"a": "", "a/b": ""})
    odd = pool.python_now("print(input() + open('a').read())", stdin="\ud800", files={"a": "\ud800"})
    assert odd.stdout == "\\ud800\\ud800\n"


def test_runs_repeat_themselves(pool):
    source = "import random; print({'a', 'b', 'c', 'd'}, random.random())"
    assert len({pool.python_now(source).stdout for _ in range(4)}) == 1  # of two zygotes


def test_several_processes_are_counted_and_their_memory_and_time_summed(pool):
    forks = "import os, time\nfor n in range(9):\n    if os.fork() == 0: {child}; os._exit(0)\ntime.sleep(9)"
    counted = pool.python_now(forks.format(child="time.sleep(9)"), limits=Limits(processes=4))
    assert (counted.cause is Cause.PROCESSES and counted.forbidden == ("clone",)) or "fork" in counted.forbidden
    summed = pool.python_now(
        forks.format(child="x = bytearray(30 << 20); time.sleep(9)"), limits=Limits(processes=9, memory=64 << 20)
    )
    assert summed.cause is Cause.MEMORY and "together" in summed.error
    spent = pool.python_now(forks.format(child="sum(range(10**9))"), limits=Limits(processes=10, cpu=0.3, wall=30))
    assert spent.cause is Cause.CPU
    ran = pool.python_now(
        "import subprocess; print(subprocess.run(['/bin/echo', 'hi'], capture_output=True).stdout)",
        limits=Limits(processes=2),
    )
    assert ran.stdout == "b'hi\\n'\n"


def test_programs_without_a_shell(pool):
    assert pool.program_now(["/usr/bin/sort", "-n"], stdin="10\n9\n").stdout == "9\n10\n"
    assert pool.program_now(["/bin/false"]).error == "ended with code 1"
    assert pool.program_now(["/no/such"]).error == "can not execute /no/such: No such file or directory"
    assert pool.program_now(["/bin/sh", "-c", "/bin/true; /bin/true"]).cause is Cause.PROCESSES
    with pytest.raises(UserError, match="starts with its path"):
        pool.program_now(["sort"])


def test_sql(pool):
    script = "create table t (a int, b text); insert into t values (1, 'x'), (2, null)"
    ran = pool.sql_now(script, "select b, a * 1.5 as c, x'00ff' from t order by a")
    assert ran.value == {"columns": ["b", "c", "x'00ff'"], "rows": [["x", 1.5, b"\x00\xff"], [None, 3.0, b"\x00\xff"]]}
    for query, word in [
        ("attach 'x' as y", "ATTACH"),
        ("pragma writable_schema=1", "PRAGMA"),
        ("vacuum into 'x'", "VACUUM"),
    ]:
        refused = pool.sql_now(script, query)
        assert refused.cause is Cause.FORBIDDEN and word in refused.error and refused.value is None
    assert pool.sql_now(script, "select 1; drop table t").cause is Cause.RAISED
    assert pool.sql_now("create tabel t (a)", "select 1").error.startswith(
        "ValueError: the script that makes the database failed"
    )
    endless = "with recursive n(i) as (select 1 union all select i + 1 from n) select max(i) from n"
    assert pool.sql_now(script, endless, limits=SMALL).cause is Cause.CPU


def test_calls_take_and_give_plain_data(pool):
    source = "def f(x, y=1):\n    print('noise')\n    return {(x, y): [x, (y,), {1}, None, 2**70, b'b', float('inf')]}"
    ran = pool.call_now(source, [{"x": "a"}, {"x": 1, "y": 2}])
    assert ran.value[0] == {("a", 1): ["a", (1,), {1}, None, 2**70, b"b", float("inf")]}
    assert list(ran.value[1]) == [(1, 2)] and ran.stdout == "noise\n" * 2
    assert pool.call_now("def f(): return object()", [{}]).error.startswith("a object is not plain data")
    with pytest.raises(UserError, match="plain data"):
        pool.call_now(source, [{"x": os}])


def test_a_box_of_landlock_holds_files_and_calls(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    with SandboxPool(workers=1, isolation="landlock") as pool:
        ran = pool.python_now(f"open({__file__!r})")
        assert ran.error.startswith("PermissionError")
        assert pool.python_now("import socket; socket.socket()").forbidden == ("socket",)
        assert pool.check_now("def f(x): return x", "assert f(1) == 1").ok
        assert pool.python_now("open('a', 'w').write('x'); print(open('a').read())").stdout == "x\n"
    assert not list(tmp_path.iterdir())


def test_limits_that_make_no_sense_are_refused():
    for wrong in (
        {"cpu": 0},
        {"wall": float("nan")},
        {"memory": 1.5},
        {"processes": 0},
        {"disk": True},
        {"output": -1},
    ):
        with pytest.raises(UserError, match=next(iter(wrong))):
            Limits(**wrong)
    with pytest.raises(UserError, match="did you mean 'full'"):
        SandboxPool(isolation="ful")
