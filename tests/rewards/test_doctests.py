"""The examples in the docstrings of rewards run."""

from __future__ import annotations

import doctest
import importlib
from pathlib import Path

import pytest

import guerdon

ROOM = Path(guerdon.__file__).parent / "rewards"
MODULES = [path for path in sorted(ROOM.rglob("*.py")) if ">>>" in path.read_text()]


@pytest.mark.parametrize("path", MODULES, ids=lambda path: path.stem)
def test_examples_in_docstrings(path):
    name = ".".join(path.relative_to(ROOM.parent.parent).with_suffix("").parts)
    results = doctest.testmod(importlib.import_module(name))
    assert results.attempted and not results.failed
