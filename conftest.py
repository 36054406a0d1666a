"""Shared by all tests and by the examples in docstrings: what guerdon remembers of its runs stays out of the home of whoever
runs them, signals are heard as in a terminal, and what needs a library that is not here is left out."""

import signal
import sys
import tempfile
from collections.abc import Generator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from _pytest.doctest import DoctestItem, DoctestModule

collect_ignore = [] if find_spec("triton") else ["guerdon/models/kernels"]  # make kernels
collect_ignore_glob = ["tests/sandbox/hostile*"]  # read as text and run in boxes alone: what pytest collects it imports


@pytest.hookimpl(wrapper=True)
def pytest_collect_file(file_path: Path) -> Generator[None, list[Any], list[Any]]:
    """Examples are looked for where there are some: to search every object of every file takes each worker seconds."""
    collected = yield
    return [one for one in collected if not isinstance(one, DoctestModule) or ">>>" in file_path.read_text("utf8")]


def pytest_configure(config: pytest.Config) -> None:
    """One folder for all processes of a run: to compare evidence with the code takes seconds, and is remembered there."""
    folder, patch = tempfile.TemporaryDirectory(), pytest.MonkeyPatch()
    patch.setenv("XDG_STATE_HOME", folder.name)
    patch.setenv("XDG_CACHE_HOME", folder.name)
    patch.setenv("XDG_DATA_HOME", folder.name)
    config.add_cleanup(folder.cleanup)
    config.add_cleanup(patch.undo)


@pytest.fixture(scope="session", autouse=True)
def signals_heard() -> None:
    """Whoever runs the tests in the background, or under nohup, has them and all that they start ignore signals."""
    for number, plain in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, plain)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None]:
    """Forget the parts that a docstring's example defines: tests that go through every part must not see them."""
    before = dict(core.PARTS) if (core := sys.modules.get("guerdon.core.part")) else {}
    yield
    if isinstance(item, DoctestItem) and core is not None:
        for place in core.PARTS.keys() - before.keys():
            part = core.PARTS[place]
            if getattr(sys.modules[part.__module__], part.__name__, None) is not part:
                del core.PARTS[place]
