"""Many small runs at once, each in a process of its own: they share one GPU, or the processor's cores.

A small model leaves a GPU idle most of the time while Python gets the next step ready;
several processes fill each other's gaps.
Every run has a folder named by what it computes, so that a finished run is read and an interrupted one resumed.
Leaves out: several machines.
"""

from __future__ import annotations

import contextlib
import ctypes
import dataclasses
import functools
import gc
import multiprocessing
import os
import shutil
import signal
import threading
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from multiprocessing.synchronize import Event
from pathlib import Path
from types import FrameType
from typing import Any

import torch

from guerdon.core.errors import CtrlC, GpuFull, Notice, RunStopped, UserError, is_gpu_full
from guerdon.core.part import fingerprint
from guerdon.core.recipe import Study
from guerdon.engine.gpu_memory import share_gpu
from guerdon.prove.arms import Arm, machine
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run, damage_of, drop_damaged
from guerdon.runs.whole_files import absolute
from guerdon.training.build import config_of
from guerdon.training.loop import run_recipe
from guerdon.training.record import Interrupt
from guerdon.training.study import run_study
from guerdon.training.trust import remember
from guerdon.training.what_ran import WhatRan, also, ran_in
from guerdon.workers.processes import die_with_parent

INTERRUPTED = "interrupted"
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ON_GPU = 12  # runs at a time on one GPU; more wait for it and for each other
SPARE = 2  # jobs that lie ready for the workers
CHANCES = 3  # of a run that finds no room on a GPU that it shares; the last it has alone
LISTENS = 0.5  # seconds between two looks whether a signal came
SLEEPS = 4  # cudaDeviceScheduleBlockingSync
_stop: Event | None = None  # in a worker: whether the user asked to stop


@dataclass(frozen=True)
class RunJob:
    """One arm with one seed, in a folder."""

    arm: Arm
    seed: int
    folder: Path
    key: str = ""
    at_a_time: int = 1  # how many run at once, which is what their seconds depend on
    keeps: bool = False  # its models, for others to begin with
    after: tuple[Path, ...] = ()  # folders of the runs that it begins with
    alone: bool = False  # a study makes all of its runs itself, whatever others of its seed have made
    chances: int = CHANCES  # starts, where it finds no memory

    @property
    def name(self) -> str:
        return f"{self.arm.what} seed {self.seed}"

    @functools.cached_property
    def inner(self) -> Path | None:
        """Where a study's runs are made: those of one code and seed make what they have in common once."""
        if self.alone or not self.arm.is_study:
            return None
        return self.folder.parent / ".inner" / fingerprint([*self._kin, self.arm.options.keeping])

    @property
    def shares(self) -> Path | None:
        """The folder of what it has in common with others, for which they wait while one makes it."""
        return self.inner or self.starts

    @functools.cached_property
    def starts(self) -> Path | None:
        """Where the exams before the first step are kept: runs of one code and seed evaluate equal ones once."""
        return None if self.alone else self.folder.parent / ".starts" / fingerprint(self._kin)

    @property
    def _kin(self) -> list[Any]:
        return [self.arm.code, machine(), self.seed]


def is_done(folder: Path, code: str = "") -> bool:
    """Whether a run is complete, and all of it as it was written: one that is damaged is made again, not read. One that was
    made with another `code` is not a run of this program."""
    run = RunFolder(folder)
    is_whole = run.exists() and run.events.exists() and not damage_of(run) and Run(run).status == "complete"
    return is_whole and (not code or run.read_config().get("code") == code)


def run_job(job: RunJob) -> str:
    """Run to the end, or resume what an earlier process left, unless that is damaged; the reason of a failure, in a line."""
    try:
        return _run(job)
    except UserError as error:
        return str(error)


def _run(job: RunJob) -> str:
    folder = RunFolder(job.folder)
    with folder.lock():
        return _run_held(job, folder)


def _run_held(job: RunJob, folder: RunFolder) -> str:
    here, arm = absolute(""), job.arm.begun(job.folder.parent)
    notes = drop_damaged(folder)
    if folder.exists() and folder.read_config().get("code") != job.arm.code:
        folder.clear()  # started with other code: its contents may be another run's
    with WhatRan(job.arm.beside, folder.path) as ran:
        also(unit for start in job.after for unit in ran_in(start))
        built, options = arm.build(), arm.options
        recipe = built.recipe
        steps = 0 if isinstance(recipe, Study) else recipe.steps
        if not folder.exists():
            config = config_of(built, arm.request, job.seed, steps, options)
            folder.create({**config, "at_a_time": job.at_a_time})
            notes += remember(config, here)
        if isinstance(recipe, Study):
            run_study(recipe, folder, options, job.seed, [ran.paced], notes, job.inner)
        else:
            run_recipe(recipe, folder, options, job.seed, steps, [ran.paced], notes, job.starts)
    if not is_done(job.folder):
        return INTERRUPTED
    shutil.rmtree(folder.checkpoints, ignore_errors=True)  # the events contain all that a proof needs
    if not job.keeps:
        shutil.rmtree(folder.models, ignore_errors=True)
    return ""


def at_a_time() -> int:
    """How many runs this machine takes at once."""
    cores = len(os.sched_getaffinity(0))
    return min(ON_GPU, cores) if torch.cuda.is_available() else cores


def run_all(jobs: Iterable[RunJob], workers: int, done: Callable[[RunJob], Iterable[RunJob]]) -> None:
    """Run what is not yet done, `workers` at a time, those that others begin with first; `done` is called with each as it
    ends, and returns what else to run, after all that waits.

    One that fails stops only those that begin with it: it is reported at once, and all failures together at the
    end.
    """
    queue = [dataclasses.replace(job, at_a_time=workers) for job in jobs]
    first = {folder for job in queue for folder in job.after}
    queue.sort(key=lambda job: job.folder not in first)
    failed: dict[str, str | BaseException] = {}
    number = 0
    with _asked_to_stop():
        for job, why in _each(queue, workers):
            number += 1
            if why == INTERRUPTED:
                raise CtrlC
            if why:
                if str(why) not in map(str, failed.values()):
                    _notice(f"{job.name} failed, and the others continue: {why}")
                failed[job.name] = why
                queue[:] = [other for other in queue if job.folder not in other.after]
            else:
                queue += [dataclasses.replace(more, at_a_time=workers) for more in done(job)]
    if failed:
        name, why = next(iter(failed.items()))
        summary = f"{len(failed)} of {number} runs failed; {name}"
        if isinstance(why, BaseException):  # a fault of the program's: where it happened is wanted
            why.add_note(summary)
            raise why
        raise RunStopped(f"{summary}: {why}")


def _each(queue: list[RunJob], workers: int) -> Iterator[tuple[RunJob, str | BaseException]]:
    """Each job as it ends, with why it failed if it did: a line of the user's, or an exception of the program's own. Jobs may
    be added to the queue on the way. Each that finds the GPU full makes those that run at a time one fewer."""
    if workers <= 1:  # not where one job waits: others may follow from it
        while queue:
            job = queue.pop(0)
            yield job, run_job(job)
        return
    spawn = multiprocessing.get_context("spawn")
    with _no_signals():  # for the process that Python starts to tidy up after all of us
        stop = spawn.Event()
    under_way, full = dict[Future[str], RunJob](), list[RunJob]()  # the latter found no room on the GPU
    most = workers + SPARE
    with few_threads(workers), ProcessPoolExecutor(workers, spawn, _begin, (stop, workers)) as pool:
        try:
            while queue or under_way or full:
                if not under_way:
                    queue += full
                    full.clear()
                with _no_signals():  # for the started process: `stop` tells it to end, whatever it is doing
                    ready = _ready(queue, under_way.values(), full, most)
                    under_way |= {pool.submit(_work, job): job for job in ready}
                for future, outcome in _ended(under_way):
                    job = under_way.pop(future)
                    if is_gpu_full(outcome) and job.chances > 1:
                        most = max(1, min(most, workers) - 1)
                        full.append(dataclasses.replace(job, chances=job.chances - 1))
                        when = "when another run has ended" if job.chances > 2 else "alone, after the others"
                        _notice(f"{job.name} found the GPU's memory full: it is restarted {when}; now {most} at a time")
                        continue
                    queue += full
                    full.clear()
                    yield job, str(outcome) if isinstance(outcome, UserError) else outcome
        finally:  # however we leave: each run ends its step and saves, and waiting runs are not started
            stop.set()
            try:
                pool.shutdown(wait=True, cancel_futures=True)
            except CtrlC:  # the user will not wait for that
                for worker in _workers():
                    worker.kill()
                raise


def _ended(under_way: Collection[Future[str]]) -> list[tuple[Future[str], str | BaseException]]:
    """Those that have ended, once one has, with their results. Signals are handled between short waits: an exception
    raised within a wait could leave a lock of the library's broken."""
    ended = set[Future[str]]()
    with _heard_later() as signals:
        while not ended and not signals:
            ended = wait(under_way, LISTENS, FIRST_COMPLETED).done
        outcomes = [(future, future.exception() or future.result()) for future in ended]
    broken = [error for _, error in outcomes if isinstance(error, BrokenProcessPool)]
    if broken:
        raise RunStopped(
            "a run's process ended without a word, most likely for want of memory: use fewer --jobs"
        ) from broken[0]
    return outcomes


def _ready(queue: list[RunJob], under_way: Collection[RunJob], full: Collection[RunJob], most: int) -> list[RunJob]:
    """Jobs to hand over now, taken off the queue: enough that no worker waits, and none whose beginnings are not there. One
    that has its last chance is handed over alone, when nothing else can be."""
    missing = {job.folder for job in (*queue, *under_way, *full)}
    able = [job for job in queue if missing.isdisjoint(job.after)]
    free = 0 if any(job.chances == 1 for job in under_way) else max(0, most - len(under_way))
    ready = _apart([job for job in able if job.chances > 1], under_way)[:free]
    if not ready and not under_way:
        ready = [job for job in able if job.chances == 1][:1]
    chosen = {job.folder for job in ready}
    queue[:] = [job for job in queue if job.folder not in chosen]
    return ready


def _apart(jobs: Iterable[RunJob], under_way: Iterable[RunJob]) -> list[RunJob]:
    """Those first that share no runs and no exam with one that is under way or before them: the others would wait for it."""
    busy = {job.shares for job in under_way if job.shares}
    first, later = list[RunJob](), list[RunJob]()
    for job in jobs:
        (later if job.shares in busy else first).append(job)
        busy |= {job.shares} if job.shares else set()
    return first + later


def _begin(stop: Event, workers: int) -> None:
    """A worker has no ears for signals: it is asked to end its step and save by `stop` alone. It ends with the process that
    started it, however that ended: an orphan would occupy a GPU."""
    global _stop
    _stop = stop
    Interrupt.instead = stop.is_set
    for number in SIGNALS:
        signal.signal(number, lambda *_: None)  # not ignored: what a reward starts would inherit that
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    share_machine(workers)
    die_with_parent()  # on Linux the kernel sees to it, even while this process is stopped or deep in a library
    threading.Thread(target=_follow, name="follow", daemon=True).start()


def share_machine(workers: int) -> None:
    """Called before the first use of the GPU, by one of several processes that use it."""
    wait_asleep()
    share_gpu(workers)


def wait_asleep() -> None:
    """Wait for the GPU asleep, not in a loop that asks: there are more runs than cores. Called before the first kernel; where
    the library of CUDA cannot be reached, waiting costs a core."""
    if torch.version.cuda is None:
        return
    with contextlib.suppress(OSError, AttributeError):
        library = ctypes.CDLL(f"libcudart.so.{torch.version.cuda.partition('.')[0]}")
        library.cudaSetDeviceFlags(SLEEPS)


def _follow() -> None:
    """Elsewhere, and where the parent ended before the kernel call: a pipe that the parent holds open."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _notice(text: str) -> None:
    warnings.warn(text, Notice, stacklevel=3)


def _workers() -> list[BaseProcess]:
    return [child for child in multiprocessing.active_children() if child.name.startswith("SpawnProcess")]


@contextmanager
def _no_signals() -> Iterator[None]:
    """Processes started inside do not receive them; this process handles them afterwards."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _asked_to_stop() -> Iterator[None]:
    """SIGTERM, and SIGHUP when a terminal is closed, stop the runs as Ctrl-C does."""

    def stop(number: int, frame: FrameType | None) -> None:
        if number == signal.SIGHUP:  # it comes twice, from the terminal and from its shell, and is meant once
            signal.signal(number, lambda *_: None)
        raise CtrlC

    with _hearing(stop):
        yield


@contextmanager
def _heard_later() -> Iterator[list[int]]:
    """Signals inside are recorded; the first of them is handled on leaving."""
    noted = list[int]()
    with _hearing(lambda number, frame: noted.append(number)):
        yield noted
    if noted:
        signal.raise_signal(noted[0])


@contextmanager
def _hearing(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Signals inside go to a handler, where this thread receives signals; one that is ignored (nohup) stays so."""
    in_main = threading.current_thread() is threading.main_thread()
    heard = [number for number in SIGNALS if in_main and signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)


def _work(job: RunJob) -> str:
    """Run, unless the user asked to stop: a worker has its next job before it has ended the one before. Why it could not, in a
    line, or an exception of the program's own; a full GPU is one too, for then the run is restarted."""
    try:
        return INTERRUPTED if _stop is not None and _stop.is_set() else _run(job)
    except GpuFull:
        raise
    except UserError as error:
        return str(error)
    finally:
        gc.collect()  # what holds itself holds memory of the GPU
        torch.cuda.empty_cache()  # others may want it before the next job does


@contextmanager
def few_threads(workers: int) -> Iterator[None]:
    """Processes started inside share the cores: libraries that ask the environment how many threads to use get their part."""
    cores = len(os.sched_getaffinity(0))
    wanted = {"OMP_NUM_THREADS": str(max(1, cores // workers)), "TOKENIZERS_PARALLELISM": str(workers < cores).lower()}
    before = {name: os.environ.get(name) for name in wanted}
    os.environ |= wanted
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
