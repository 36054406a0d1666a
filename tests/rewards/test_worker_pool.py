"""How functions come to workers, and how the workers themselves come and go."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal
from worker_calls import ask, ends, is_alive, one

from guerdon.core.errors import UserError
from guerdon.core.score import CallResult
from guerdon.core.user_file import find_in_file
from guerdon.workers.worker_pool import WorkerPool, shared_pool

ROOT = Path(__file__).parents[2]
MEMORY = 256 << 20


def double(x: float) -> float:
    return 2.0 * x


def hang() -> None:
    time.sleep(1000)


def test_functions_from_anywhere(pool, tmp_path, monkeypatch):
    cell = {"__name__": "__main__"}
    exec("LIMIT = 3\ndef helper(x): return x < LIMIT\ndef score(x): return helper(x)", cell)
    assert one(pool, cell["score"], x=2).value is True
    cell["LIMIT"] = 1  # as a cell that is run again: the function is the one the caller sees
    assert one(pool, cell["score"], x=2).value is False

    (tmp_path / "helpers_of_mine.py").write_text("def third(x): return x / 3")
    (tmp_path / "mine.py").write_text(
        "import helpers_of_mine\nfrom helpers_of_mine import third\n"
        "class Scale:\n    by = 2\n"
        "def score(x): return third(x) * Scale.by + helpers_of_mine.third(x)"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert one(pool, find_in_file(f"{tmp_path}/mine.py:score", "reward"), x=3.0).value == 3.0

    factor = 5
    assert one(pool, lambda x: factor * x, x=2).value == 10
    assert one(pool, {"a": 1}.get).kind == "failed"  # a bound method, called without its argument


def test_imports_take_none_of_the_time_of_a_call(pool, tmp_path, monkeypatch):
    (tmp_path / "slow_to_import.py").write_text("import time\ntime.sleep(1.0)\nx = 1.0")
    monkeypatch.syspath_prepend(str(tmp_path))

    def helper() -> float:
        from slow_to_import import x  # type: ignore[import-not-found]

        return float(x)

    assert one(pool, lambda: helper(), timeout=0.5).value == 1.0


def test_a_function_with_a_lock_from_a_module_is_taken_by_name(pool, tmp_path, monkeypatch):
    text = "import threading\nlock = threading.Lock()\ndef score(x):\n    with lock:\n        return x"
    (tmp_path / "module_with_a_lock.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    import module_with_a_lock  # type: ignore[import-not-found]

    assert one(pool, module_with_a_lock.score, x=4).value == 4


def test_a_function_that_can_not_travel_is_refused(pool):
    lock = threading.Lock()
    with pytest.raises(UserError, match=r"score can not be sent to a worker .*lock.*: make what can not be copied"):

        def score() -> None:
            lock.acquire()

        one(pool, score)


def test_a_function_that_can_not_be_loaded_fails_everywhere(pool):
    class Cursed:
        def __reduce__(self) -> Any:
            return os._exit, (5,)

    cursed = Cursed()
    answers = ask(pool, lambda: cursed, [{}] * 30)
    assert {a.error for a in answers} == {"could not be loaded: the worker exited with code 5"}


def test_a_function_whose_loading_raises_says_so(pool):
    class Broken:
        def __reduce__(self) -> Any:
            return int, ("no number",)

    broken = Broken()
    answers = ask(pool, lambda: broken, [{}] * 30)
    assert len(answers) == 30 and {a.kind for a in answers} == {"failed"}
    assert "could not be loaded in a worker" in answers[0].error and "ValueError: invalid literal" in answers[0].error


@pytest.mark.slow
def test_many_functions_pass_through_a_worker(pool):
    for i in range(150):
        assert one(pool, lambda i=i: i).value == i


# The pool


def test_close_and_use_again():
    pool = WorkerPool(1)
    first = one(pool, os.getpid).value
    pool.close()
    assert ends([first])
    assert one(pool, os.getpid).value != first
    pool.close()
    pool.close()


def test_closing_under_way_is_told():
    pool = WorkerPool(1)
    threading.Timer(0.2, pool.close).start()
    with refusal(UserError):
        one(pool, hang)


def test_cancelling_leaves_a_sound_pool(pool):
    async def main() -> list[CallResult]:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(pool.call(hang, [{}] * 50, timeout=1000.0), 0.3)
        return await pool.call(double, [{"x": float(i)} for i in range(100)], timeout=20.0)

    assert [a.value for a in asyncio.run(main())] == [2.0 * i for i in range(100)]


def test_several_calls_and_threads_at_once(pool):
    results: dict[int, list[CallResult]] = {}

    async def both(n: int) -> None:
        slow = pool.call(lambda i: time.sleep(0.002) or i + n, [{"i": i} for i in range(100)], timeout=20.0)
        quick = pool.call(lambda i: i * n, [{"i": i} for i in range(1000)], timeout=20.0)
        results[n], results[-n] = await asyncio.gather(slow, quick)

    threads = [threading.Thread(target=lambda n=n: asyncio.run(both(n))) for n in (1, 2, 3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for n in (1, 2, 3):
        assert [a.value for a in results[n]] == [i + n for i in range(100)]
        assert [a.value for a in results[-n]] == [i * n for i in range(1000)]


def test_deadlines_hold_while_the_loop_is_busy(pool):
    async def main() -> tuple[CallResult, list[CallResult]]:
        hung = asyncio.ensure_future(pool.call(hang, [{}], timeout=0.3))
        well = asyncio.ensure_future(
            pool.call(lambda i: time.sleep(0.01) or i, [{"i": i} for i in range(60)], timeout=0.5)
        )
        await asyncio.sleep(0.05)
        time.sleep(1.0)
        return (await hung)[0], await well

    hung, well = asyncio.run(main())
    assert hung.kind == "timed out" and [a.value for a in well] == list(range(60))


def test_a_killed_template_is_replaced(pool):
    template = one(pool, os.getppid).value
    threading.Timer(0.3, os.kill, (template, signal.SIGKILL)).start()
    answers = ask(pool, lambda i: time.sleep(0.01) or i, [{"i": i} for i in range(150)])
    assert [a.value for a in answers] == list(range(150))
    assert one(pool, os.getppid).value != template


def test_a_forked_child_has_workers_of_its_own(pool):
    mine = one(pool, os.getppid).value
    child = os.fork()
    if child == 0:
        code = 1
        with contextlib.suppress(BaseException):
            theirs = one(pool, os.getppid).value
            pool.close()
            code = 0 if theirs != mine else 2
        os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert one(pool, os.getppid).value == mine


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_workers_end_with_a_parent_that_is_killed(tmp_path):
    """Also one that hangs inside C, and though a forked child of the parent's lives on."""
    script = textwrap.dedent("""
        import asyncio, os, re, sys, time
        from guerdon.workers.worker_pool import shared_pool
        def pids(): return f"{os.getpid()} {os.getppid()}"
        def hang(): re.match(r"(a+)+$", "a" * 60 + "b")
        async def main():
            (answer,) = await shared_pool().call(pids, [{}], timeout=20.0)
            child = os.fork()
            if child == 0:
                time.sleep(30)
                os._exit(0)
            print(answer.value, child, flush=True)
            await shared_pool().call(hang, [{}] * 8, timeout=1000.0)
        asyncio.run(main())
    """)
    path = tmp_path / "script.py"
    path.write_text(script)
    parent = subprocess.Popen(
        [sys.executable, path], stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": str(ROOT)}
    )
    assert parent.stdout is not None
    worker, template, child = map(int, parent.stdout.readline().split())
    time.sleep(0.3)
    everyone = [worker, template, *_children(template)]
    assert all(map(is_alive, everyone)) and len(everyone) > 2
    parent.kill()
    parent.wait()
    parent.stdout.close()
    assert ends(everyone)
    os.kill(child, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def test_a_worker_is_light():
    heavy = "[m for m in ('torch', 'numpy', 'guerdon.core.part') if m in sys.modules]"
    code = f"import sys, guerdon.workers.worker as w; print({heavy})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT)
    assert done.stdout.strip() == "[]", done.stderr


def test_the_shared_pool_is_one():
    assert shared_pool() is shared_pool() and 1 <= shared_pool().count <= 8


@pytest.mark.parametrize("wrong", [0, -1])
def test_bad_values_are_refused(pool, wrong):
    with refusal(UserError, "1"):
        WorkerPool(wrong)
    with refusal(UserError, "0"):
        one(pool, double, timeout=wrong, x=1.0)
