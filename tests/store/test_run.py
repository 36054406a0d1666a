"""Reading a run from its folder."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from run_configs import config
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.runs.event_types import Ended, Evaluated, Started, StepDone, Stopped, Warned
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import write_batch
from guerdon.runs.run import Run


@pytest.fixture
def folder(tmp_path):
    run_folder = RunFolder(tmp_path / "run")
    run_folder.create(config(recipe="grpo"))
    return run_folder


def write(folder, attempt, *events):
    log = EventLog(folder.events, attempt)
    for event in events:
        log.emit(event)
    log.file.close()


def test_a_run_that_has_not_begun(folder):
    run = Run(folder.path)
    assert (run.name, run.status, run.steps_done, run.rollout_steps) == ("grpo", "unfinished", 0, [])
    assert run.rollouts.num_rows == 0
    with refusal(UserError, "0"):
        run.batch(0)


def test_metrics_are_of_the_last_attempt_and_null_where_missing(folder):
    write(folder, 0, Started(0), StepDone(0, metrics={"a": 1.0}, tokens=10), StepDone(1, metrics={"a": 2.0}, tokens=10))
    write(folder, 1, Started(1), StepDone(1, metrics={"b": 5}, tokens=20))
    table = Run(folder.path).metrics
    assert table.column("step").to_pylist() == [0, 1]
    assert table.column("tokens").to_pylist() == [10, 20]
    assert table.column("a").to_pylist() == [1.0, None]
    assert table.column("b").to_pylist() == [None, 5]


def test_status_and_end(folder):
    write(folder, 0, Started(0), StepDone(0), Warned(0, message="careful"), Stopped(0, why="interrupted"))
    assert Run(folder.path).status == "stopped: interrupted"
    write(folder, 1, Started(1), StepDone(1), Evaluated(1, result={"pass@1": 0.5}))
    run = Run(folder.path)
    assert (run.status, run.steps_done, run.weights) == ("unfinished", 2, None)
    assert run.evaluations == [{"steps_done": 2, "pass@1": 0.5}]
    assert run.warnings == ["careful"]
    write(folder, 1, Ended(2, weights="abc"))
    assert (run.status, run.weights) == ("complete", "abc")


def test_rollouts_of_steps_are_one_table_whatever_their_columns(folder):
    batches = [
        pack([episode(segment([0, 1]))]).with_cols({"reward": Column.full("track", torch.ones(1))}),
        pack([episode(error="broke")]),
        pack([episode(segment(torch.ones(1, 2).numpy()))]),
    ]
    for step, batch in enumerate(batches):
        write_batch(folder.rollouts(step), batch)
    run = Run(folder.path)
    assert run.rollout_steps == [0, 1, 2]
    assert run.rollouts.num_rows == 3
    assert run.rollouts.column("col.reward").to_pylist() == [[1.0], None, None]
    assert all(b.same(batches[step]) for step, b in run.batches())
    with refusal(UserError, "7", "0", "2"):
        run.batch(7)
