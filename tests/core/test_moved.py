"""Old import paths: each still gives what it gave, says the new one in a line, and is used by nothing of ours."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

from guerdon.core.errors import Notice
from guerdon.core.moved import MOVED

ROOT = Path(__file__).parents[2]


def test_an_old_path_gives_the_same_names_and_says_the_new_path():
    for old, now in MOVED.items():
        sys.modules.pop(old, None)
        with pytest.warns(Notice, match=f"{old} is {now} now"):
            before = importlib.import_module(old)
        there = importlib.import_module(now)
        public = [name for name in vars(there) if not name.startswith("_")]
        assert public and all(getattr(before, name) is getattr(there, name) for name in public)


def test_a_path_that_never_was_is_refused_as_ever():
    with pytest.raises(ModuleNotFoundError, match="credit"):
        importlib.import_module("guerdon.credit.never")


def test_no_moved_module_is_there_and_nothing_of_ours_asks_for_it():
    paths = re.compile(rf"\b(?:{'|'.join(map(re.escape, MOVED))})\b")
    for old in MOVED:
        assert not ROOT.joinpath(*old.split(".")).with_suffix(".py").exists(), old
    files = [
        p for folder in ("guerdon", "tests", "scripts", "bench", "examples") for p in (ROOT / folder).rglob("*.py")
    ]
    for path in [*files, *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        assert path == Path(__file__) or not paths.search(path.read_text()), path


def test_the_notice_points_at_the_line_that_imports():
    code = "import warnings\nwarnings.simplefilter('always')\nfrom guerdon.credit.sums import later_sum\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "<string>:3: Notice: guerdon.credit.sums is guerdon.credit.returns now" in done.stderr
