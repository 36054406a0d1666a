"""The examples in the docstrings of rewards run."""

from __future__ import annotations

import doctest
import importlib

import pytest

MODULES = [
    "answers",
    "shape",
    "budgets",
    "difficulty",
    "reading",
    "overlap",
    "groups",
    "confidence",
    "implicit",
    "model_scores",
    "retrieval",
]
MODULES += ["gain", "novelty", "feedback"]


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name):
    found = doctest.testmod(importlib.import_module(f"guerdon.rewards.{name}"))
    assert found.failed == 0
    assert found.attempted or name not in ("answers", "shape")
