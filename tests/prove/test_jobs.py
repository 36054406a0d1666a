"""Runs at once: what becomes of those that find a GPU full, and of signals while all wait."""

from __future__ import annotations

import os
import signal
from concurrent.futures import Future
from pathlib import Path

import pytest
from proofs import MINE, how, quiet

from guerdon.core.errors import CtrlC, GpuFull, Notice, RunStopped, is_gpu_full
from guerdon.prove.jobs import RunJob, _asked_to_stop, _ended, _heard_later, _ready
from guerdon.prove.known import LEDGER
from guerdon.prove.proving import prove

FULL = """
from pathlib import Path
from guerdon.core.errors import GpuFull
from guerdon.core.part import part
from guerdon.envs.simple import single_turn


@part
class crowded(single_turn):
    \"\"\"An environment that finds the GPU full in the first play of TIMES runs.\"\"\"

    async def play(self, ask, seats):
        is_first, self._began = not hasattr(self, "_began"), True
        for number in range(TIMES * is_first):
            try:
                (Path(__file__).parent / f"full-{number}").touch(exist_ok=False)
            except FileExistsError:
                continue
            raise GpuFull("model 'policy' could not act: the GPU's memory is full")
        return await super().play(ask, seats)
"""


def crowded(folder: Path, times: int) -> str:
    path = folder / "mine.py"
    path.write_text(FULL.replace("TIMES", str(times)) + MINE.replace("return base", "return base.but(env=crowded())"))
    return str(path)


@pytest.mark.slow
def test_runs_that_find_the_gpu_full_are_begun_again_when_another_has_ended_and_fewer_at_a_time(tmp_path):
    again = "found the GPU's memory full: it is restarted when another run has ended; now 1 at a time"
    with pytest.warns(Notice, match=again) as told:
        (proof,) = prove([crowded(tmp_path, 2)], how(tmp_path, quick=True, jobs=2), quiet)
    assert [len(arm["runs"]) for arm in proof["claims"][0]["arms"].values()] == [2, 2, 2]
    assert sum('"weights"' in line for line in (tmp_path / "runs" / LEDGER).read_text().splitlines()) == 6
    assert sum("memory full" in str(each.message) for each in told) == 2


def job(name: str, chances: int = 3, *after: str) -> RunJob:
    return RunJob(arm=None, seed=0, folder=Path(name), chances=chances, after=tuple(map(Path, after)), alone=True)


def names(queue: list[RunJob], under_way: list[RunJob], most: int = 3) -> str:
    return "".join(str(each.folder) for each in _ready(queue, under_way, [], most))


def test_a_last_chance_comes_after_all_others_and_one_by_one():
    queue = [job("x", 1), job("a"), job("y", 1), job("b", 2), job("c", 3, "x")]
    assert names(queue, []) == "ab", "c begins with x"
    assert names(queue, [job("b", 2)]) == ""
    assert names(queue, []) == "x"
    assert names([*queue, job("d")], [job("x", 1)]) == "", "it is alone"
    assert names(queue, []) == "c", "before y, which nobody waits for"
    assert names(queue, []) == "y"
    assert queue == []


@pytest.mark.parametrize(
    ("error", "full"),
    [
        (RuntimeError("CUDA out of memory. Tried to allocate 2.00 GiB"), True),
        (RuntimeError("CUDA error: CUBLAS_STATUS_ALLOC_FAILED when calling `cublasCreate(handle)`"), True),
        (GpuFull("model 'policy' could not act"), True),
        (RuntimeError("CUDA error: an illegal memory access was encountered"), False),
        (ValueError("CUDA out of memory"), False),
        ("CUDA out of memory", False),
    ],
)
def test_libraries_say_in_their_own_words_that_a_gpu_is_full(error, full):
    assert is_gpu_full(error) == full


@pytest.mark.slow
def test_one_at_a_time_waits_for_nobody(tmp_path):
    with (
        pytest.warns(Notice, match="faster seed 0 failed, and the others continue: .* memory is full"),
        pytest.raises(RunStopped, match=r"1 of 6 runs failed; faster seed 0: .* memory is full"),
    ):
        prove([crowded(tmp_path, 1)], how(tmp_path, quick=True), quiet)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_is_heard_when_the_wait_is_left_and_not_within(number):
    before = signal.getsignal(number)
    with pytest.raises(CtrlC), _asked_to_stop():
        with _heard_later() as noted:
            os.kill(os.getpid(), number)
            assert noted == [number], "nothing was raised"
        pytest.fail("it was not heard")
    assert signal.getsignal(number) is before


def test_a_wait_ends_at_a_signal_though_no_run_does():
    asleep = Future[str]()
    signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_REAL, 0.05)
    with pytest.raises(CtrlC), _asked_to_stop():
        _ended([asleep])
    assert not asleep.done()


def test_what_has_ended_is_told_with_what_it_came_to():
    right, wrong = Future[str](), Future[str]()
    right.set_result("")
    wrong.set_exception(ValueError("no table"))
    told = dict(_ended([right, wrong, Future[str]()]))
    assert told[right] == "" and str(told[wrong]) == "no table" and len(told) == 2
