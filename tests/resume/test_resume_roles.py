"""A run with opponents, followers and memories, killed and resumed, is the run that was never killed."""

from __future__ import annotations

from pathlib import Path

import pytest
from killing import killed_at
from roles import roles
from scheduling import mostly_slow
from watching import Watched

import guerdon as gd
from guerdon.core.part import walk
from guerdon.runs.folder import RunFolder
from guerdon.select.memory import remembered
from guerdon.training.loop import start
from guerdon.training.resume import restore

RECIPE = str(Path(__file__).parent / "roles.py")
OPTIONS = gd.Options(save_every=3, eval_tasks=0)


def train(out, **settings):
    return gd.train(RECIPE, seed=4, out=out, options=OPTIONS, **settings)


@pytest.mark.slow
@pytest.mark.parametrize("ahead", mostly_slow([False, True], True))
def test_killed_twice_and_resumed_ends_the_same(tmp_path, ahead):
    unbroken = train(tmp_path / "whole", ahead=ahead, steps=8)
    out = tmp_path / "run"
    with killed_at(4):
        train(out, ahead=ahead, steps=8)
    with killed_at(7):
        gd.train(resume=out)
    run = gd.train(resume=out)
    assert run.weights == unbroken.weights
    assert run.metrics.drop_columns(["seconds"]) == unbroken.metrics.drop_columns(["seconds"])
    for step in (0, 4, 7):
        assert run.batch(step).same(unbroken.batch(step))
    last = unbroken.batch(7)
    assert {e.step for e in last.episodes} - {7}  # it did remember
    assert sum(e.step == 7 and "critic" in {s.role for s in e.segments} for e in last.episodes) == 10


def banks(recipe):
    return [part.bank for _, part in walk(recipe) if isinstance(part, remembered)]


def test_what_was_remembered_comes_back_to_the_last_bit(tmp_path):
    run = gd.train(RECIPE, seed=2, out=tmp_path / "run", options=OPTIONS, steps=6)
    kept = banks(Watched(roles.build({}, {"steps": 6}), 6).recipe)
    made, _ = start(roles.build({}, {"steps": 6}), 2, 6)
    assert restore(RunFolder(run.path), made, pytest.fail)[0] == 6
    assert [len(bank.episodes) for bank in kept] == [9, 8]
    assert all(bank.same(other) for bank, other in zip(kept, banks(made), strict=True))
