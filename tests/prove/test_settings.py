"""The settings suite: judges whose fault is known, failure modes measured on planted batches, arms, and what pilots come to."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest
from refusals import refusal

import guerdon as gd
from guerdon.cli.main import main
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.pack import pack
from guerdon.core.recipe import Screening
from guerdon.core.task import Ask, Task
from guerdon.prove.arms import ABLATION, BASELINE, METHOD, PLAIN, arms_in_setting
from guerdon.prove.failure_modes import MEASURES, failure_mode
from guerdon.prove.jobs import RunJob, run_job
from guerdon.prove.judges import judge_of
from guerdon.prove.proving import OPTIONS, How, check_settings, trials_of
from guerdon.prove.records import record_of
from guerdon.prove.setting_suite import FALL, SUITE, draft, identity, is_frozen, piloted, setting_named
from guerdon.training.catalog import find_recipe
from guerdon.training.record import Options

NONE = None


def measured(measure, truth, paid):
    """A measure of tries, a list for each problem: their truth and their reward."""
    flat = [float(t) for group in truth for t in group]
    return MEASURES[measure](example_tries(paid, steps=2, correct=flat))


# --- failure modes, by hand ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("measure", "truth", "paid", "value"),
    [
        ("all_wrong", [[0, 0], [0, 1], [1, 1], [0, 0]], [[0, 0], [0, 1], [1, 1], [0, 0]], 0.5),
        ("flat_groups", [[0, 0], [0, 1], [1, 1], [0, 0]], [[0, 0], [0, 1], [1, 1], [0, 0]], 0.75),
        ("flipped", [[0, 1], [0, 1]], [[1, 1], [0, 0]], 0.5),
        ("flipped", [[0, 1], [0, 1]], [[0, 1], [0, NONE]], 0.0),
        ("unlabelled", [[0, 1], [0, 1]], [[0, 1], [NONE, NONE]], 0.5),
        ("disagreement", [[1, 0, 0], [1, 1, 1]], [[0.5, 0.5, 0.2], [0, 0, 0]], 0.5),  # one of two pairs is equal
        ("disagreement", [[1, 0], [1, 0]], [[1, 0], [0.2, 0.9]], 0.5),
    ],
)
def test_a_failure_mode_of_planted_tries(measure, truth, paid, value):
    assert measured(measure, truth, paid) == pytest.approx(value)


def test_a_failure_mode_that_a_batch_does_not_show_has_no_value():
    assert measured("disagreement", [[1, 1], [0, 0]], [[1, 1], [0, 0]]) is None


def test_turns_of_the_model_are_counted():
    def turn(parent, role="policy"):
        none = np.zeros(0, np.int64)
        taken = np.zeros(3 if role == "policy" else 0, np.int64)
        return Segment(role, "", none, taken, np.zeros(len(taken), np.float32), parent=parent)

    tries = [[turn(-1), turn(0), turn(1)], [turn(-1)]]
    ask = Ask(Task("0", ""))
    batch = pack([Episode(ask, tuple(each), number=0, attempt=i) for i, each in enumerate(tries)])
    assert MEASURES["model_turns"](batch) == 2.0


def test_the_stage_logs_its_measure_and_changes_nothing():
    batch, play = example_tries([[0.0, 1.0], [0.0, 0.0]], steps=2, correct=[0.0, 1.0, 0.0, 0.0]), ExamplePlay()
    assert failure_mode("all_wrong")(batch, play) is batch and play.metrics == {"failure/all_wrong": 0.5}


# --- judges -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def answers():
    """Right and wrong answers to two hundred problems."""
    source = gd.tasks.load("chain:1")
    tasks = [source.get("train", i) for i in range(200)]
    return source, [(t, f"= {t.answer}") for t in tasks], [(t, f"= {t.answer}0") for t in tasks]


def scores(words, answers, which):
    judge = judge_of(words, answers[0])
    return [judge(task=task, completion=text) for task, text in answers[which]]


def test_a_flipping_judge_contradicts_the_truth_in_its_share(answers):
    right, wrong = (scores("flipping_judge share=0.25", answers, which) for which in (1, 2))
    lies = right.count(0.0) + wrong.count(1.0)
    assert abs(lies / 400 - 0.25) < 4 * (0.25 * 0.75 / 400) ** 0.5
    assert scores("flipping_judge share=0.25", answers, 1) == right, "the same answer is always paid the same"


def test_a_scarce_judge_says_nothing_of_most_problems(answers):
    right = scores("scarce_judge share=0.25", answers, 1)
    assert set(right) == {None, 1.0} and abs(right.count(None) / 200 - 0.75) < 4 * (0.25 * 0.75 / 200) ** 0.5


def test_judges_that_like_something_else(answers):
    source, (right, *_), (wrong, *_) = answers
    task, text = right
    styled = judge_of("styled_judge style=* truth=0.5", source)
    assert styled(task=task, completion=text) == 0.5 and styled(task=task, completion=f"2*2\n{text}") == 1.0
    assert styled(task=task, completion=f"2*2\n{wrong[1]}") == 0.5
    long, other = judge_of("lengthy_judge lines=4 truth=0.2", source), judge_of("styled_judge style=* liked=0", source)
    assert long(task=task, completion="a\nb\nc\nd") == pytest.approx(0.8) and long(
        task=task, completion=text
    ) == pytest.approx(0.4)
    assert other(task=task, completion=text) == 1.0 and other(task=task, completion=f"2*2\n{text}") == 0.5
    with refusal(UserError):
        judge_of("kind", source)


# --- the suite ----------------------------------------------------------------------------------------------------


@pytest.mark.sampled(4, "setting")
@pytest.mark.parametrize("setting", SUITE, ids=lambda each: each.name)
def test_the_arms_of_a_setting_can_be_built_and_differ_in_their_judge_alone(setting):
    claim = setting.claim("x", ablation=setting.baseline)
    arms = arms_in_setting("grpo", claim, setting, OPTIONS)
    assert list(arms) == [METHOD, BASELINE, ABLATION, PLAIN]
    assert arms[BASELINE].measure == ("" if setting.failure.measure == FALL else setting.failure.measure)
    assert (arms[BASELINE].hash != arms[PLAIN].hash) == bool(setting.judge)
    assert setting.failure.low < setting.failure.high and setting.about.endswith(".")


def test_a_setting_that_is_not_there_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["prove", "grpo", "--setting", "noisy"]) == 2
    assert "noisy_judge" in capsys.readouterr().err
    assert setting_named("sparse").failure.measure == "all_wrong"


def test_a_recipe_names_its_settings_and_one_without_a_claim_is_screened():
    entry = find_recipe("grpo")
    assert entry.screened == Screening(("plain",)) and find_recipe("verpo").screened.ablation
    (trial,) = trials_of("grpo", entry, How())
    assert (trial.tier, trial.recipe, trial.setting.name) == ("screening", "grpo+screening", "plain")
    other = replace(entry, screening=Screening(("noisy_judge", "sparse"), ablation="grpo kl=0.1"))
    assert [trial.setting.name for trial in trials_of("grpo", other, How())] == ["noisy_judge", "sparse"]
    assert [t.setting.name for t in trials_of("dump", find_recipe("dump"), How(setting="sparse"))] == ["sparse"]


def test_a_run_records_its_failure_mode_and_what_was_cut(tmp_path):
    """Two steps of the table under a judge that flips a quarter."""
    setting = replace(
        setting_named("table"), judge="flipping_judge share=0.25", failure=setting_named("noisy_judge").failure
    )
    options = Options(rollouts_every=0, eval_tasks=8, eval_tries=1, watch=False)
    claim = replace(setting.claim("x"), budget=2, unit="steps", settings="prompts=16 tries=8 lr=0.1 tabular.vocab=01")
    arms = arms_in_setting("grpo", claim, setting, options)
    assert run_job(RunJob(arms[BASELINE], 0, tmp_path / "run", "key")) == ""
    record = record_of(tmp_path / "run")
    assert (
        set(record["failure"]) == {"flipped"}
        and 0.0 <= record["failure"]["flipped"] <= 0.6
        and 0.0 <= record["cut"] <= 1.0
    )
    assert setting.failure.of(record, claim) == record["failure"]["flipped"]


def test_how_far_the_truth_falls_is_read_off_exams():
    points = [
        {"spent": {}, "result": {"point": p, "pass@1": v}} for p, v in (("start", 0.5), ("late", 0.4), ("last", 0.3))
    ]
    setting = setting_named("hackable_proxy")
    assert setting.failure.of({"points": points}, setting.claim("x")) == pytest.approx(0.15)


# --- pilots -------------------------------------------------------------------------------------------------------


def test_the_package_ships_pilots_of_settings_as_they_are():
    for name, found in piloted().items():
        setting = setting_named(name)
        assert found["setting"] == identity(setting), f"{name} was changed after its pilot: pilot it again"
        assert found["passed"] == is_frozen(setting) == all(gate["open"] for gate in found["gates"])


def test_a_pilot_is_of_the_setting_that_it_was_run_for(tmp_path):
    setting = setting_named("table")
    found = {"table": {**piloted()["table"], "setting": identity(setting), "passed": True}}
    (tmp_path / "settings.json").write_text(json.dumps(found))
    assert is_frozen(setting, tmp_path) and not is_frozen(replace(setting, budget=1.0), tmp_path)
    assert not is_frozen(setting_named("sparse"), tmp_path)


def test_a_screening_in_a_draft_is_refused(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for how in ([], ["--detach"]):
        assert main(["prove", "grpo", "--setting", "long_horizon", *how]) == 2
        said = capsys.readouterr().err
        assert "'long_horizon' is a draft (it has no pilot): run guerdon prove --pilot long_horizon first" in said
        assert len(said.strip().splitlines()) == 1 and not list(tmp_path.rglob("run.json")), "nothing was run"


def test_what_makes_a_setting_a_draft(tmp_path):
    setting = setting_named("long_horizon")
    for found, why in (
        ({}, "it has no pilot"),
        ({"long_horizon": {"passed": False, "setting": identity(setting)}}, "its pilot did not pass"),
        ({"long_horizon": {"passed": True, "setting": "another"}}, "it was changed after its pilot"),
        ({"long_horizon": {"passed": True, "setting": identity(setting)}}, ""),
    ):
        (tmp_path / "settings.json").write_text(json.dumps(found))
        assert draft(setting, tmp_path / "none", tmp_path) == why
        how = How(out=tmp_path, setting="long_horizon")
        for each in (how, replace(how, setting="table"), replace(how, quick=True), replace(how, tells=True)):
            if why and each is how:
                with pytest.raises(UserError, match="is a draft"):
                    check_settings(["grpo"], each)
            else:
                check_settings(["grpo"], each)


@pytest.mark.slow
def test_a_quick_pilot_says_which_gates_fail(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["prove", "--pilot", "table", "--quick", "--jobs", "1"]) == 0
    out = capsys.readouterr().out
    assert "table: did not pass" in out and "updates failed" in out
    assert main(["prove", "--status"]) == 0
    assert "2 of 2 runs, ended after" in capsys.readouterr().out


def test_settings_are_listed(capsys):
    assert main(["list", "settings", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["settings"]
    assert [row["setting"] for row in rows] == [setting.name for setting in SUITE]
    assert {row["pilot"] for row in rows} <= {"passed", "did not pass", "none yet"}
