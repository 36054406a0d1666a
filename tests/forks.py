"""Tests in several processes, forked when all tests are collected: `pytest --forks 3`.

Collecting imports every test file, which takes 10 seconds of a processor, and 24 where there is no bytecode yet: it is done
once, where processes that start from nothing each do it again. A worker takes a whole file at a time, so that a module's
fixtures are set up once; when no file is left it takes half of what another still has. A worker that ends without being asked
to fails the test that it ran, and another one takes its place.

Left out: warnings that a test records and that are no errors (`filterwarnings` in pyproject.toml makes them errors).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import multiprocessing
import sys
from collections import deque
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest
from touched import Touched

FORKED = multiprocessing.get_context("fork")


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, metavar="N", help="run the tests in N processes")
    parser.addoption(
        "--quick", action="store_true", help="run the test files that changes since their last quick run touched"
    )


def configure(config: pytest.Config) -> None:
    touched = Touched(config) if config.getoption("--quick") else None
    if touched:
        config.pluginmanager.register(touched)
    if (count := config.getoption("--forks")) or touched:
        config.pluginmanager.register(Forks(count or 1, touched))


class Worker:
    """What the process that hands tests out knows of one that runs them."""

    def __init__(self, number: int) -> None:
        self.number = number
        self.wire, self._far_end = FORKED.Pipe()
        self.left: deque[int] = deque()  # tests of its file, by their place among all
        self.given: deque[int] = deque()  # what it runs, and what it runs then
        self.file: Path | None = None  # that it took last

    def start(self, session: pytest.Session, others: list[Worker], touched: Touched | None) -> None:
        ours = [
            each.wire for each in (*others, self)
        ]  # open in a worker, they would keep others from seeing that we are gone
        self.process = FORKED.Process(target=_work, args=(session, self._far_end, ours, self.number, touched))
        self.process.start()
        self._far_end.close()

    def heard(self) -> tuple[str, Any]:
        """The next thing that it says: of a worker that is gone, that it is."""
        try:
            return self.wire.recv()
        except (EOFError, ConnectionResetError):
            return "gone", None


class Forks:
    """The loop over all tests."""

    def __init__(self, count: int, touched: Touched | None) -> None:
        self._count, self._touched = count, touched
        self._workers: list[Worker] = []
        self._files: deque[tuple[Path, list[int]]] = deque()
        self._failed: set[Path] = set()

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool | None:
        if session.testsfailed or session.config.option.collectonly:
            return None  # pytest's own loop says so
        files: dict[Path, list[int]] = {}
        for number, item in enumerate(session.items):
            files.setdefault(item.path, []).append(number)
        self._files = deque(sorted(files.items(), key=lambda file: -file[0].stat().st_size))  # the long ones first
        session.config._tmp_path_factory.getbasetemp()  # the workers' folders lie in it
        if "started" in sys.modules:
            forkserver.ensure_running()  # one for all workers, with torch loaded
        gc.collect()
        gc.freeze()  # no worker looks for garbage in what all of them have
        for number in range(self._count):
            self._start(session, number)
        try:
            while self._workers:
                self._hear(session)
                if session.shouldfail:
                    raise session.Failed(session.shouldfail)
                if session.shouldstop:
                    raise session.Interrupted(session.shouldstop)
        finally:
            gc.unfreeze()  # libraries that look for leaks at the end would find them
            for worker in self._workers:
                worker.process.terminate()
                worker.process.join()
        return True

    def _start(self, session: pytest.Session, number: int) -> None:
        worker = Worker(number)
        worker.start(session, self._workers, self._touched)
        self._workers.append(worker)

    def _hear(self, session: pytest.Session) -> None:
        waiting = {worker.wire: worker for worker in self._workers}
        for wire in wait(list(waiting)):
            worker = waiting[wire]
            kind, what = worker.heard()
            if kind == "gone":
                self._gone(session, worker)
            elif kind == "next":
                with contextlib.suppress(BrokenPipeError):  # it is gone since
                    worker.wire.send(self._next(worker))
            elif kind == "report":
                config = session.config
                report = config.hook.pytest_report_from_serializable(config=config, data=what)
                config.hook.pytest_runtest_logreport(report=report)
                if report.failed and worker.file:
                    self._failed.add(worker.file)
            elif kind == "ran":
                assert self._touched and worker.file
                self._touched.keep(
                    worker.file.relative_to(session.config.rootpath).as_posix(), what, worker.file not in self._failed
                )
            else:
                item = session.items[worker.given[0]]
                told = item.ihook.pytest_runtest_logstart if kind == "began" else item.ihook.pytest_runtest_logfinish
                told(nodeid=item.nodeid, location=item.location)
                if kind == "ended":
                    worker.given.popleft()

    def _next(self, worker: Worker) -> int | None:
        alone = self._touched is not None and worker.file is not None  # a process for each file
        if not worker.left and self._files and not alone:
            worker.file, tests = self._files.popleft()
            worker.left.extend(tests)
        if not worker.left and self._touched is None:
            most = max((each.left for each in self._workers), key=len)
            worker.left.extendleft([most.pop() for _ in range((len(most) + 1) // 2)])
        if not worker.left:
            return None
        worker.given.append(worker.left.popleft())
        return worker.given[-1]

    def _gone(self, session: pytest.Session, worker: Worker) -> None:
        """A worker ended: all is done, or something ended it."""
        self._workers.remove(worker)
        worker.process.join()
        if not worker.given:
            if self._files:
                self._start(session, worker.number)
            return
        item = session.items[worker.given.popleft()]
        why = f"the process of this test ended with exit code {worker.process.exitcode}"
        item.ihook.pytest_runtest_logreport(
            report=pytest.TestReport(item.nodeid, item.location, {}, "failed", why, "call")
        )
        self._failed.add(item.path)
        self._files.append((item.path, [*worker.given, *worker.left]))
        self._start(session, worker.number)


class Telling:
    """What tells in a worker: its reports go to the process that shows them."""

    def __init__(self, wire: Connection, config: pytest.Config) -> None:
        self._wire, self._config = wire, config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        data = self._config.hook.pytest_report_to_serializable(config=self._config, report=report)
        self._wire.send(("report", data))


def _work(
    session: pytest.Session, wire: Connection, theirs: list[Connection], number: int, touched: Touched | None
) -> None:
    atexit._clear()  # what was registered before belongs to the other process
    for each in theirs:
        each.close()
    if "started" in sys.modules:
        forkserver._forkserver.ensure_running = lambda: None  # it is: as a child of the other process
    config, plugins = session.config, session.config.pluginmanager
    capture = plugins.getplugin("capturemanager")
    capture.stop_global_capturing()  # into files that are the other process's
    capture.start_global_capturing()
    plugins.unregister(name="terminalreporter")
    plugins.register(Telling(wire, config))
    temporary = config._tmp_path_factory
    temporary._basetemp = temporary.getbasetemp() / f"worker-{number}"
    temporary._basetemp.mkdir(exist_ok=True)

    def following() -> int | None:
        wire.send(("next", None))
        return wire.recv()

    if touched:
        touched.looking.look(True)
    running = following()
    while running is not None:
        after = following()
        wire.send(("began", None))
        item = session.items[running]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None if after is None else session.items[after])
        wire.send(("ended", None))
        running = after
    if touched:
        wire.send(("ran", touched.looking.told()))
    atexit._run_exitfuncs()
