"""The command line in processes of their own, started in a moment: they are forked from one that has torch loaded.

A start from nothing takes seconds of a processor, nearly all of them for imports. What is forked is a real process with its own
working folder, environment, pipes and signals. Left out: what happens while Python itself starts or ends (`atexit`).
"""

from __future__ import annotations

import io
import multiprocessing
import os
import resource
import signal
import sys
from collections.abc import Mapping, Sequence
from multiprocessing.connection import Connection
from pathlib import Path

FORKING = multiprocessing.get_context("forkserver")
FORKING.set_forkserver_preload(["guerdon.cli.main", "guerdon.bridges.serve.runner", "guerdon.rewards.formula.reward"])


class Started:
    """A process that runs, with what tests use of `subprocess.Popen`."""

    def __init__(self, words: Sequence[str], folder: Path, env: Mapping[str, str], files: int | None = None) -> None:
        out, into_out = FORKING.Pipe(duplex=False)
        err, into_err = FORKING.Pipe(duplex=False)
        given = ([*words], str(folder), dict(env), into_out, into_err, files)
        self._process = FORKING.Process(target=_run, args=given, daemon=True)
        self._process.start()
        self.pid = self._process.pid
        for end in (into_out, into_err):
            end.close()
        self.stdout, self.stderr = (io.TextIOWrapper(os.fdopen(os.dup(end.fileno()), "rb")) for end in (out, err))

    def poll(self) -> int | None:
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it runs on"
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        os.kill(self.pid, number)

    def kill(self) -> None:
        self._process.kill()

    def close(self) -> None:
        """End it, and forget it."""
        self.kill()
        self.wait()
        for end in (self.stdout, self.stderr):
            end.close()
        self._process.close()


def modules_after(words: Sequence[str], folder: Path) -> set[str]:
    """The modules that a process has imported when a command line has run in it."""
    names, into_names = FORKING.Pipe(duplex=False)
    process = FORKING.Process(target=_name_modules, args=([*words], str(folder), into_names))
    process.start()
    into_names.close()
    try:
        return names.recv()
    finally:
        process.join()


def _name_modules(words: list[str], folder: str, into_names: Connection) -> None:
    os.chdir(folder)
    from guerdon.cli.main import main

    assert main(words) == 0
    into_names.send({*sys.modules})


def _run(
    words: list[str], folder: str, env: dict[str, str], out: Connection, err: Connection, files: int | None
) -> None:
    for number, end in ((1, out), (2, err)):
        os.dup2(end.fileno(), number)
        end.close()
    for heard in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(heard, signal.default_int_handler if heard == signal.SIGINT else signal.SIG_DFL)
    if files is not None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (files, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(env)
    sys.path[:0] = ["", *env.get("PYTHONPATH", "").split(os.pathsep)]
    sys.argv = ["guerdon", *words]
    from guerdon.cli.main import program

    program()
