"""Tests in several processes, forked when all tests are collected: `pytest --forks 3`.

Collecting imports every test file, which takes 10 seconds of a processor, and 24 where there is no bytecode yet: it is done
once, where processes that start from nothing each do it again. A worker takes a whole file at a time, so that a module's
fixtures are set up once; when no file is left it takes half of what another still has. A worker that ends without being asked
to fails the test that it ran, and another one takes its place. So does one for a worker that kept much memory when its file
was done: what a library never gives back adds up over hundreds of files.

Left out: warnings that a test records and that are no errors (`filterwarnings` in pyproject.toml makes them errors).
"""

from __future__ import annotations

import atexit
import contextlib
import gc
import multiprocessing
import os
import sys
from collections import deque
from multiprocessing import forkserver
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

import pytest
from touched import Touched

FORKED = multiprocessing.get_context("fork")
MOST_KEPT = 3 << 30  # bytes of memory with which a worker takes one more file


def add_options(parser: pytest.Parser) -> None:
    parser.addoption("--forks", type=int, default=0, metavar="N", help="run the tests in N processes")
    parser.addoption(
        "--quick", action="store_true", help="run the test files that changes since the last quick run touched"
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

    def hand(self, test: int | None) -> None:
        """Tell it the test after the one that it runs; nothing, and it ends then."""
        if test is not None:
            self.given.append(test)
        with contextlib.suppress(BrokenPipeError):  # it is gone since
            self.wire.send(test)

    @property
    def kept(self) -> int:
        """Bytes of memory that it has; none where this system does not tell."""
        try:
            pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        except OSError:
            return 0
        return pages * os.sysconf("SC_PAGE_SIZE")

    def heard(self) -> Any:
        """The next thing that it says: reports of a test that it ran, or the map of its file; nothing when it is gone."""
        try:
            return self.wire.recv()
        except (EOFError, ConnectionResetError):
            return None


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
            # libraries that look for leaks at the end would find them; pytest looks for garbage before that
            atexit.register(gc.unfreeze)
            for worker in self._workers:
                worker.process.terminate()
                worker.process.join()
        return True

    def _start(self, session: pytest.Session, number: int) -> None:
        worker = Worker(number)
        worker.start(session, self._workers, self._touched)
        self._workers.append(worker)
        worker.hand(self._next(worker))
        if worker.given:
            worker.hand(self._next(worker))

    def _hear(self, session: pytest.Session) -> None:
        waiting = {worker.wire: worker for worker in self._workers}
        for wire in wait(list(waiting)):
            worker = waiting[wire]
            heard = worker.heard()
            if heard is None:
                self._gone(session, worker)
            elif isinstance(heard, dict):
                assert self._touched and worker.file
                self._touched.keep(
                    worker.file.relative_to(session.config.rootpath).as_posix(), heard, worker.file not in self._failed
                )
            else:
                self._tell(session.items[worker.given.popleft()], heard)
                if worker.given:
                    worker.hand(self._next(worker))

    def _tell(self, item: pytest.Item, reports: list[dict[str, Any]]) -> None:
        hook = item.ihook
        hook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
        for data in reports:
            report = hook.pytest_report_from_serializable(config=item.config, data=data)
            hook.pytest_runtest_logreport(report=report)
            if report.failed:
                self._failed.add(item.path)
        hook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _next(self, worker: Worker) -> int | None:
        if worker.file is not None and not worker.left:
            alone = self._touched is not None  # a process for each file
            if alone or worker.kept > MOST_KEPT:
                return None
        if not worker.left and self._files:
            worker.file, tests = self._files.popleft()
            worker.left.extend(tests)
        if not worker.left and self._touched is None:
            most = max((each.left for each in self._workers), key=len)
            worker.left.extendleft([most.pop() for _ in range((len(most) + 1) // 2)])
        return worker.left.popleft() if worker.left else None

    def _gone(self, session: pytest.Session, worker: Worker) -> None:
        """A worker ended: all is done, or something ended it."""
        self._workers.remove(worker)
        worker.process.join()
        if not worker.given:
            if self._files or (self._touched is None and any(each.left for each in self._workers)):
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
    """What keeps the reports of a test in a worker, for the process that shows them."""

    def __init__(self, config: pytest.Config) -> None:
        self.reports: list[dict[str, Any]] = []
        self._config = config

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        hook = self._config.hook
        self.reports.append(hook.pytest_report_to_serializable(config=self._config, report=report))


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
    plugins.register(telling := Telling(config))
    temporary = config._tmp_path_factory
    temporary._basetemp = temporary.getbasetemp() / f"worker-{number}"
    temporary._basetemp.mkdir(exist_ok=True)

    if touched:
        touched.looking.look(True)
    running = wire.recv()
    while running is not None:
        after = wire.recv()
        item = session.items[running]
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None if after is None else session.items[after])
        wire.send(telling.reports)
        telling.reports.clear()
        running = after
    if touched:
        wire.send(touched.looking.told())
    atexit._run_exitfuncs()
