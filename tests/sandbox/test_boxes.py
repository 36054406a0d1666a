"""What programs in boxes come to: each cause by its own cause, and nothing of this machine inside."""

from __future__ import annotations

import fcntl
import os
import sys
import tempfile
import threading
import time
from pathlib import Path

import pytest
from refusals import refusal

from guerdon.core.errors import UserError
from guerdon.sandbox import Cause, Limits, Ran, SandboxPool

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
        with refusal(UserError):
            pool.python_now("", files={name: ""})
    with refusal(UserError):
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
    with refusal(UserError):
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
    with refusal(UserError):
        SandboxPool(isolation="ful")


@pytest.fixture
def see_folder():
    """A folder that whoever programs run as may read."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.sampled(1, "lock")
@pytest.mark.parametrize("processes", [1, 2])
@pytest.mark.parametrize("lock", ["fcntl.lockf(file, fcntl.LOCK_SH)", "fcntl.fcntl(file, 37, bytes(32))"])
def test_locks_of_a_program_keep_nobody_out(see_folder, processes, lock):
    """Of a file that it may only read: another process can lock that for writing. Command 37 of fcntl locks for an open file,
    and 32 zeros lock all of it for reading."""
    seen = see_folder / "seen"
    seen.write_text("x")
    seen.chmod(0o644)
    waits = f"import fcntl\nfile = open({str(seen)!r}, 'rb')\n"
    waits += f"try: {lock}\nexcept PermissionError: pass\nprint('locked', flush=True)\nimport time\ntime.sleep(60)"
    done: list[Ran] = []
    with SandboxPool(workers=1, see=[see_folder]) as pool, open(seen, "r+b") as file:
        limits = Limits(wall=2.0, processes=processes)
        program = threading.Thread(target=lambda: done.append(pool.python_now(waits, limits=limits)))
        program.start()
        while program.is_alive():
            fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.lockf(file, fcntl.LOCK_UN)
            time.sleep(0.01)
        program.join()
    assert (done[0].cause, done[0].stdout) == (Cause.WALL, "locked\n"), done


DATABASE = """
import os, sqlite3
opened = sqlite3.connect("numbers.db", timeout=30)
with opened:
    opened.execute("create table numbers (n int)")
opened.close()
children = {processes} - 1
for number in range(children):
    if os.fork() == 0:
        own = sqlite3.connect("numbers.db", timeout=30)
        for n in range(20):
            with own:
                own.execute("insert into numbers values (?)", (n,))
        os._exit(0)
assert not any(os.wait()[1] for _ in range(children))
print(sqlite3.connect("numbers.db").execute("select count(*) from numbers").fetchone()[0])
"""


@pytest.mark.parametrize("processes", [1, 3])
def test_a_program_can_lock_its_own_files(pool, processes):
    """SQLite does; where several processes write, each waits for the others."""
    ran = pool.python_now(DATABASE.format(processes=processes), limits=Limits(cpu=20.0, wall=60.0, processes=processes))
    assert (ran.cause, ran.stdout) == (Cause.DONE, f"{20 * (processes - 1)}\n"), ran


PIPES = """
import os
for _ in range(500):
    for end in os.pipe(): os.close(end)
kept = []
try:
    while True: kept.append(os.pipe())
except OSError as error:
    os.write(1, f"{len(kept)} {error.strerror}\\n".encode())
"""


def test_pipes_that_are_open_have_a_limit_and_those_that_were_have_none(pool):
    """All pipes of a user share a number of pages, beyond which new ones have two: 64 boxes with ten each leave some."""
    ran = pool.python_now(PIPES, limits=Limits(cpu=20.0, wall=60.0))
    count, error = ran.stdout.strip().split(" ", 1)
    assert error == "Too many open files" and 8 <= int(count) <= 12, ran
