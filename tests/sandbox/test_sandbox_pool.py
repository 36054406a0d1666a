"""The pool of sandboxes: lost zygotes, cancelled programs, other threads, loops and processes, and nothing left behind."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from collections.abc import Collection
from pathlib import Path

import pytest

from guerdon.core.errors import UserError
from guerdon.sandbox import Cause, Limits, SandboxPool, guarantees

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="full isolation takes Linux")
FOREVER = "import time\nprint('began', flush=True)\ntime.sleep(600)"
ROOT = Path(__file__).parents[2]


def read(path: Path) -> bytes:
    """What a file of /proc says; nothing where the process or thread has just ended."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return b""


def started_by(pid: int | str) -> list[int]:
    return [int(word) for task in Path(f"/proc/{pid}/task").glob("*/children") for word in read(task).split()]


def children(pid: int) -> list[int]:
    """All below a process, however deep."""
    below = started_by(pid)
    return below + [deeper for child in below for deeper in children(child)]


def eventually(happened, seconds: float = 30.0) -> bool:
    until = time.monotonic() + seconds
    while not happened():
        if time.monotonic() > until:
            return False
        time.sleep(0.01)
    return True


def zygotes(others: Collection[int] = ()) -> list[int]:
    """Their process ids, as seen from here: those of the processes that wait outside for them."""
    command = b"from guerdon.sandbox.fork_hooks import start"
    return [pid for pid in started_by("self") if pid not in others and command in read(Path(f"/proc/{pid}/cmdline"))]


@pytest.fixture
def others():
    """Zygotes of pools that other tests have open."""
    return zygotes()


def test_what_is_to_be_seen_may_lie_where_temporary_files_do():
    """A checkout in /tmp is one such place. The rest of it stays out of sight, and temporary files go to the working folder."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder, SandboxPool(workers=1, see=[folder]) as pool:
        Path(folder).chmod(0o755)  # a box is not its owner
        Path(folder, "seen.txt").write_text("read")
        program = f"""
            import os, tempfile
            print(open({folder + "/seen.txt"!r}).read(), os.listdir("/tmp"))
            with tempfile.NamedTemporaryFile("w") as file:
                print(file.write("written"))
        """
        assert pool.python_now(textwrap.dedent(program)).stdout == f"read ['{Path(folder).name}']\n7\n"


def test_a_lost_zygote_takes_no_result_with_it(others):
    """The program under way is run again, those that wait are not touched, and nobody hears of it."""
    with SandboxPool(workers=1) as pool:
        pool.python_now("")
        results: list[str] = []
        source = "import time; time.sleep(0.1); print('slow')"
        runs = [threading.Thread(target=lambda: results.append(pool.python_now(source).stdout)) for _ in range(3)]
        for run in runs:
            run.start()
        (zygote,) = zygotes(others)
        assert eventually(lambda: len(children(zygote)) > 2)
        below = children(zygote)
        os.kill(zygote, signal.SIGKILL)
        for run in runs:
            run.join()
        assert results == ["slow\n"] * 3
        assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))


def test_a_zygote_that_never_starts_is_an_error_and_one_that_stops_to_is_told_as_broken(monkeypatch, others):
    begin = "guerdon.sandbox.zygote_handle._BEGIN"
    with SandboxPool(workers=1) as pool, monkeypatch.context() as patched:
        patched.setattr(begin, "import sys; sys.exit(7)")
        with pytest.raises(UserError, match=r"the sandbox did not start: .*python.* ended with 7"):
            pool.python_now("print(1)")
        patched.undo()
        assert pool.python_now("print(1)").ok
        patched.setattr(begin, "import sys; sys.exit(7)")
        (zygote,) = zygotes(others)
        os.kill(zygote, signal.SIGKILL)
        assert pool.python_now("print(1)").cause is Cause.BROKEN


def test_a_cancelled_program_is_ended_and_the_next_one_runs(others):
    async def cancel(pool: SandboxPool) -> str:
        task = asyncio.create_task(pool.python(FOREVER, limits=Limits(wall=600)))
        await asyncio.sleep(0)
        (zygote,) = zygotes(others)
        assert await asyncio.to_thread(eventually, lambda: len(children(zygote)) > 2)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        ran = await pool.python("print('next')")
        assert await asyncio.to_thread(eventually, lambda: len(children(zygote)) == 1)
        return ran.stdout

    with SandboxPool(workers=1) as pool:
        pool.python_now("")
        assert asyncio.run(cancel(pool)) == "next\n"


@pytest.mark.slow
def test_loops_threads_and_forked_processes_share_a_pool():
    async def several(pool: SandboxPool) -> list[str]:
        return [ran.stdout for ran in await asyncio.gather(*(pool.python(f"print({n})") for n in range(6)))]

    with SandboxPool(workers=2) as pool:
        assert asyncio.run(several(pool)) == [f"{n}\n" for n in range(6)]
        assert asyncio.run(several(pool)) == [f"{n}\n" for n in range(6)]
        pid = os.fork()
        if pid == 0:
            try:
                os._exit(0 if pool.python_now("print(1)").stdout == "1\n" else 1)
            finally:
                os._exit(2)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        assert pool.python_now("print(2)").stdout == "2\n"
        pool.close()
        assert pool.python_now("print(3)").stdout == "3\n"  # it begins again


def test_nothing_is_left_open_or_running():
    ends, below = len(list(Path("/proc/self/fd").iterdir())), set(children(os.getpid()))
    mounts = Path("/proc/self/mountinfo").read_text()
    with SandboxPool(workers=1) as pool:
        for source in ("print(1)", "1 / 0", "import os; os._exit(0)", "while True: print('x' * 9999)"):
            pool.python_now(source)
        pool.check_now("def f(x): return x", "assert f(1) == 1")
    assert eventually(lambda: set(children(os.getpid())) <= below)
    assert len(list(Path("/proc/self/fd").iterdir())) == ends
    assert Path("/proc/self/mountinfo").read_text() == mounts


def test_what_leaves_its_session_ends_with_its_box(others):
    source = "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(600)\n"
    with SandboxPool(workers=1) as pool:
        assert pool.python_now(source, limits=Limits(processes=4)).ok
        (zygote,) = zygotes(others)
        assert eventually(lambda: len(children(zygote)) == 1)


@pytest.mark.slow
def test_when_this_process_is_killed_everything_ends():
    code = f"""
    import sys, threading
    from guerdon.sandbox import Limits, SandboxPool
    pool = SandboxPool(workers=1)
    pool.python_now("")
    threading.Thread(target=lambda: pool.python_now({FOREVER!r}, limits=Limits(wall=600)), daemon=True).start()
    print("ready", flush=True)
    sys.stdin.read()
    """
    caller = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT
    )
    with caller:
        assert caller.stdout is not None and caller.stdout.readline() == b"ready\n"
        assert eventually(lambda: len(children(caller.pid)) >= 4)  # outer, zygote, first process, program
        below = children(caller.pid)
        caller.kill()
    assert eventually(lambda: not any(Path(f"/proc/{pid}").exists() for pid in below))


def test_no_program_finds_the_words_of_an_earlier_one_in_its_memory():
    scan = """
    import ctypes, gc
    word = b"sesame" + b"-" + b"open"
    heap = id(object())
    seen = 0
    for thing in gc.get_objects():
        if isinstance(thing, (str, bytes)) and "sesame-" + "open" in str(thing): seen += 1
    near = heap & ~((1 << 20) - 1)
    print(seen, ctypes.string_at(near, (heap - near) & ~4095).count(word))
    """
    with SandboxPool(workers=1) as pool:
        pool.check_now("def f(x): return x", "assert f('sesame-open') == 'sesame-open'")
        pool.python_now("print('sesame-open')", stdin="sesame-open")
        assert pool.python_now(textwrap.dedent(scan)).stdout == "0 0\n"


@pytest.mark.slow
def test_what_holds_is_tried():
    assert {each.name: each.holds for each in guarantees() if not each.holds} == {}
    assert {each.name for each in guarantees("landlock") if not each.holds} == {"disk", "own process ids"}


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("unshare") is None, reason="takes unshare")
def test_a_machine_without_user_namespaces_is_refused_in_one_line():
    code = "from guerdon.sandbox import guarantees; print(*guarantees(), sep='\\n')"
    turn_off = f'echo 0 > /proc/sys/user/max_user_namespaces; exec {sys.executable} -c "{code}"'
    ran = subprocess.run(["unshare", "-U", "-r", "sh", "-c", turn_off], capture_output=True, text=True, cwd=ROOT)
    if "unshare" in ran.stderr or "denied" in ran.stderr:
        pytest.skip(ran.stderr)
    (line,) = ran.stdout.splitlines()
    assert "user namespaces are turned off (sysctl user.max_user_namespaces)" in line
    assert "isolation='landlock' or 'limits' asks for less" in line


def test_another_system_is_refused_in_one_line(monkeypatch):
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(
        UserError, match="it needs Linux, and this is darwin; isolation='landlock' or 'limits' asks for less"
    ):
        SandboxPool()
