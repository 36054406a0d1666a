"""What ran: threads too, whoever made a shared result too; and what is left out changes no weight."""

from __future__ import annotations

import sys
import threading
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.core.seeds import derive
from guerdon.evidence.identity import OBSERVERS, is_left_out
from guerdon.runs.event_types import Ended, StepDone
from guerdon.training import build, loop, record
from guerdon.training.what_ran import EVERY, RAN, WhatRan, also, ran_in, seen

TRAIN = {"task": "parity:1", "model": "tabular", "steps": 3, "lr": 0.3, "prompts": 4, "tries": 4}


def test_functions_of_other_threads_are_seen_and_those_of_libraries_are_not(tmp_path):
    with WhatRan() as ran:
        thread = threading.Thread(target=lambda: derive(0, "tokens"))
        thread.start()
        thread.join()
        Path(tmp_path / "x").exists()
    assert "core.seeds:derive" in ran.units and all(":" in unit and not unit.startswith("/") for unit in ran.units)
    before = set(ran.units)
    derive(0, "weights")
    assert ran.units == before and seen() == []


def test_what_another_process_ran_goes_with_its_result(tmp_path):
    (tmp_path / RAN).write_text('["credit.gae:gae"]')
    with WhatRan(folder=tmp_path) as ran:
        also(["losses.pair:dpo"])
    assert ran.units == {"credit.gae:gae", "losses.pair:dpo"} and ran_in(tmp_path) == sorted(ran.units)
    (tmp_path / RAN).write_text("torn")
    assert ran_in(tmp_path) == []


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="there looking costs next to nothing, and never stops")
def test_where_every_call_costs_some_steps_are_looked_at():
    with WhatRan() as ran:
        looked = []
        for step in range(2 * EVERY):
            ran.paced(StepDone(step))
            looked.append(sys.gettrace() is not None)
        ran.paced(Ended(step))
        assert sys.gettrace() is not None  # what comes after a run may be a study's next
    assert [step + 1 for step, is_seen in enumerate(looked) if is_seen] == [1, EVERY, 2 * EVERY]
    assert sys.gettrace() is None


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="nothing is set there that could be in the way")
def test_a_debugger_has_its_trace_back():
    def debugger(frame, event, argument):
        return None

    before = sys.gettrace()
    sys.settrace(debugger)
    try:
        with WhatRan():
            pass
        assert sys.gettrace() is debugger
    finally:
        sys.settrace(before)


def weights(tmp_path: Path, name: str, **options) -> str:
    return str(gd.train("grpo", out=str(tmp_path / name), **TRAIN, **options).weights)


def test_observers_change_no_weight(tmp_path, monkeypatch):
    """With all that only looks on, and with as little of it as there can be: nothing stored, shown, summed up or watched."""
    usual = weights(tmp_path, "usual")
    with WhatRan():
        assert weights(tmp_path, "looked-at") == usual
    monkeypatch.setattr(record, "batch_metrics", lambda *_, **__: {})
    monkeypatch.setattr(record, "write_batch", lambda *_, **__: None)
    monkeypatch.setattr(record, "never_applied", lambda *_, **__: [])
    monkeypatch.setattr(build, "refuse_unmet", lambda *_, **__: None)
    monkeypatch.setattr(loop, "write_report", lambda *_, **__: None)
    monkeypatch.setattr(loop, "end_notes", lambda *_, **__: [])
    assert (
        weights(tmp_path, "bare", options=gd.Options(watch=False, rollouts_every=0, save_every=3, eval_tasks=0))
        == usual
    )
    assert {"runs", "results", "display", "watch", "cli", "studio"} <= set(OBSERVERS) and is_left_out(
        "display.report.samples"
    )
