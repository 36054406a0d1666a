"""Bandits over kinds of problems: what they remember, what they draw, that a resumed run draws the same, and the recipes
made of them."""

from __future__ import annotations

import copy
import json
from collections import Counter
from itertools import pairwise
from math import exp, log, sqrt

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from killing import Killed
from refusals import refusal
from strategies import episode, segment

import guerdon as gd
from guerdon.cli.main import main
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.part import get_state, set_state
from guerdon.core.schedule import linear
from guerdon.core.seeds import generator
from guerdon.core.task import Ask, Task, kinds_of
from guerdon.curricula.bandits import bandit, boltzmann, magnitude, softmax, ucb
from guerdon.tasks import load
from guerdon.tasks.files import rows
from guerdon.training.catalog import listings

NAN = float("nan")
THREE = ["countdown:1", "countdown:2", "countdown:3"]


class At(ExamplePlay):
    """A `play` at a step of a run, with the random numbers of that place."""

    def __init__(self, step=0, steps=10, seed=0):
        super().__init__()
        self.step, self.steps, self.seed = step, steps, seed

    def generator(self, *path):
        return generator(self.seed, self.step, *path)


def tried(*worth, column="advantage", level="step", steps=2):
    """A batch of (kind, value) tries; None has no value. Every step of a try has the try's value."""
    episodes = []
    for number, (kind, _) in enumerate(worth):
        family, _, of = kind.rpartition(":")
        ask = Ask(Task(str(number), "", family=family, level=int(of)))
        episodes.append(episode(segment([0] * steps), ask=ask, number=number))
    value = torch.tensor([NAN if v is None else v for _, v in worth])
    if level == "step":
        value = value.repeat_interleave(steps)
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(episodes).with_cols({column: Column(level, value, reason)})


# --- UCB ----------------------------------------------------------------------------------------------------------


def test_the_window_forgets_values_and_not_tries():
    rule = ucb(window=3)
    rule.update({"a:1": [9.0, 1.0]}, At())
    rule.update({"a:1": [2.0, 3.0]}, At())
    assert rule.latest == {"a:1": [1.0, 2.0, 3.0]} and rule.tried == {"a:1": 4}
    assert rule.scores(["a:1"]) == pytest.approx([2.0 + sqrt(2 * log(5) / 5)])
    rule.update({"a:1": [4.0, 5.0, 6.0, 7.0]}, At())  # more than the window holds
    assert rule.latest == {"a:1": [5.0, 6.0, 7.0]} and rule.tried == {"a:1": 8}


def test_a_kind_that_was_not_tried_gains_on_the_others():
    rule = ucb()
    rule.update({"a:1": [1.0] * 4, "b:1": [1.0] * 4}, At())
    before = rule.scores(["a:1", "b:1"])
    rule.update({"a:1": [1.0] * 8}, At())
    after = rule.scores(["a:1", "b:1"])
    assert before[0] == before[1] and after[0] < before[0] and after[1] > before[1]


def test_a_try_without_a_value_is_in_no_mean_and_counts_as_a_try():
    rule = ucb()
    rule.update({"a:1": [NAN, 1.0, NAN], "b:1": [NAN, NAN]}, At())
    assert rule.scores(["a:1", "b:1"]) == pytest.approx([1.0 + sqrt(2 * log(6) / 4), sqrt(2 * log(6) / 3)])
    for _ in range(50):  # a kind that can never be scored is not preferred for ever
        rule.update({"a:1": [1.0], "b:1": [NAN] * 20}, At())
    a, b = rule.shares(rule.scores(["a:1", "b:1"]), At())
    assert a > 0.99 > 0.01 > b


# --- TD -----------------------------------------------------------------------------------------------------------


def test_knobs_take_schedules():
    rule = boltzmann(alpha=linear(1.0, 0.5), tau=linear(1.0, 0.1))
    rule.update({"a:1": [1.0]}, At(step=0))
    assert rule.scores(["a:1"]) == [1.0]
    rule.update({"a:1": [0.0]}, At(step=9))
    assert rule.scores(["a:1"]) == [0.5]
    early, late = (rule.shares([0.5, 0.0], At(step=s))[0] for s in (0, 9))
    assert early == pytest.approx(1 / (1 + exp(-0.5))) and late == pytest.approx(1 / (1 + exp(-5)))


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=16), st.floats(1e-2, 1e6), st.floats(-10, 10))
def test_softmax_is_a_distribution_in_the_order_of_scores(scores, tau, shift):
    found = softmax(scores, tau)
    assert sum(found) == pytest.approx(1.0) and min(found) >= 0
    order = sorted(range(len(scores)), key=lambda i: scores[i])
    assert all(found[a] <= found[b] + 1e-12 for a, b in pairwise(order))
    assert softmax([s + shift for s in scores], tau) == pytest.approx(found, rel=1e-6, abs=1e-9)
    assert softmax(scores, 1e12) == pytest.approx([1 / len(scores)] * len(scores), abs=1e-6)


# --- what a try is worth --------------------------------------------------------------------------------------------


def test_magnitude_of_steps_is_that_of_their_mean():
    batch = tried(("a:1", 0.0), ("a:1", 0.0), ("b:1", 0.0), level="track")
    value = torch.tensor([1.0, -4.0, NAN, 2.0, NAN, NAN])
    reason = torch.where(value.isnan(), int(Reason.NOT_APPLICABLE), 0).to(torch.int8)
    batch = batch.with_cols({"steps": Column("step", value, reason)})
    assert magnitude("steps")(batch).tolist()[:2] == [1.5, 2.0]
    assert torch.isnan(magnitude("steps")(batch)[2])
    assert magnitude()(tried(("a:1", -3.0), ("a:1", 2.0), level="track")).tolist() == [3.0, 2.0]


def test_a_column_that_is_not_there_is_refused():
    with refusal(UserError):
        magnitude("advantge")(tried(("a:1", 1.0)))


# --- drawing ------------------------------------------------------------------------------------------------------


def test_observe_sorts_tries_by_kind():
    draws = bandit(load("countdown:1-3"), boltzmann())
    worth = [("countdown:1", 0.0), ("countdown:2", -1.0), ("countdown:2", 0.5), ("countdown:3", None), ("other:1", 9.0)]
    draws.observe(tried(*worth), At())
    assert draws.choose.value == {"countdown:1": 0.0, "countdown:2": 0.375}
    tallied = bandit(load("countdown:1-3"), ucb())
    tallied.observe(tried(*worth), At())
    assert tallied.choose.tried == {"countdown:1": 1, "countdown:2": 2, "countdown:3": 1}
    assert tallied.choose.latest == {"countdown:1": [0.0], "countdown:2": [1.0, 0.5], "countdown:3": []}


@pytest.mark.slow
def test_draws_follow_the_shares_and_take_problems_of_a_kind_in_turn():
    source = load("countdown:1-3")
    draws = bandit(source, boltzmann(tau=0.5), tries=5)
    draws.choose.value = {"countdown:2": 0.5, "countdown:3": 1.0}
    play = At()
    asks = draws.draw(3000, play)
    expected = softmax([0.0, 0.5, 1.0], 0.5)
    count = Counter(ask.task.kind for ask in asks)
    for kind, share in zip(THREE, expected, strict=True):
        assert count[kind] / 3000 == pytest.approx(share, abs=4 * sqrt(share * (1 - share) / 3000))
        drawn = [ask.task for ask in asks if ask.task.kind == kind]
        assert drawn == [kinds_of(source)[kind].get("train", i) for i in range(len(drawn))]
    assert draws.drawn == count and {ask.n for ask in asks} == {5}
    assert [play.metrics[f"share/{kind}"] for kind in THREE] == pytest.approx(expected)
    assert [play.metrics[f"score/{kind}"] for kind in THREE] == [0.0, 0.5, 1.0]


def test_a_second_draw_in_a_step_is_another_one():
    draws = bandit(load("countdown:1-6"), ucb())
    play = At()
    first, second = ([ask.task.kind for ask in draws.draw(30, play)] for _ in range(2))
    assert first != second


def test_seeds_read_other_problems():
    found = [bandit(load("countdown:2-3"), ucb()).draw(8, At(seed=seed)) for seed in (0, 0, 1)]
    assert found[0] == found[1]
    assert not {ask.task.key for ask in found[0]} & {ask.task.key for ask in found[2]}


def test_kinds_of_a_file_are_gone_through_lap_by_lap(tmp_path):
    lines = [{"prompt": f"{i}", "answer": str(i), "sort": ["easy", "hard"][i % 3 == 0]} for i in range(30)]
    path = tmp_path / "sums.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    source = rows(str(path), held_out=0.1, kind="sort")
    draws = bandit(source, ucb())
    sizes = {kind: of.size("train") for kind, of in kinds_of(source).items()}
    assert sizes == {"sums/easy:1": 18, "sums/hard:1": 9}
    drawn = [ask.task for ask in draws.draw(200, At())]
    for kind, size in sizes.items():
        mine = [task.key for task in drawn if task.kind == kind]
        assert len(mine) > 3 * size
        for lap in range(3):
            assert len(set(mine[lap * size : (lap + 1) * size])) == size
    plain = rows(str(path), held_out=0.1)
    with refusal(UserError, "1"):
        bandit(plain, ucb())


def test_one_kind_is_refused_in_a_line_with_the_mend():
    with pytest.raises(UserError) as caught:
        bandit(load("countdown:3"), ucb())
    said = str(caught.value)
    assert said.startswith("countdown:3 is one kind of problem") and "\n" not in said
    assert "countdown:1-6" in said and "--kind COLUMN" in said


# --- resuming -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choose", [ucb(window=5), boltzmann(tau=0.3)], ids=["ucb", "boltzmann"])
def test_its_state_is_all_it_remembers(choose):
    def step(draws, n):
        play = At(step=n)
        asks = draws.draw(8, play)
        draws.observe(tried(*((ask.task.kind, float(ask.task.level == 2)) for ask in asks)), play)
        return [ask.task.key for ask in asks], play.metrics

    whole = bandit(load("countdown:1-4"), copy.deepcopy(choose))
    seen = [step(whole, n) for n in range(4)]
    saved = json.loads(json.dumps(get_state(whole)))
    seen += [step(whole, n) for n in range(4, 9)]
    again = bandit(load("countdown:1-4"), copy.deepcopy(choose))
    set_state(again, saved)
    assert [step(again, n) for n in range(4, 9)] == seen[4:]
    fresh = bandit(load("countdown:1-4"), copy.deepcopy(choose))
    assert [step(fresh, n) for n in range(4, 9)] != seen[4:]


TOY = "parity:1+successor:2"  # one digit cannot answer the second: all tries come out alike
ON_A_TABLE = {"tabular.vocab": "01", "tabular.length": 1, "tabular.rows": 256, "prompts": 6, "tries": 4, "lr": 0.02}


def toy(name, out, steps=8, **more):
    options = gd.Options(save_every=3, eval_tasks=0)
    return gd.train(
        name, task=TOY, model="tabular", settings={**ON_A_TABLE, **more}, steps=steps, seed=3, out=out, options=options
    )


@pytest.mark.slow
@pytest.mark.parametrize("ahead", [False, True], ids=["now", "ahead"])
@pytest.mark.parametrize("name", ["dump", "sec"])
def test_a_broken_run_draws_on_as_if_unbroken(tmp_path, monkeypatch, name, ahead):
    whole = toy(name, tmp_path / "whole", ahead=ahead)
    plain, calls = Learn.update, []

    def breaks(self, *args):
        calls.append(1)
        if len(calls) == 6:  # of 8; saved after 3
            raise Killed
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(Learn, "update", breaks)
        with pytest.raises(Killed):
            toy(name, tmp_path / "broken", ahead=ahead)
    again = gd.train(resume=tmp_path / "broken")
    assert again.complete and again.weights == whole.weights
    assert again.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    for step in range(8):
        tasks = [[e.task.key for e in run.batch(step).episodes] for run in (whole, again)]
        assert tasks[0] == tasks[1]


# --- the recipes --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(("name", "least"), [("dump", 0.9), ("sec", 0.6)])
def test_draws_move_to_the_kind_whose_tries_differ(tmp_path, name, least):
    run = toy(name, tmp_path / "run", steps=20)
    share = run.metrics["share/parity:1"].to_pylist()
    assert share[0] == 0.5
    assert sum(share[-5:]) / 5 > least
    deaf = toy(name, tmp_path / "deaf", steps=20, tau=1e6)  # the ablation
    assert deaf.metrics["share/parity:1"].to_pylist() == pytest.approx([0.5] * 20, abs=1e-5)


@pytest.mark.parametrize("name", ["dump", "sec"])
def test_but_for_the_curriculum_it_is_grpo(name):
    from guerdon.core.part import describe
    from guerdon.training.build import RunRequest, build
    from guerdon.training.catalog import find_recipe

    made, base = (
        describe(build(RunRequest(find_recipe(n), task=TOY, model="tabular", settings={"kl": 0.01})).recipe)["knobs"]
        for n in (name, "grpo")
    )
    assert {key for key in base if made[key] != base[key]} == {"curriculum"}


@pytest.mark.parametrize("name", ["dump", "sec"])
def test_it_is_shown_and_refuses_one_kind(capsys, name):
    assert main(["show", name, "--task", "countdown:1-6", "--model", "tabular"]) == 0
    said = capsys.readouterr().out
    assert "curriculum" in said and "bandit(" in said and listings()[name].paper in said
    assert main(["show", name, "--task", "countdown:3", "--model", "tabular"]) == 2
    assert f"{name} needs problems of several kinds, which countdown:3 does not have" in capsys.readouterr().err


def test_their_claims_can_be_read_without_running_them():
    for name in ("dump", "sec"):
        listing = listings()[name]
        assert listing.family == "curriculum" and listing.claims and listing.claims[0]
