"""docs/promises.md: it says what the tests of today say, and every one of them was tried."""

from __future__ import annotations

import importlib
import json
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def script():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "scripts"))
        return importlib.import_module("document_promises")


def test_the_page_is_up_to_date(script):
    assert script.PAGE.read_text() == script.page(), "run `make pages`"


def test_every_promise_says_what_it_is_and_every_attack_what_it_does(script):
    silent = [f"{file.name}::{a.name}" for file in script.promises() for a in script.attacks(file) if not a.says]
    assert silent == [], "give these tests a docstring: it is their row in docs/promises.md"


def test_every_attack_was_tried(script):
    counts = json.loads(script.COUNTS.read_text())
    there = {f"{file.name}::{a.name}" for file in script.promises() for a in script.attacks(file)}
    assert there - counts.keys() == set(), "run `make promises`"
    assert counts.keys() - there == set(), "these are gone: run `make promises`"
