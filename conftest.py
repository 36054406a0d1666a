"""Shared by all tests and by the examples in docstrings: what guerdon remembers of its runs stays out of the home of whoever
runs them, signals are heard as in a terminal, what needs a library that is not here is left out, and workers that begin
together share the work of making tests ready."""

import compileall
import multiprocessing
import signal
import sys
import tempfile
from collections.abc import Generator, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.assertion import rewrite
from _pytest.doctest import DoctestModule

collect_ignore = [] if find_spec("triton") else ["guerdon/models/kernels"]  # make kernels
collect_ignore_glob = ["tests/sandbox/hostile*"]  # read as text and run in boxes alone: what pytest collects it imports


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Examples are looked for where there are some: to search every object of every file takes each worker seconds."""
    collected = yield
    return [one for one in collected if not isinstance(one, DoctestModule) or ">>>" in file_path.read_text("utf8")]


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes(config: pytest.Config, specs: Sequence[object]) -> None:
    """Python and pytest write their forms of each file beside it. Workers that read all files in one order would each write
    all of them, which takes a quarter of a minute: a share for each is enough."""
    if sys.dont_write_bytecode:
        return
    given = [Path(arg.partition("::")[0]) for arg in config.args]
    files = [file for each in given for file in ([each] if each.is_file() else each.rglob("*.py"))]
    fork = multiprocessing.get_context("fork")
    shares = [fork.Process(target=write_ready, args=(config, files[n :: len(specs)])) for n in range(len(specs))]
    for each in shares:
        each.start()
    for each in shares:
        each.join()


def write_ready(config: pytest.Config, files: Sequence[Path]) -> None:
    for file in files:
        if not file.name.startswith("test_"):
            compileall.compile_file(file, quiet=2)
            continue
        folder = rewrite.get_cache_dir(file.resolve())
        ready = folder / f"{file.stem}{rewrite.PYC_TAIL}"
        if rewrite._read_pyc(file, ready) is None and rewrite.try_makedirs(folder):
            known, code = rewrite._rewrite_test(file.resolve(), config)
            rewrite._write_pyc(config.stash[rewrite.assertstate_key], code, known, ready)


@pytest.fixture(scope="session", autouse=True)
def state_apart() -> Iterator[None]:
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_STATE_HOME", folder)
        yield


@pytest.fixture(scope="session", autouse=True)
def signals_heard() -> None:
    """Whoever runs the tests in the background, or under nohup, has them and all that they start ignore signals."""
    for number, plain in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, plain)
