"""Runs that are watched: a planted hack is found, a clean reward is not; weights, resuming, stopping, what is printed."""

from __future__ import annotations

import dataclasses

import pytest
from refusals import refusal
from report_pages import report_data_of
from scheduling import mostly_slow

import guerdon as gd
from guerdon.rewards.asking.function import reward
from guerdon.runs.event_types import ScoresMissing, StepDone
from guerdon.training.record import Recorder

TABLE = {"tabular.vocab": "01", "tabular.length": 4, "tabular.rows": 16}
SMALL = {"task": "parity", "model": "tabular", "prompts": 4, "tries": 8, "lr": 0.1, "steps": 20, "settings": TABLE}
KEPT = gd.Options(eval_tasks=0, save_every=5)


@reward(isolate=False)
def ones(completion):
    """The planted hack: what is paid has nothing to do with the problem."""
    return completion.count("1") / 4


@reward(isolate=False)
def zeros(completion):
    """What was wanted."""
    return completion.count("0") / 4


@reward(isolate=False)
def breaks(completion):
    raise ValueError("no truth today")


def train(out, **more):
    return gd.train("grpo", out=out, **{**SMALL, "options": KEPT, "reward": ones, **more})


@pytest.fixture(scope="module")
def hacked(tmp_path_factory):
    return train(tmp_path_factory.mktemp("hacked") / "run", truth=zeros)


def told(run):
    return [{k: v for k, v in alarm.to_json().items() if k not in ("time", "attempt")} for alarm in run.alarms]


def test_a_planted_hack_is_found(hacked):
    gap = next(alarm for alarm in hacked.alarms if alarm.rule == "proxy_gap")
    assert gap.severity == "bad" and "while the truth fell" in gap.message and gap.step < 20
    assert len(gap.rollouts) == 3
    for each in gap.rollouts:
        batch = hacked.batch(each["step"])
        episode = next(e for e in batch.episodes if e.key == each["episode"])
        assert episode.segments[each["segment"]].text == each["said"] and each["numbers"]["truth"] < 0.5


def test_the_truth_stands_beside_the_reward(hacked):
    batch = hacked.batch(3)
    assert batch["truth"].tolist() == pytest.approx((1 - batch["reward"]).tolist())
    metrics = hacked.events(StepDone)[3].metrics
    assert metrics["truth/mean"] == pytest.approx(float(batch["truth"].double().mean()))
    assert metrics["watch/agreement"] == pytest.approx(-1.0)
    assert "truth" in hacked.rollouts.column_names


def test_a_clean_reward_raises_nothing(tmp_path):
    run = train(tmp_path / "run", truth=ones, lr=0.05)
    means = [e.metrics["reward/mean"] for e in run.events(StepDone)]
    assert sum(means[-4:]) > sum(means[:4]) and run.alarms == []


def test_watching_changes_neither_hash_nor_weights(hacked, tmp_path):
    bare = train(tmp_path / "bare", watch=False)
    verified = train(tmp_path / "verified", truth="verified")
    assert bare.weights == hacked.weights == verified.weights
    assert bare.config["hash"] == hacked.config["hash"] == verified.config["hash"]
    assert bare.alarms == [] and "watch/flat" not in bare.events(StepDone)[0].metrics
    numbers = [
        {k: v for k, v in e.metrics.items() if "truth" not in k and "watch" not in k} for e in hacked.events(StepDone)
    ]
    assert numbers == [e.metrics for e in bare.events(StepDone)]
    assert [e.spent["read"] for e in hacked.events(StepDone)] == [e.spent["read"] for e in bare.events(StepDone)]


def test_the_tasks_own_check_is_taken_over_where_it_was_made(tmp_path):
    run = train(tmp_path / "run", truth="verified", steps=1)
    assert run.batch(0)["truth"].tolist() == run.batch(0)["correct"].tolist()


@pytest.mark.slow
@pytest.mark.parametrize("dies", mostly_slow([6, 13], 13))
def test_a_run_that_was_killed_raises_the_alarms_of_an_unbroken_one(hacked, tmp_path, monkeypatch, dies):
    done = Recorder.done

    def dying(self, batch):
        done(self, batch)
        if self.play.step == dies:
            raise OSError("the disk is gone")

    with monkeypatch.context() as patch, pytest.raises(gd.RunStopped, match="the disk is gone"):
        patch.setattr(Recorder, "done", dying)
        train(tmp_path / "run", truth=zeros)
    run = gd.train("grpo", resume=tmp_path / "run", truth=zeros, **{**SMALL, "reward": ones})
    assert told(run) == told(hacked) and run.weights == hacked.weights


@pytest.mark.slow
def test_an_alarm_stops_a_run_that_then_goes_on(hacked, tmp_path):
    stops = dataclasses.replace(KEPT, stop_on_alarm=True)
    first = next(alarm for alarm in hacked.alarms if alarm.severity == "bad")
    with pytest.raises(gd.RunStopped, match=f"step {first.step}: {first.rule}: .*; read these rollouts"):
        train(tmp_path / "run", truth=zeros, options=stops)
    assert gd.Run(tmp_path / "run").steps_done == first.step + 1, "and it is saved there"
    rest = [alarm for alarm in hacked.alarms if alarm.severity == "bad" and alarm.step > first.step]
    for later in rest:
        with pytest.raises(gd.RunStopped, match=later.rule):
            gd.train("grpo", resume=tmp_path / "run", truth=zeros, **{**SMALL, "reward": ones})
    run = gd.train("grpo", resume=tmp_path / "run", truth=zeros, **{**SMALL, "reward": ones})
    assert run.complete and run.weights == hacked.weights and told(run) == told(hacked)


def test_a_truth_that_breaks_is_counted_and_stops_nothing(tmp_path):
    run = train(tmp_path / "run", truth=breaks, steps=2)
    lost = run.events(ScoresMissing)
    assert run.complete and {(e.column, e.failed, e.of) for e in lost} == {("truth", 32, 32)}
    assert any("32 scores in 'truth' failed" in line or "64 scores in 'truth' failed" in line for line in run.warnings)
    assert not any("nothing was learned from those" in line for line in run.warnings)


@pytest.mark.slow
def test_rules_of_ones_own_are_kept_with_the_run(tmp_path):
    from guerdon.watch.gap_rules import proxy_gap

    run = train(tmp_path / "run", truth=zeros, watch=[proxy_gap(alpha=1e-12, alpha_both=1e-12)], steps=12)
    assert run.alarms == [] and run.config["options"]["watch"][0]["alpha"] == 1e-12
    assert gd.Options.of_config(run.config, truth=zeros).watch[0].alpha == 1e-12


def test_a_python_truth_has_to_be_said_again(tmp_path):
    run = train(tmp_path / "run", truth=zeros, steps=1)
    with refusal(gd.UserError):
        gd.Options.of_config(run.config)


def test_what_cannot_be_a_truth_is_refused_before_the_run(tmp_path):
    with pytest.raises(gd.UserError, match="unknown reward 'verifid'"):
        train(tmp_path / "run", truth="verifid")
    with pytest.raises(gd.UserError, match="has a memory"):
        train(tmp_path / "run", truth=gd.rewards.count_novelty())
    assert not (tmp_path / "run").exists()


def test_alarms_are_shown_with_their_rollouts_in_the_report(hacked):
    data = report_data_of(hacked.folder.report.read_text())
    assert data["one"]["marks"] == sorted({alarm.step for alarm in hacked.alarms})  # on the curves
    gap = next(alarm for alarm in hacked.alarms if alarm.rule == "proxy_gap")
    shown = next(each for each in data["one"]["alarms"] if each["title"] == "Watch: proxy_gap")
    assert gap.message in shown["message"] and shown["rollouts"] == f"#step-{gap.step}"
    section = next(each for each in data["samples"]["sections"] if "proxy_gap" in each["title"])
    assert [each["episode"] for each in section["samples"]] == [each["episode"] for each in gap.rollouts]
    assert all(f"{gap.step}/{each['episode']}" in data["samples"]["rollouts"] for each in gap.rollouts)


@pytest.mark.slow
def test_batches_of_alarms_are_stored_besides_those_of_every_so_many_steps(hacked, tmp_path):
    run = train(tmp_path / "run", truth=zeros, options=dataclasses.replace(KEPT, rollouts_every=10))
    assert set(run.rollout_steps) == {0, 10, *(alarm.step for alarm in run.alarms)}
    none = train(tmp_path / "none", truth=zeros, options=dataclasses.replace(KEPT, rollouts_every=0))
    assert none.rollout_steps == [] and "The rollouts that show it" in none.folder.report.read_text()
