"""Killed at any instant and resumed, a run ends with the weights of an unbroken one, to the last bit."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import guerdon as gd
from guerdon.runs.event_types import Started, StepDone
from guerdon.runs.events import read_events
from guerdon.runs.run import Run

RECIPE = str(Path(__file__).parent / "everything.py")
OPTIONS = gd.Options(save_every=3, eval_every=10, eval_tasks=4)

CHILD = """
import os, signal, sys
import guerdon as gd
def die_at(owner, name, call, after=False):
    plain, calls = getattr(owner, name), [0]
    def counted(*args, **kwargs):
        calls[0] += 1
        if calls[0] == call and not after: os.kill(os.getpid(), signal.SIGKILL)
        found = plain(*args, **kwargs)
        if calls[0] == call and after: os.kill(os.getpid(), signal.SIGKILL)
        return found
    setattr(owner, name, counted)
{patch}
out, fresh = sys.argv[1], sys.argv[2] == "fresh"
options = gd.Options(save_every=3, eval_every=10, eval_tasks=4)
print("ready", flush=True)
if fresh: gd.train({recipe!r}, seed=5, out=out, options=options)
else: gd.train(resume=out)
"""

# where a process dies: the moment, and the code that makes it die there
MOMENTS = {
    "sampling": "from guerdon.models.tables import tabular; die_at(tabular, 'act', 40)",
    "learning": "from guerdon.core.learn import Learn; die_at(Learn, 'update', 77)",
    "between optimiser steps": "from guerdon.core.learn import Learn; die_at(Learn, 'update', 78, after=True)",
    "writing a checkpoint": "import guerdon.runs.checkpoint as c; die_at(c, 'save_tensors', 4, after=True)",
    "reading a checkpoint back": "import guerdon.runs.checkpoint as c; die_at(c, 'manifest_fault', 5)",
    "dropping an older checkpoint": "import guerdon.runs.checkpoint as c; die_at(c.shutil, 'rmtree', 3)",
    "between a checkpoint and its event": "import guerdon.training.save_beside as s; die_at(s, 'Written', 4)",
    "renaming a checkpoint": "import guerdon.runs.whole_files as f; die_at(f, 'sync', 60)",
    "writing rollouts": "import pyarrow.parquet as p; die_at(p, 'write_table', 11, after=True)",
    "writing an event": """
from guerdon.runs.events import EventLog
class Torn:
    def __init__(self, file): self.file, self.lines = file, 0
    def write(self, line):
        self.lines += 1
        if self.lines == 25:
            self.file.write(line[: len(line) // 2]); os.kill(os.getpid(), signal.SIGKILL)
        return self.file.write(line)
    def __getattr__(self, name): return getattr(self.file, name)
begin = EventLog.__init__
def torn(self, *args, **kwargs):
    begin(self, *args, **kwargs); self.file = Torn(self.file)
EventLog.__init__ = torn""",
}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    return gd.train(RECIPE, seed=5, out=tmp_path_factory.mktemp("whole") / "run", options=OPTIONS)


def child(out: Path, patch: str = "") -> subprocess.Popen:
    fresh = "resume" if (out / "run.json").exists() else "fresh"
    code = CHILD.format(patch=patch, recipe=RECIPE)
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen([sys.executable, "-c", code, str(out), fresh], text=True, **pipes)


def finish(out: Path) -> Run:
    process = child(out)
    _, errors = process.communicate(timeout=600)
    assert process.returncode == 0, errors
    return Run(out)


def assert_same(run: Run, unbroken: Run) -> None:
    assert run.weights == unbroken.weights
    assert run.metrics.drop_columns(["seconds"]) == unbroken.metrics.drop_columns(["seconds"])
    assert run.evaluations == unbroken.evaluations
    for step in (0, 20, 59):
        assert run.batch(step).same(unbroken.batch(step))


def die(out: Path, moment: str) -> None:
    process = child(out, MOMENTS[moment])
    _, errors = process.communicate(timeout=600)
    assert process.returncode == -signal.SIGKILL, f"{moment}: {errors}"


@pytest.mark.slow
def test_killed_three_times_and_resumed_ends_the_same(tmp_path, unbroken):
    out = tmp_path / "run"
    for moment in ("learning", "writing a checkpoint", "writing an event"):
        die(out, moment)
    run = finish(out)
    assert_same(run, unbroken)
    attempts = {e.attempt for e in read_events(out / "events.jsonl") if isinstance(e, Started)}
    assert attempts == {0, 1, 2, 3}
    again = [e for e in read_events(out / "events.jsonl") if isinstance(e, StepDone)]
    assert len(again) > 60  # steps after the last checkpoint were done again ...
    assert run.metrics["step"].to_pylist() == list(range(60))  # ... and readers see each once


@pytest.mark.slow
@pytest.mark.parametrize("moment", sorted(MOMENTS))
def test_killed_at_a_chosen_moment(tmp_path, unbroken, moment):
    die(tmp_path / "run", moment)
    assert_same(finish(tmp_path / "run"), unbroken)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(tmp_path, unbroken):
    draw = random.Random(7)
    out, kills = tmp_path / "run", 0
    while kills < 20:
        process = child(out)
        assert process.stdout is not None
        process.stdout.readline()  # ready: training begins now
        time.sleep(draw.uniform(0.0, 0.8))
        if process.poll() is None:
            process.kill()
            kills += 1
        process.wait()
        process.stdout.close()
        if (out / "events.jsonl").exists() and Run(out).status == "complete":
            assert_same(Run(out), unbroken)
            out = tmp_path / f"run{kills}"  # the rest of the kills go to a fresh run
    assert_same(finish(out), unbroken)


@pytest.mark.slow
def test_the_same_seed_twice_and_another_seed(tmp_path, unbroken):
    again = gd.train(RECIPE, seed=5, out=tmp_path / "again", options=OPTIONS)
    assert_same(again, unbroken)
    other = gd.train(RECIPE, seed=6, out=tmp_path / "other", options=OPTIONS, steps=4)
    assert other.batch(0)["reward"].tolist() != unbroken.batch(0)["reward"].tolist()


@pytest.mark.slow
def test_how_a_run_is_kept_does_not_change_it(tmp_path, unbroken):
    kept = gd.Options(save_every=60, rollouts_every=0, eval_tasks=0)
    assert gd.train(RECIPE, seed=5, out=tmp_path / "run", options=kept).weights == unbroken.weights


@pytest.fixture(scope="module")
def short(tmp_path_factory):
    """A run of three steps, and the batches that were written down meanwhile, by the names of their files."""
    from guerdon.runs.early_rollouts import EarlyRollouts

    seen = {}
    plain = EarlyRollouts.finish

    def keep(self, path, batch, step):
        seen[path.name] = batch
        plain(self, path, batch, step)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(EarlyRollouts, "finish", keep)
        yield gd.train(RECIPE, seed=5, out=tmp_path_factory.mktemp("short") / "run", options=OPTIONS, steps=3), seen


def test_resuming_a_complete_run_reads_it(short):
    run, _ = short
    before = (run.path / "events.jsonl").read_bytes()
    assert gd.train(resume=run.path).weights == run.weights
    assert (run.path / "events.jsonl").read_bytes() == before


def test_a_rollout_file_is_the_batch_that_was_learned_from(short):
    run, seen = short
    assert len(seen) == 3
    for step, batch in run.batches():
        assert batch.same(seen[f"step-{step:08d}.parquet"])
