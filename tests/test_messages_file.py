"""`messages.txt` has the sentence of each refusal that a test provokes, and nothing else."""

from __future__ import annotations

import pytest
import refusals
from refusals import golden, plain, provoking, refusal

from guerdon.core.errors import RunStopped, UserError


def test_every_test_that_provokes_refusals_has_its_messages():
    assert {test.partition("[")[0] for test in golden()} == {*provoking()}
    assert all(golden().values())


def provoked(error, kind=UserError, *facts):
    with refusal(kind, *facts):
        raise error


def test_another_sentence_kind_or_fact_is_found_out(monkeypatch):
    name = "test_messages_file.py::test_another_sentence_kind_or_fact_is_found_out"
    monkeypatch.setattr(refusals, "golden", lambda: {name: ["UserError: a is not b"] * 2})
    monkeypatch.delenv(refusals.WRITE, raising=False)
    monkeypatch.setattr(refusals, "seen", refusals.defaultdict(list))

    provoked(UserError("a is not b"), UserError, "b")
    with pytest.raises(AssertionError, match="make messages"):
        provoked(UserError("a was not b"))
    with pytest.raises(AssertionError, match="'c' is not in"):
        provoked(UserError("a is not b"), UserError, "c")
    with pytest.raises(UserError):
        provoked(UserError("a is not b"), RunStopped)
    with pytest.raises(AssertionError, match="make messages"):  # one more than there are
        provoked(UserError("a is not b"))


def test_what_differs_from_run_to_run_is_left_out(monkeypatch):
    monkeypatch.setattr(refusals, "base", "/tmp/base")
    assert plain("/tmp/base/test_x0/run: in /a/b/test_y.py, line 12") == "TMP/run: in test_y.py, line N"
    assert plain("<f at 0x7fa0>, http://127.0.0.1:3456/v1") == "<f at 0x>, http://127.0.0.1:PORT/v1"
    assert plain("a\nb") == r"a\nb" and len(plain("a" * 999)) == refusals.LONGEST + 3
