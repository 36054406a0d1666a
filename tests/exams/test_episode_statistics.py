"""Returns of episodes: interquartile means, intervals and profiles by hand and as rliable has them on the same draws."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import command_line, refused
from own_gyms import Goal
from scipy.stats import trim_mean

import guerdon as gd
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.exams.episode_statistics import mean_score
from guerdon.exams.example_sitting import example_sitting

DICE = np.random.default_rng(3)
TABLE = DICE.normal(size=(7, 5)) ** 3


def test_the_interquartile_mean_by_hand():
    assert gd.exams.iqm([9.0, 1.0, 2.0, 3.0]) == 2.5
    assert gd.exams.iqm([5.0, 1.0, 3.0]) == 3.0  # int(0.75) = 0 are cut at each end
    assert gd.exams.iqm([[0.0, 8.0], [1.0, 2.0], [3.0, 100.0], [4.0, -7.0]]) == 2.5  # of eight, 1 2 3 4 are left
    many = np.stack([TABLE, TABLE * 2])
    assert gd.exams.iqm(many).tolist() == [gd.exams.iqm(TABLE), gd.exams.iqm(TABLE * 2)]


@pytest.mark.parametrize("shape", [(1, 1), (3, 1), (10, 4), (101, 3)])
def test_the_interquartile_mean_is_scipys(shape):
    scores = DICE.normal(size=shape)
    assert gd.exams.iqm(scores) == pytest.approx(trim_mean(scores, 0.25, axis=None), rel=1e-12)


def test_runs_are_drawn_for_each_task_apart():
    """Two runs at two tasks, of which one is ten times the other: the four draws give 1+10, 1+30, 3+10, 3+30, halved."""
    scores = [[1.0, 10.0], [3.0, 30.0]]
    index = np.array([[[a, b], [a, b]] for a in (0, 1) for b in (0, 1)])
    found = gd.exams.stratified_interval(scores, mean_score, index=index)
    assert found.value == 11.0
    assert (found.low, found.high) == tuple(np.percentile([5.5, 15.5, 6.5, 16.5], (2.5, 97.5)))
    whole = gd.exams.stratified_interval([[0.0, 100.0]] * 50, mean_score)
    assert whole == (50.0, 50.0, 50.0)  # were tasks mixed, an interval


def test_it_is_the_same_every_time_and_covers():
    assert gd.exams.stratified_interval(TABLE) == gd.exams.stratified_interval(TABLE)
    inside = 0
    for i in range(200):
        sample = np.random.default_rng(i).normal(size=(12, 3))
        _, low, high = gd.exams.stratified_interval(sample, mean_score, draws=400)
        inside += low <= 0 <= high
    assert 175 <= inside <= 199  # of 200 at 95 %: the percentile bootstrap is a little narrow at 12 runs


@pytest.mark.parametrize("scores", [[], [1.0, float("nan")], np.zeros((2, 2, 2))])
def test_what_is_no_table_is_one_line(scores):
    with pytest.raises(gd.UserError, match="scores are an array of runs by tasks, of finite numbers"):
        gd.exams.stratified_interval(scores)


@pytest.fixture
def rliable_library(monkeypatch):
    """rliable 1.2.0 gives arch's bootstrap a generator by the name that arch 5 had for it."""
    from arch.bootstrap import IIDBootstrap
    from rliable import library

    begin = IIDBootstrap.__init__
    monkeypatch.setattr(
        IIDBootstrap, "__init__", lambda self, *a, random_state=None, **k: begin(self, *a, seed=random_state, **k)
    )
    return library


@pytest.mark.peers("rliable", "arch")
@pytest.mark.parametrize("name", ["aggregate_iqm", "aggregate_mean"])
def test_intervals_are_those_of_rliable_on_the_same_draws(name, rliable_library):
    from rliable import metrics

    theirs = getattr(metrics, name)
    np.random.seed(5)
    point, ends = rliable_library.get_interval_estimates({"a": TABLE}, lambda x: np.array([theirs(x)]), reps=300)
    np.random.seed(5)
    index = np.stack([np.random.choice(len(TABLE), TABLE.shape, replace=True) for _ in range(300)])
    ours = {"aggregate_iqm": gd.exams.iqm, "aggregate_mean": mean_score}[name]
    found = gd.exams.stratified_interval(TABLE, ours, index=index)
    assert found == pytest.approx((point["a"][0], *ends["a"][:, 0]), rel=1e-12)


@pytest.mark.peers("rliable", "arch")
def test_profiles_are_those_of_rliable(rliable_library):
    at = np.linspace(-2, 2, 9)
    theirs, _ = rliable_library.create_performance_profile({"a": TABLE}, at, reps=2)
    assert gd.exams.performance_profile(TABLE, at) == pytest.approx(theirs["a"])


def test_an_exam_of_episodes_by_hand():
    sitting = example_sitting([["a"], ["b"], ["c"], ["d"]], paid=[[1.0], [2.0], [4.0], [11.0]])
    numbers = gd.exams.episode_returns()(sitting)
    assert (numbers["return"], numbers["iqm"], numbers["episodes"]) == (4.5, 3.0, 4)
    assert 1.0 <= numbers["return_low"] < 4.5 < numbers["return_high"] <= 11.0
    assert numbers["profile"] == [
        [float(t), (t < 1) / 4 + (t < 2) / 4 + (t < 4) / 4 + (t < 11) / 4] for t in range(1, 12)
    ]
    assert "success" not in numbers and "failed" not in numbers and "env_return" not in numbers


class Half(Goal):
    """Reaches its goal at even places alone, fails at one in three."""

    def step(self, action):
        if self.begun % 3 == 0:
            raise ValueError("off")
        *others, info = super().step(1)
        return *others, {"success": info["success"] and self.begun % 2 == 0}


def test_success_and_failures_are_told():
    env = gd.worlds.gym(Half, reward=lambda reward: 2.0 * reward)
    model = gd.models.mlp(3, (2,), hidden=(8,))
    model.start(1, {})
    exam = gd.Exam(gd.worlds.episodes(Half), [gd.exams.episode_returns()], env=env)
    play = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(), 0, 1)
    batch = pack(play(exam.asks(40, 1, play)))
    numbers = exam.metrics[0](gd.Sitting(exam, batch, play, 1))
    begun = [np.random.default_rng(e.seed).integers(50) for e in batch.episodes]
    whole = [b for b in begun if b % 3]
    assert numbers["failed"] == pytest.approx(1 - len(whole) / 40)
    assert numbers["success"] == pytest.approx(np.mean([b % 2 == 0 for b in whole]))
    assert (numbers["return"], numbers["env_return"], numbers["episodes"]) == (2.0, 1.0, len(whole))


def test_the_command(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    (tmp_path / "own.py").write_text(
        "from own_gyms import Goal\ndef make():\n    return Goal()\ndef twice(reward):\n    return 2 * reward\n"
    )
    small = [f"--set={each}" for each in ("worlds=2", "horizon=32", "minibatch=16", "epochs=1", "hidden=8", "exam=4")]
    said = cli(
        "train",
        "ppo_control",
        "--env",
        "own.py:make",
        "--reward",
        "own.py:twice",
        *small,
        "--steps",
        "1",
        "--out",
        "run",
    )
    assert said.code == 0, said.err
    found = cli("eval", "run", "--tasks", "6", "--json")
    assert found.code == 0, found.err
    assert found.json["env_return"] * 2 == found.json["return"]
    assert {"iqm_low", "success", "profile", "return_high"} <= set(found.json)
    assert found.json["reward"] == "own.py:twice"
    shown = cli("eval", "run", "--env", "own.py:make", "--tasks", "6")
    assert "make: 6 held-out episodes" in shown.out.replace("own.py:make", "make") and "iqm" in shown.out
    assert "success" in shown.out
    refused(
        cli("eval", "run", "--env", "CartPole-v1"),
        "run reads 3 numbers and gives choices of 2; CartPole-v1 shows 4 and takes",
    )
    refused(
        cli("eval", "sprig", "--env", "CartPole-v1"), "sprig is no actor of an environment: name a run of a recipe for"
    )
    refused(cli("eval", "run", "--k", "3"), "--k is for problems in text: in an environment leave it out")
    refused(
        cli("eval", "run", "--env", "CartPole-v1", "--task", "chain:1"),
        "--env is an environment, and --task and --data are",
    )


def test_equal_returns_have_no_spread():
    numbers = gd.exams.episode_returns()(example_sitting([["a"], ["b"]], paid=[[6.0], [6.0]]))
    assert (numbers["return_low"], numbers["return_high"], numbers["return_std"]) == (6.0, 6.0, 0.0)
