"""The real TensorBoard, wandb and Trackio, offline, get what the run folder holds."""

from __future__ import annotations

import contextlib
import json
import os
import sqlite3
import subprocess
import sys
import time

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.runs.loggers import export


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    options = gd.Options(eval_tasks=8, loggers=("tensorboard",))
    out = tmp_path_factory.mktemp("logged") / "run"
    return gd.train("grpo", task="successor", model="tabular", lr=0.3, steps=4, out=out, options=options)


def scalars(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(folder))
    events.Reload()
    return {tag: {e.step: e.value for e in events.Scalars(tag)} for tag in events.Tags()["scalars"]}


@pytest.mark.slow
def test_tensorboard_hears_every_metric(run):
    logged = scalars(run.path / "tensorboard")
    metrics = run.metrics
    for name in ("correct/mean", "policy/loss", "policy/entropy", "length/mean"):
        assert list(logged[name]) == [1, 2, 3, 4]  # steps done
        assert list(logged[name].values()) == pytest.approx(metrics[name].to_pylist(), rel=1e-6)
    assert logged["held_out/pass@1"][4] == pytest.approx(run.evaluations[-1]["pass@1"])


def test_export_rebuilds_the_dashboard_from_the_folder(run):
    live = scalars(run.path / "tensorboard")
    for file in (run.path / "tensorboard").iterdir():
        file.unlink()
    export(run.path, "tensorboard")
    assert scalars(run.path / "tensorboard") == live


@pytest.mark.slow
def test_wandb_offline_run_is_written(run, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_SILENT", "true")
    export(run.path, "wandb")
    (file,) = (run.path / "wandb").glob("offline-run-*/*.wandb")
    patience = time.monotonic() + 30  # wandb's own process writes the file after `finish` has returned
    while b"policy/entropy" not in file.read_bytes():
        assert time.monotonic() < patience
        time.sleep(0.1)


@pytest.mark.peers("trackio")
def test_trackio_keeps_every_metric(run, tmp_path):
    code = f"from guerdon.runs.loggers import export; export({str(run.path)!r}, 'trackio')"
    env = {**os.environ, "TRACKIO_DIR": str(tmp_path)}  # read when trackio is imported
    subprocess.run([sys.executable, "-c", code], env=env, check=True, capture_output=True, timeout=120)
    with contextlib.closing(sqlite3.connect(tmp_path / "guerdon.db")) as base:
        logged = [json.loads(numbers) for (numbers,) in base.execute("select metrics from metrics order by step")]
    assert [each["correct/mean"] for each in logged if "correct/mean" in each] == pytest.approx(
        run.metrics["correct/mean"].to_pylist(), rel=1e-6
    )
    assert any(each.get("held_out/pass@1") == pytest.approx(run.evaluations[-1]["pass@1"]) for each in logged)


def test_unknown_and_missing_loggers_are_refused_before_the_run(monkeypatch):
    with refusal(gd.UserError):
        gd.Options(loggers=("tensorbord",))
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(gd.UserError, match=r"pip install 'guerdon\[wandb\]'"):
        gd.Options(loggers=("wandb",))
