"""Playing ahead: one update old and said to be so, the same run however it is kept, broken or resumed."""

from __future__ import annotations

import pytest
from everything import everything
from killing import Killed
from scheduling import mostly_slow

import guerdon as gd
from guerdon.core.learn import Learn
from guerdon.runs.rollout_files import read_batch

STEPS = 6


def made(ahead=True):
    return everything.build({}, {"steps": STEPS, "ahead": ahead})


def options(**changes):
    return gd.Options(**{"save_every": 2, "eval_tasks": 4, **changes})


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return gd.train(made(), seed=5, out=tmp_path_factory.mktemp("ahead") / "whole", options=options(keep=100))


def numbers(result):
    return result.metrics.drop_columns(["seconds"])


@pytest.mark.parametrize("break_at", mostly_slow([1, 5, 10, 17, 23], 10))
def test_a_broken_run_goes_on_to_the_same_weights(tmp_path, whole, monkeypatch, break_at):
    plain, calls = Learn.update, []

    def breaks(self, *args):
        calls.append(1)
        if len(calls) == break_at:
            raise Killed
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Learn, "update", breaks)
        with pytest.raises(Killed):
            gd.train(made(), seed=5, out=tmp_path / "broken", options=options())
    again = gd.train(made(), resume=tmp_path / "broken")
    assert again.complete and again.weights == whole.weights
    assert numbers(again) == numbers(whole)


@pytest.mark.slow
@pytest.mark.parametrize("save_every", mostly_slow([1, 3, 100], 1))
def test_how_often_it_is_saved_does_not_change_it(tmp_path, whole, save_every):
    other = gd.train(made(), seed=5, out=tmp_path / "other", options=options(save_every=save_every, eval_every=2))
    assert other.weights == whole.weights and numbers(other) == numbers(whole)


def test_episodes_are_one_step_old(tmp_path, whole):
    """A step makes four updates: what is learned from in step n was played by the weights of step n - 1's beginning."""
    versions = [set(read_batch(p).version.tolist()) for p in sorted((whole.path / "rollouts").glob("*.parquet"))]
    assert versions == [{0}, {0}, *({4 * (n - 1)} for n in range(2, STEPS))]
    now = gd.train(made(ahead=False), seed=5, out=tmp_path / "now", options=options())
    assert now.weights != whole.weights


@pytest.mark.slow
def test_it_learns_all_the_same(tmp_path):
    recipe = everything.build({}, {"ahead": True})
    run = gd.train(recipe, seed=5, out=tmp_path / "run", options=options(eval_tasks=0, rollouts_every=0))
    right = run.metrics["correct/mean"].to_pylist()
    assert sum(right[-5:]) / 5 > 3 * sum(right[:5]) / 5


def test_the_first_checkpoint_holds_what_was_played_ahead(whole):
    held = sorted(p.name for p in (whole.path / "checkpoints").glob("*/ahead.parquet"))
    assert len(held) == 2  # after steps 2 and 4; nothing is ahead of the last


def test_an_error_while_playing_ahead_is_the_steps_own(tmp_path, monkeypatch):
    from guerdon.models.tables import tabular

    plain, calls = tabular.act, []

    def breaks(self, requests):
        calls.append(1)
        if len(calls) == 5:
            raise ValueError("no more")
        return plain(self, requests)

    monkeypatch.setattr(tabular, "act", breaks)
    with pytest.raises(Exception, match="could not act"):
        gd.train(made(), seed=5, out=tmp_path / "run", options=options(eval_tasks=0))
