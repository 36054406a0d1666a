"""No change is missed: whoever is told of one and asks sees it, however shortly before somebody else had asked."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from searched_runs import make_run, write_step

from guerdon.studio.library import id_of
from guerdon.studio.rollouts import rollout_index

LONG_AGO = (10**18, 10**18)  # nanoseconds: in 2001


def settled(client: TestClient, run: str) -> Any:
    """What is said of a run's rollouts once all that was noticed is read: the page asks again until then, and no longer."""
    while True:
        said = client.get(f"/api/rollouts?run={run}").json()
        if said["runs"][0]["indexed"]["done"]:
            return said
        threading.Event().wait(0.005)


@pytest.mark.sampled(1, "folder_time")
@pytest.mark.parametrize("folder_time", ["long ago", "to come"])
def test_rollouts_that_come_just_after_a_question_are_in_the_next_answer(
    ask: Callable[[Path], TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder_time: str
) -> None:
    """However long a look is believed; and where two changes of the folder bear the same time, for clocks tick."""
    monkeypatch.setattr(rollout_index, "FRESH", 1e9)
    folder = make_run(tmp_path / "runs" / "one", steps=1)
    rollouts, run = folder / "rollouts", id_of(folder)
    tick = time.time_ns() + 3600 * 10**9
    os.utime(rollouts, ns=LONG_AGO if folder_time == "long ago" else (tick, tick))
    with ask(tmp_path / "runs") as client:
        before = settled(client, run)
        write_step(folder, 1)
        if folder_time == "to come":
            os.utime(rollouts, ns=(tick, tick))
        after = settled(client, run)
    assert after["runs"][0]["indexed"]["files"] == 2 and after["all"] > before["all"]


def test_a_folder_that_stays_as_it_is_is_not_gone_through_again(
    ask: Callable[[Path], TestClient], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rollout_index, "FRESH", 1e9)
    looks: list[Path] = []
    listed = rollout_index.rollout_files_in
    monkeypatch.setattr(rollout_index, "rollout_files_in", lambda folder: looks.append(folder) or listed(folder))
    folder = make_run(tmp_path / "runs" / "one", steps=1)
    os.utime(folder / "rollouts", ns=LONG_AGO)
    with ask(tmp_path / "runs") as client:
        for _ in range(3):
            settled(client, id_of(folder))
    assert len(looks) == 1
