"""What `make quick` leaves out: a change touches the test files in which what it changed ran, was imported or was opened."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
import touched
from touched import REST, Looking, Touched, closure, hashed_parts

TEXT = """
LIMIT = 3

class Counter:
    start = 1

    @property
    def first(self, by=2):
        # counts
        return self.start + by

def outer():
    def inner():
        return 1
    return inner()
"""


@pytest.mark.parametrize(
    ("old", "new", "changed"),
    [
        ("self.start + by", "self.start - by", {"Counter.first"}),
        ("return 1", "return 2", {"outer"}),
        ("LIMIT = 3", "LIMIT = 4", {REST}),
        ("start = 1", "start = 2", {REST}),
        ("by=2", "by=3", {"Counter.first", REST}),
        ("def outer", "def other():\n    pass\n\ndef outer", {"other", REST}),
    ],
)
def test_parts_of_a_module(old, new, changed):
    before, after = hashed_parts(TEXT), hashed_parts(TEXT.replace(old, new))
    assert before.keys() == {"Counter.first", "outer", REST}
    assert {name for name in {*before, *after} if before.get(name) != after.get(name)} == changed


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A repository with two modules, one of which imports the other, and a test file with a helper."""
    files = {
        "guerdon/__init__.py": "",
        "guerdon/first.py": "from guerdon.second import LIMIT\n\ndef used():\n    return LIMIT\n\ndef unused():\n    return 0",
        "guerdon/second.py": "LIMIT = 3\n\ndef far():\n    return 1\n",
        "guerdon/third.py": "ALONE = 1\n",
        "docs/page.md": "a page",
        "tests/test_first.py": "from helping import help_me\n\nfrom guerdon.first import used\n",
        "tests/helping.py": "def help_me():\n    pass\n",
        "pyproject.toml": "",
    }
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setattr(touched, "ROOT", tmp_path)
    forget()
    yield tmp_path
    forget()


def forget() -> None:
    for remembered in (touched.file_hash, touched.parts_of, touched.imports_of, touched.helpers):
        remembered.cache_clear()


class Remembering:
    """What pytest's cache keeps between two runs."""

    def __init__(self) -> None:
        self.kept = {}

    def get(self, name, default):
        return self.kept.get(name, default)

    def set(self, name, what):
        self.kept[name] = what


def a_run(cache, **told):
    """A quick run, which records a test file where it is told what ran in it; the map."""
    option = SimpleNamespace(keyword="", markexpr=touched.DEFAULT)
    run = Touched(SimpleNamespace(option=option, args=["tests"], cache=cache))
    run.pytest_sessionstart()
    run.looking.look(False)
    if told:
        said = {"ran": [("guerdon/first.py", "used")], "opened": ["docs/page.md"], "why": "", "passed": True, **told}
        run.keep("tests/test_first.py", said, said.pop("passed"))
        run.pytest_sessionfinish(SimpleNamespace(exitstatus=0))
    return run


@pytest.mark.parametrize(
    ("file", "old", "new", "left_out"),
    [
        ("guerdon/first.py", "return 0", "return 1", True),  # a function that did not run
        ("guerdon/second.py", "return 1", "return 2", True),
        ("guerdon/third.py", "1", "2", True),  # nothing that ran imports it
        ("guerdon/first.py", "return LIMIT", "return 2", False),
        ("guerdon/second.py", "LIMIT = 3", "LIMIT = 4", False),  # a constant that may have been read
        ("docs/page.md", "page", "book", False),
        ("tests/test_first.py", "used", "unused", False),
        ("tests/helping.py", "pass", "return 1", False),
        ("pyproject.toml", "", "[tool]", False),
    ],
)
def test_a_change_touches_the_files_that_it_could_reach(house, file, old, new, left_out):
    cache = Remembering()
    a_run(cache, passed=True)
    assert a_run(cache).is_as_it_was("tests/test_first.py")
    path = house / file
    path.write_text(path.read_text().replace(old, new, 1))
    forget()
    assert a_run(cache).is_as_it_was("tests/test_first.py") == left_out


@pytest.mark.parametrize("told", [{"passed": False}, {"why": "it starts processes: os.fork"}])
def test_what_cannot_be_mapped_is_run(house, told):
    cache = Remembering()
    assert not a_run(cache).is_as_it_was("tests/test_first.py"), "nothing is known of it yet"
    a_run(cache, **told)
    assert not a_run(cache).is_as_it_was("tests/test_first.py")


def test_imports_are_followed_within_a_folder(house):
    assert closure({"guerdon/first.py"}, "guerdon/") == {"guerdon/first.py", "guerdon/second.py"}
    assert closure({"tests/test_first.py"}, "tests/") == {"tests/test_first.py", "tests/helping.py"}


def test_what_runs_and_is_opened_is_seen(monkeypatch):
    from guerdon.core.seeds import derive

    before, looking = sys.gettrace(), Looking()
    looking.look(True)
    try:
        derive(0, "tokens")
        (touched.ROOT / "README.md").read_text()
        told = looking.told()
    finally:
        looking.look(False)
        sys.settrace(before)
    assert ("guerdon/core/seeds.py", "derive") in told["ran"] and told["opened"] == ["README.md"] and not told["why"]


@pytest.mark.parametrize(
    "how",
    [lambda: list(Path(touched.ROOT, "docs").iterdir()), lambda: sys.audit("subprocess.Popen", "true", [], None, None)],
)
def test_listed_folders_and_started_processes_are_seen(how):
    before, looking = sys.gettrace(), Looking()
    looking.look(True)
    try:
        how()
        assert looking.told()["why"]
    finally:
        looking.look(False)
        sys.settrace(before)
