"""Workers as actors of Ray, on this machine: the same weights, and the same of those that are lost."""

from __future__ import annotations

import signal
from pathlib import Path

import played_elsewhere as runs
import pytest
from test_rollout_workers import Harm, counted, trained

import guerdon as gd

pytestmark = [pytest.mark.slow, pytest.mark.peers("ray")]


def test_nobody_listens(tmp_path):
    with pytest.raises(gd.UserError, match=r"ray://127.0.0.1:9: nobody listens there"):
        trained(tmp_path / "run", "ray://127.0.0.1:9", recipe=runs.on_a_table())


class HarmToActors(Harm):
    """The same to actors of Ray."""

    @staticmethod
    def victims():
        pids = [path.parent.name for path in Path("/proc").glob("[0-9]*/cmdline") if b"ray::RayStation" in _read(path)]
        return [int(pid) for pid in pids]


def _read(path):
    try:
        return path.read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
def test_actors_that_are_lost_change_nothing(tmp_path, number, monkeypatch):
    monkeypatch.setattr("guerdon.scale.crew.PATIENCE", 4.0)
    recipe = runs.on_a_table(runs.slow_turn(), steps=30)
    alone = trained(tmp_path / "alone", recipe=recipe)
    with HarmToActors(number, 2, 0) as harm:
        run = trained(tmp_path / "run", "ray", [harm], recipe=recipe)
    assert harm.done > 0 and run.weights == alone.weights and counted(run) == counted(alone)
    assert any("another" in w for w in run.warnings)
    assert not (run.folder.path / "ray_token").exists()
