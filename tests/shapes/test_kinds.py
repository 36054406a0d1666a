"""One small method of each kind, at most 40 lines: what the core must carry without being changed. Each must learn its toy.

A plain run tries most of them, some for three steps; that these learn, those that take long, and the other breaks, are tried in
`make slow`.
"""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from killing import Killed
from scheduling import little_and_much, mostly_slow
from tolerances import assert_rounded

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.core.user_file import load_file

HERE = Path(__file__).parent
KINDS = ["verifying", "tools", "playing", "cotrained", "listwise", "denoising", "cartpole", "corners"]


@pytest.fixture(autouse=True)
def toys_on_path(monkeypatch):
    monkeypatch.syspath_prepend(str(HERE))


def learn(name, out, save_every=1000, listeners=(), eval_tasks=64, **settings):
    options = gd.Options(save_every=save_every, eval_tasks=eval_tasks)
    return gd.train(f"{HERE / name}.py", out=out, options=options, seed=1, settings=settings, listeners=listeners)


@pytest.mark.parametrize("name", KINDS)
def test_a_method_is_at_most_forty_lines(name):
    code = (HERE / f"{name}.py").read_text().split('"""', 2)[2]  # what follows the opening docstring
    lines = [x for x in code.splitlines() if x.strip() and not x.startswith(("import ", "from "))]
    assert len(lines) <= 40, f"{name} has {len(lines)} lines"


def mean(run, column, step, role=None):
    batch = run.batch(step)
    rows = batch.tracks_of([role]) if role else torch.ones(batch.K, dtype=torch.bool)
    return float(batch[column][rows].nanmean())


@pytest.mark.slow
def test_an_answer_and_its_own_verdict_are_learned_together(tmp_path):
    run = learn("verifying", tmp_path / "run")
    last = run.steps_done - 1
    assert mean(run, "reward", 0, "policy") < 0.5
    assert mean(run, "reward", last, "policy") > 0.9
    assert mean(run, "reward", last, "verifier") > 0.9
    batch = run.batch(last)
    assert batch.roles == ("policy", "verifier")
    followers = [e for e in batch.episodes if e.segments[0].role == "verifier"]
    assert all(e.segments[0].view.endswith(f"{e.ask.note['attempt']}?") for e in followers)


@pytest.mark.slow
def test_turns_are_credited_by_themselves(tmp_path):
    run = learn("tools", tmp_path / "run")
    assert mean(run, "reward", 0) < 0.8
    assert mean(run, "reward", run.steps_done - 1) > 1.35  # of 1.5
    batch = run.batch(0)
    paid, back = batch.cols["reward_turns"], batch["return"]
    assert paid.level == "segment"
    first, second = paid.value[0::2], paid.value[1::2]
    assert torch.allclose(back[0::2], first + 0.9 * second)
    assert torch.allclose(back[1::2], second)


@pytest.mark.slow
def test_a_game_is_examined_from_each_seat(tmp_path):
    run = learn("playing", tmp_path / "run")
    first, last = run.evaluations[0], run.evaluations[-1]
    seats = ("beginner@first", "beginner@second")
    assert all(first[f"{seat}/games"] == last[f"{seat}/games"] == 6 * 128 for seat in seats)
    before, after = (sum(found[f"{seat}/return"] for seat in seats) for found in (first, last))
    assert abs(before) < 0.15  # against itself, from both seats
    assert after > 0.3


@pytest.mark.slow
def test_a_reward_model_that_learns_has_its_own_exam(tmp_path):
    run = learn("cotrained", tmp_path / "run")
    first, last = run.evaluations[0], run.evaluations[-1]
    assert first["rm/ranked"] == 0.5  # equal to its reference: it prefers nothing
    assert last["rm/ranked"] > 0.9
    assert last["pass@1"] > first["pass@1"] + 0.3


@pytest.mark.slow
def test_a_group_stays_together_in_micro_batches(tmp_path):
    module, runs = load_file(f"{HERE / 'listwise'}.py", "recipe"), []
    for micro in (0, 8):  # plain descent: Adam divides by gradients that are nothing but rounding
        recipe = module.groups(micro=micro, steps=4).but(**{"learn.opt": gd.sgd(lr=0.5)})
        runs.append(gd.train(recipe, out=tmp_path / str(micro), options=gd.Options(eval_tasks=0), seed=1))
    for a, b in zip(*(run.model().weights.parameters() for run in runs), strict=True):
        assert_rounded(a, b, terms=4 * 4 * 16)  # of each step the tries of each task
    run = learn("listwise", tmp_path / "whole")
    assert run.evaluations[-1]["pass@1"] > run.evaluations[0]["pass@1"] + 0.5


@pytest.mark.slow
@pytest.mark.parametrize(("mix", "steps"), mostly_slow([("track", 3), ("track", 25), ("step", 25)], ("track", 3)))
def test_denoising_steps_are_actions_and_the_picture_is_paid(tmp_path, mix, steps):
    run = learn("denoising", tmp_path / "run", mix=mix, steps=steps)
    assert steps < 25 or mean(run, "reward", steps - 1) > mean(run, "reward", 0) + 0.7
    batch = run.batch(0)
    assert batch.action.shape == (8 * 8 * 4, 2)
    assert pack(batch.episodes).same(pack([e.but() for e in batch.episodes]))
    segment = batch.episodes[0].segments[0]
    assert (segment.made == segment.actions[-1]).all()


@pytest.mark.slow
def test_gymnasium_episodes_are_seeded_cut_and_bootstrapped(tmp_path):
    run = learn("cartpole", tmp_path / "run")
    assert mean(run, "reward", run.steps_done - 1) > mean(run, "reward", 0) + 12
    cut = [e for e in run.batch(run.steps_done - 1).episodes if e.info["cut"]]
    assert cut
    assert all(len(e.segments[-1].actions) == 0 and e.segments[-1].end == "cut" for e in cut)
    starts = {tuple(e.segments[0].view.tolist()) for e in run.batch(0).episodes}
    assert len(starts) == 16  # random dynamics, another for every episode


@pytest.mark.slow
@little_and_much("steps", 3, 25)
def test_a_picture_in_the_prompt(tmp_path, steps):
    run = learn("corners", tmp_path / "run", steps=steps)
    assert run.evaluations[0]["pass@1"] < 0.45
    assert steps < 25 or run.evaluations[-1]["pass@1"] > 0.8
    view = run.batch(0).episodes[0].segments[0].view
    assert view[0].shape == (4, 4)
    assert view[1] == "which corner is bright?"


@pytest.mark.parametrize("name", mostly_slow(KINDS, "verifying"))
def test_a_broken_run_of_each_kind_ends_with_the_same_weights(tmp_path, name):
    how = {"save_every": 2, "eval_tasks": 4, "steps": 5}
    whole = learn(name, tmp_path / "whole", **how)

    def kill(event):
        if type(event).__name__ == "StepDone" and event.step == 3:
            raise Killed

    with pytest.raises(Killed):
        learn(name, tmp_path / "broken", listeners=[kill], **how)
    assert gd.train(resume=tmp_path / "broken").weights == whole.weights
