"""A text that a reward executes changes no other sample's score, and nothing that it writes or leaves behind becomes a score.

It can change its own score: text that is executed inside a function can change what that function sees, and text that reads
its process's memory finds everything. Workers contain accidents; they are not a security boundary. Run models' code in a
container.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from scheduling import mostly_slow
from worker_calls import ask, ends, one

from guerdon.core.score import CallResult
from guerdon.workers import bookkeeping
from guerdon.workers.worker_pool import WorkerPool

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="orphans are found by /proc")
FORGED = 777.0


@pytest.fixture(scope="module")
def pool():
    pool = WorkerPool(2, memory=512 << 20)
    yield pool
    pool.close()


@pytest.fixture(scope="module")
def single():
    """A pool of one worker, for tests of what becomes of that very one."""
    pool = WorkerPool(1)
    yield pool
    pool.close()


def graded(text: str, score: float) -> float:
    exec(text, {"__name__": "model"})
    return score


WRITE = """
import os, pickle, struct
number = struct.pack("<cId", b"N", 8, 777.0)
body = pickle.dumps(777.0, 5)
value = struct.pack("<cI", b"V", len(body)) + body
def write(data, folder=""):
    for descriptor in range(3, 40):
        try:
            os.write(os.open(f"{folder}/{descriptor}", os.O_WRONLY | os.O_NONBLOCK) if folder else descriptor, data)
        except OSError:
            pass
"""
THROUGH_PARENT = f"""
import subprocess, sys
subprocess.run([sys.executable, "-c", {WRITE + 'write(number * 9, f"/proc/{os.getppid()}/fd")'!r}])
"""
WALK = (
    WRITE
    + """
import sys
frame, seen = sys._getframe(), set()
while frame is not None:
    todo = [*frame.f_locals.values(), *frame.f_globals.values()]
    for _ in range(3):
        todo = [each for each in todo if id(each) not in seen and not seen.add(id(each))]
        todo += [inner for each in todo for inner in getattr(each, "__dict__", {}).values()]
    for each in todo:
        for name in ("send", "sealed", "value_record"):
            try:
                write(getattr(each, name)(number))
            except Exception:
                pass
        if type(each) is bytes and len(each) in (16, 32, 64) and each.count(0) < 4:
            from hashlib import blake2b, blake2s
            write(struct.pack("<Q", len(number)) + number + blake2s(number, key=each[:32]).digest())
            write(struct.pack("<Q", len(number)) + number + blake2b(number, key=each, digest_size=32).digest())
    frame = frame.f_back
"""
)
TEXTS = {
    "a plain number": WRITE + "write(number)",
    "a plain number with a seal": WRITE + "write(number + bytes(8))",
    "a value": WRITE + "write(value); write(value + bytes(8))",
    "many numbers": WRITE + "write(number * 500)",
    "a whole answer": WRITE + 'write(struct.pack("<Q", len(number)) + number + bytes(32))',
    "numbers, and leave": WRITE
    + 'write(struct.pack("<Q", len(number)) + number + bytes(32)); write(number * 9); os._exit(0)',
    "from a thread, for ever": WRITE
    + "import threading\ndef on():\n    while True: write(number * 9)\nthreading.Thread(target=on, daemon=True).start()",
    "from a child, for ever": WRITE + "if os.fork() == 0:\n    os.setsid()\n    while True: write(number * 9)",
    "through the parent's descriptors": THROUGH_PARENT,
    "by what the frames above hold": WALK,
}


@pytest.mark.parametrize("name", mostly_slow(TEXTS, *list(TEXTS)[::2]))
def test_what_a_text_writes_is_no_score(pool, name, tried):
    """Records of numbers and values on every descriptor: with false seals, from threads, children and frames above."""
    arguments = [{"text": TEXTS[name] if i % 4 == 1 else "x = 1", "score": float(i)} for i in range(12)]
    for i, answer in enumerate(ask(pool, graded, arguments)):
        if i % 4 == 1:
            assert answer.kind == "failed" or answer.value == float(i), answer
            tried()
        else:
            assert answer == CallResult("value", float(i))


def judged(text: str, size: int) -> float:
    import json
    import math

    names: dict[str, Any] = {}
    exec(text, names)
    return float(sum(json.loads(json.dumps([math.sqrt(size), len(str(size))]))))


PATCHES = {
    "builtins": "import builtins\nbuiltins.float = builtins.sum = builtins.len = lambda *given: 777.0",
    "json and math": "import json, math\njson.loads = lambda text: [777.0]\nmath.sqrt = lambda x: 777.0",
    "the function itself": "import sys\nsys._getframe(1).f_globals['judged'] = lambda text, size: 777.0\n"
    "sys._getframe(1).f_code and setattr(sys, 'exit', None)",
    "exec": "import builtins\nbuiltins.exec = lambda *given: None\nbuiltins.float = lambda x: 777.0",
    "os and pickle": "import os, pickle\nos.write = lambda d, data: len(data)\npickle.dumps = lambda *given: b''",
    "a module of its own": "import sys, types\nsys.modules['math'] = types.SimpleNamespace(sqrt=lambda x: 777.0)",
}


@pytest.mark.parametrize("name", PATCHES)
def test_what_a_text_patches_ends_with_its_sample(pool, name, tried):
    """Patched builtins, json, math, os, sys.modules and the function's own globals, in every third sample."""
    arguments = [{"text": PATCHES[name] if i % 3 == 0 else "", "size": (i + 1) ** 2} for i in range(12)]
    for i, answer in enumerate(ask(pool, judged, arguments)):
        if i % 3:
            assert answer == CallResult("value", float(i + 1 + len(str((i + 1) ** 2))))
        tried()


SEARCHES = [
    "import gc; gc.get_objects()",
    "import gc, sys; gc.get_referents(sys._getframe(2))",
    "import gc; gc.get_referrers(gc)",
    "open('/proc/self/mem', 'rb')",
    "import os; os.open(f'/proc/{os.getppid()}/mem', os.O_RDONLY)",
    "import sys; sys.settrace(lambda *given: None)",
]


@pytest.mark.parametrize("text", SEARCHES)
def test_a_text_may_not_search_for_keys(pool, text):
    """The collector, the process's memory as a file, a tracer: refused where foreign text has been executed."""
    searched, after = ask(pool, graded, [{"text": text, "score": 1.0}, {"text": "", "score": 2.0}])
    assert searched.kind == "failed" and "is refused where a model's text is executed" in searched.error
    assert after == CallResult("value", 2.0)


def test_a_text_that_forks_answers_once(pool, tried):
    """`os.fork()` in every sample's text: both sides come back from the call."""
    answers = ask(pool, graded, [{"text": "import os; os.fork()", "score": float(i)} for i in range(10)])
    assert answers == [CallResult("value", float(i)) for i in range(10)]
    tried(10)


@pytest.mark.parametrize("text", ["import os; os.kill(os.getppid(), 9)", "import os; os.killpg(0, 9)"])
def test_a_text_that_kills_is_failed_alone(pool, text):
    """A text that kills its parent, or its whole process group."""
    arguments = [{"text": text if i == 5 else "", "score": float(i)} for i in range(12)]
    for i, answer in enumerate(ask(pool, graded, arguments)):
        if i == 5:
            assert answer.kind == "failed" and "killed by signal 9" in answer.error
        else:
            assert answer == CallResult("value", float(i))


def test_a_call_that_kills_the_template_is_failed_alone(pool, tried):
    """A function that kills the process which starts all workers, at three samples of twenty."""

    def score(i: int) -> float:
        if i % 7 == 3:
            os.kill(os.getppid(), signal.SIGKILL)
            time.sleep(60)
        return float(i)

    for i, answer in enumerate(ask(pool, score, [{"i": i} for i in range(20)])):
        if i % 7 == 3:
            assert answer == CallResult("failed", error="the call killed the process that starts the workers")
            tried()
        else:
            assert answer == CallResult("value", float(i))


def test_a_function_that_kills_the_template_when_loaded_is_failed(pool):
    """A function that cannot even be loaded: what it holds kills the process which starts all workers."""

    class Cursed:
        def __reduce__(self) -> Any:
            return exec, ("import os, time; os.kill(os.getppid(), 9); time.sleep(60)",)

    cursed = Cursed()
    answers = ask(pool, lambda: cursed, [{}] * 5)
    assert {answer.kind for answer in answers} == {"failed"} and "could not be loaded" in answers[0].error
    assert one(pool, graded, text="", score=1.0) == CallResult("value", 1.0)


def test_a_stopped_template_is_replaced(single, monkeypatch):
    """A function that stops the process which starts all workers, so that it neither starts nor kills any."""
    monkeypatch.setattr(bookkeeping, "START", 1.0)
    monkeypatch.setattr(bookkeeping, "LOAD", 1.0)

    def score(i: int) -> float:
        if i == 0:
            os.kill(os.getppid(), signal.SIGSTOP)
            time.sleep(60)
        return float(i)

    first, *others = ask(single, score, [{"i": i} for i in range(5)], timeout=0.5)
    assert first.kind == "timed out" and others == [CallResult("value", float(i)) for i in range(1, 5)]


@pytest.mark.parametrize("end", ["its time is over", "the pool is closed", "the template is killed"])
def test_what_left_its_session_ends_with_its_worker(single, tmp_path, end):
    """A child in a session of its own, whose parent is gone too, when the worker ends in three ways."""
    note = tmp_path / "pid"

    def score(hang: bool) -> float:
        script = "import os, time; os.fork() and os._exit(0); open({!r}, 'w').write(str(os.getpid())); time.sleep(1000)"
        subprocess.run([sys.executable, "-c", script.format(str(note))], start_new_session=True)
        while not note.exists() or not note.read_text():
            time.sleep(0.01)
        if hang:
            time.sleep(1000)
        return float(os.getppid())

    answer = one(single, score, hang=end == "its time is over", timeout=1.0 if end == "its time is over" else 20.0)
    if end == "the template is killed":
        os.kill(int(answer.value), signal.SIGKILL)
    if end != "its time is over":
        single.close()
    assert ends([int(note.read_text())])


def test_a_worker_with_a_busy_thread_is_not_used_again(single):
    """A call that returns and leaves a thread spinning; one that leaves an idle pool of threads."""
    kept: list[Any] = []

    def leave(how: str) -> float:
        if how == "spin":
            threading.Thread(target=lambda: [None for _ in iter(int, 1)], daemon=True).start()
        if how == "idle":
            kept.append(ThreadPoolExecutor(1))
            kept[-1].submit(int).result()
        return float(os.getpid())

    before, idle, same, spin, after = [int(one(single, leave, how=how).value) for how in ("", "idle", "", "spin", "")]
    assert before == idle == same == spin != after and ends([spin])


def test_only_functions_that_execute_foreign_text_pay_for_it(single, tmp_path, monkeypatch):
    """Imports of installed libraries, dataclasses and a trusted function stay in one worker; `eval` and a file do not."""
    (tmp_path / "written_by_a_model.py").write_text("x = 1")
    monkeypatch.syspath_prepend(str(tmp_path))

    def harmless(i: int) -> int:
        import dataclasses
        import importlib

        importlib.import_module("mpmath")  # which executes text of its own while it is imported
        dataclasses.make_dataclass("Made", ["x"])(i)
        return os.getpid()

    def evaluates(i: int) -> int:
        return eval("__import__('os').getpid()")

    def imports(i: int) -> int:
        __import__("importlib").import_module("written_by_a_model")
        return os.getpid()

    for function, own in ((harmless, 1), (evaluates, 4), (imports, 4)):
        assert len({answer.value for answer in ask(single, function, [{"i": i} for i in range(4)])}) == own
    trusted = ask(single, evaluates, [{"i": i} for i in range(4)], trusted=True)
    assert len({answer.value for answer in trusted}) == 1


def test_a_module_that_a_text_wrote_is_not_imported_for_others(pool, tmp_path, monkeypatch):
    """A text that writes a module with a common name into the folder, imports it, and hopes that the worker does too."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    text = (
        "open('helpful.py', 'w').write('import builtins; builtins.len = lambda x: 777')\n"
        "import importlib; importlib.invalidate_caches()\nimport helpful"
    )
    arguments = [{"text": text if i == 0 else "assert len('four') == 4", "score": float(i)} for i in range(6)]
    assert ask(pool, graded, arguments)[1:] == [CallResult("value", float(i)) for i in range(1, 6)]
    assert Path("helpful.py").exists()
