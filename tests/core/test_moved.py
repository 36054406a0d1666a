"""Old import paths: each still gives what it gave, says the new one in a line, and is used by nothing of ours."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path

import pytest

from guerdon.core.renamed import MODULES, Renamed

ROOT = Path(__file__).parents[2]


def test_an_old_path_gives_the_same_names_and_says_the_new_path():
    for old, now in MODULES.items():
        sys.modules.pop(old, None)
        with pytest.warns(Renamed, match=f"{old} is now {now};"):
            before = importlib.import_module(old)
        there = importlib.import_module(now)
        public = [name for name in vars(there) if not name.startswith("_") and f"{now}.{name}" not in MODULES]
        assert public and all(getattr(before, name) is getattr(there, name) for name in public)


def test_a_path_that_never_was_is_refused_as_ever():
    with pytest.raises(ModuleNotFoundError, match="credit"):
        importlib.import_module("guerdon.credit.never")


def test_no_moved_module_is_there_and_nothing_of_ours_asks_for_it():
    paths = re.compile(rf"\b(?:{'|'.join(map(re.escape, MODULES))})\b")
    for old in MODULES:
        assert not ROOT.joinpath(*old.split(".")).with_suffix(".py").exists(), old
    files = [
        p for folder in ("guerdon", "tests", "scripts", "bench", "examples") for p in (ROOT / folder).rglob("*.py")
    ]
    for path in [*files, *(ROOT / "docs").rglob("*.md"), ROOT / "README.md"]:
        assert path.name in (Path(__file__).name, "test_renamed.py", "renamed.py") or not paths.search(
            path.read_text()
        ), path
