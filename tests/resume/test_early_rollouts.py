"""Rollout files are written by a thread while the learner works: they are what they were, and there before their step is."""

from __future__ import annotations

import threading
import time

import pytest
from killing import killed_at
from test_resume import assert_same, child, finish, unbroken  # noqa: F401 - a fixture

import guerdon as gd
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.learn import Learn
from guerdon.core.part import part
from guerdon.recipes.house.grpo import grpo
from guerdon.runs import early_rollouts
from guerdon.runs.event_types import StepDone
from guerdon.runs.events import read_events
from guerdon.runs.folder import RunFolder
from guerdon.runs.rollout_files import batch_bytes, read_batch

OPTIONS = gd.Options(eval_tasks=0, save_every=2)


@part
class closing:
    """A stage behind the learner, which adds to what is stored."""

    needs, gives = (), ("late",)

    def __call__(self, batch, play):
        return batch.put("late", "track", batch["correct"] + 1.0, because=batch.cols["correct"])


def recipe(*more, steps=4):
    made = grpo.build(
        {"task": gd.tasks.load("chain:1"), "model": gd.models.tabular(length=3)},
        {"prompts": 3, "tries": 2, "steps": steps},
    )
    return made.but(stages=(*made.stages, *more))


@pytest.fixture
def watched(monkeypatch):
    """What was made by which thread, and in which order things happened; the thread is slow."""
    happened = []

    def slow(batch, step, run):
        here = threading.current_thread() is threading.main_thread()
        time.sleep(0 if here else 0.05)
        happened.append(("made", step, "here" if here else "early"))
        return batch_bytes(batch, step, run)

    def placed(scratch, path, place=early_rollouts.put_in_place):
        place(scratch, path)
        happened.append(("placed", int(path.stem.rpartition("-")[2])))

    monkeypatch.setattr(early_rollouts, "batch_bytes", slow)
    monkeypatch.setattr(early_rollouts, "put_in_place", placed)
    return happened


def test_a_file_is_made_early_and_is_there_before_its_event(tmp_path, watched):
    def listener(event):
        if isinstance(event, StepDone):
            assert read_batch(RunFolder(tmp_path / "run").rollouts(event.step), event.step).K == 6
            watched.append(("told", event.step))

    gd.train(recipe(), seed=1, out=tmp_path / "run", options=OPTIONS, listeners=[listener])
    assert watched == [
        each for step in range(4) for each in (("made", step, "early"), ("placed", step), ("told", step))
    ]
    assert not [*(tmp_path / "run" / "rollouts").glob(".*")]


@pytest.mark.slow
def test_files_and_events_are_those_of_a_run_that_writes_when_a_step_is_done(tmp_path, monkeypatch):
    gd.train(recipe(), seed=1, out=tmp_path / "early", options=OPTIONS)
    monkeypatch.setattr(early_rollouts.EarlyRollouts, "begin", lambda *given: None)
    gd.train(recipe(), seed=1, out=tmp_path / "late", options=OPTIONS)
    early, late = RunFolder(tmp_path / "early"), RunFolder(tmp_path / "late")
    for step in range(4):
        assert read_batch(early.rollouts(step), step).same(read_batch(late.rollouts(step), step))
    told = [[e.metrics for e in read_events(f.events) if isinstance(e, StepDone)] for f in (early, late)]
    assert told[0] == told[1]


@pytest.mark.parametrize("truth", [None, "verified"])
def test_what_the_truth_adds_is_in_the_file_that_was_made_early(tmp_path, watched, truth):
    options = gd.Options(eval_tasks=0, save_every=2, truth=truth)
    gd.train(recipe(steps=2), seed=1, out=tmp_path / "run", options=options)
    assert [each for each in watched if each[0] == "made"] == [("made", 0, "early"), ("made", 1, "early")]
    assert ("truth" in read_batch(RunFolder(tmp_path / "run").rollouts(1)).cols) == (truth is not None)


def test_a_batch_that_came_to_be_another_one_is_stored_as_it_is(tmp_path, watched, monkeypatch):
    call = Learn.__call__

    def marks(self, batch, play):
        batch = call(self, batch, play)
        return batch.put("marked", "track", batch["correct"], because=batch.cols["correct"])

    monkeypatch.setattr(Learn, "__call__", marks)
    gd.train(recipe(steps=2), seed=1, out=tmp_path / "run", options=OPTIONS)
    assert "marked" in read_batch(RunFolder(tmp_path / "run").rollouts(1)).cols
    assert ("placed", 1) not in watched
    assert not [*(tmp_path / "run" / "rollouts").glob(".*")]


def test_what_stages_behind_the_learner_add_is_stored(tmp_path, watched):
    gd.train(recipe(closing(), steps=2), seed=1, out=tmp_path / "run", options=OPTIONS)
    assert "late" in read_batch(RunFolder(tmp_path / "run").rollouts(1)).cols
    assert not [each for each in watched if each[0] == "made"]  # a file is not begun that cannot be the last word


def test_none_is_made_where_none_is_due(tmp_path, watched):
    gd.train(recipe(), seed=1, out=tmp_path / "run", options=gd.Options(eval_tasks=0, rollouts_every=2, watch=False))
    assert [step for what, step, *_ in watched if what == "made"] == [0, 2]


def test_a_step_that_breaks_leaves_no_file_behind(tmp_path, watched):
    with killed_at(2):
        gd.train(recipe(), seed=1, out=tmp_path / "run", options=OPTIONS)
    files = sorted(path.name for path in (tmp_path / "run" / "rollouts").iterdir())
    assert [name[:1] for name in files] == ["s", "s"]
    whole = gd.train(recipe(), seed=1, out=tmp_path / "whole", options=OPTIONS)
    again = gd.train(recipe(), resume=tmp_path / "run")
    assert again.weights == whole.weights


@pytest.mark.parametrize("error", [UserError("it cannot be stored"), RunStopped("disk full")], ids=type)
def test_what_keeps_a_file_from_being_written_stops_the_run_in_its_own_words(tmp_path, monkeypatch, error):
    def broken(*given):
        raise error

    monkeypatch.setattr(early_rollouts, "batch_bytes", broken)
    monkeypatch.setattr(early_rollouts, "write_batch", broken)
    with pytest.raises(type(error), match=str(error)):
        gd.train(recipe(), seed=1, out=tmp_path / "run", options=OPTIONS)
    assert not [e for e in read_events(RunFolder(tmp_path / "run").events) if isinstance(e, StepDone)]


KILLS = {
    "before a file is put aside": "import guerdon.runs.early_rollouts as f; die_at(f, 'put_aside', 8)",
    "after it was put aside": "import guerdon.runs.early_rollouts as f; die_at(f, 'put_aside', 8, after=True)",
    "before it is put in place": "import guerdon.runs.early_rollouts as f; die_at(f, 'put_in_place', 8)",
    "after it was put in place": "import guerdon.runs.early_rollouts as f; die_at(f, 'put_in_place', 8, after=True)",
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", KILLS)
def test_killed_while_a_file_is_made_a_run_ends_the_same(tmp_path, unbroken, moment):  # noqa: F811
    process = child(tmp_path / "run", KILLS[moment])
    process.communicate(timeout=600)
    assert process.returncode == -9
    folder = RunFolder(tmp_path / "run")
    for event in read_events(folder.events):
        if isinstance(event, StepDone):
            assert read_batch(folder.rollouts(event.step), event.step).K
    run = finish(tmp_path / "run")
    assert_same(run, unbroken)
    assert not [*(tmp_path / "run" / "rollouts").glob(".*")]


def test_no_thread_outlives_its_run(tmp_path):
    before = set(threading.enumerate())
    for n in range(2):
        gd.train(recipe(steps=2), seed=1, out=tmp_path / str(n), options=OPTIONS)
    left = [thread.name for thread in set(threading.enumerate()) - before]
    assert not [name for name in left if name.startswith(("rollouts", "save", "ahead"))]
