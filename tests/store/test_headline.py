"""The headline of a run: which number it is, and how it is said."""

from __future__ import annotations

from typing import Any

import pytest
from run_configs import config

from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.headline import exam_headline, headline_key, now_metric, result_headline, step_headline
from guerdon.runs.run import Run
from guerdon.runs.whole_files import write_json

ACCURACY = {
    "task": "trace",
    "tries": 2,
    "tasks": 8,
    "pass@1": 0.5,
    "pass@1_low": 0.25,
    "pass@1_high": 0.75,
    "length": 9.0,
}
PAIRS = {"rm/task": "trace", "rm/tries": 4, "rm/pair_accuracy": 0.75, "rm/pair_ece": 0.1, "rm/pairs_examined": 12}
LINES = {"prm/task": "trace", "prm/step_accuracy": 0.9, "prm/found_share": 0.5, "prm/first_error_f1": 0.625}


@pytest.mark.parametrize(
    ("result", "key"),
    [
        (ACCURACY, "pass@1"),
        (PAIRS, "rm/pair_accuracy"),
        (LINES, "prm/first_error_f1"),
        ({**PAIRS, **ACCURACY}, "rm/pair_accuracy"),  # the first exam's
        ({"task": "x", "rounds": 3, "wealth": 2.5, "spread": 0.1}, "wealth"),  # a count is none
        ({"task": "x", "wealth": 2.5, "coverage": 0.5, "coverage_low": 0.1, "coverage_high": 0.9}, "coverage"),
        ({"task": "x", "rounds": 3}, "rounds"),
        ({"task": "x", "pass@1": "all"}, ""),
        ({}, ""),
    ],
)
def test_which_number_it_is(result: dict[str, Any], key: str) -> None:
    assert headline_key(result) == key


def test_before_and_after() -> None:
    after = {**ACCURACY, "steps_done": 4, "pass@1": 0.75, "pass@1_low": 0.5, "pass@1_high": 0.875}
    headline = exam_headline([{**ACCURACY, "steps_done": 0}, {**after, "steps_done": 2}, after])
    assert headline is not None
    assert headline.text == "50.0 % (25.0 to 75.0) -> 75.0 % (50.0 to 87.5)  held-out trace, 8 tasks"
    assert headline.short == "50.0 -> 75.0 % accuracy" and len(headline.points) == 3
    assert headline.to_json()["before"] == 0.5 and headline.to_json()["after"] == 0.75
    (pairs, lines) = (exam_headline([{**result, "steps_done": 0}]) for result in (PAIRS, LINES))
    assert pairs is not None and pairs.text == "75.0 %  held-out trace" and pairs.to_json()["before"] is None
    assert lines is not None and lines.short == "0.625 first-error F1"


def test_without_an_exam_it_is_the_reward_and_says_so() -> None:
    headline = step_headline([(0, {"reward/mean": 0.21}), (1, {}), (2, {"reward/mean": 0.64, "correct/mean": 0.5})])
    assert headline is not None and headline.words == "reward"
    assert headline.text == "0.210 -> 0.640  on the problems trained on; no held-out exam"
    headline = step_headline([(0, {"correct/mean": 0.25})])
    assert headline is not None and headline.text.startswith("25.0 %  on the problems trained on")
    assert step_headline([(0, {"policy/loss": 1.0})]) is None


def test_of_a_study_it_is_the_result() -> None:
    headline = result_headline({"bases": {"a": 1.0}, "accuracy": 0.5, "agreement": 0.9})
    assert headline is not None and headline.text == "50.0 %  the study's result" and headline.key == "accuracy"
    assert result_headline(None) is None and result_headline({"best": "a"}) is None


def test_what_a_step_says_of_it() -> None:
    found = [now_metric(key) for key in ("pass@1", "rm/pair_accuracy", "prm/first_error_f1", "wide/coverage")]
    assert [each and each[0] for each in found] == ["correct/mean", "rm/accuracy", "prm/step_f1", None]


def test_of_a_folder(tmp_path) -> None:
    folder = RunFolder(tmp_path / "run")
    folder.create(config(steps=1))
    with EventLog(folder.events, 0) as log:
        assert Run(folder).headline is None
        log.emit(StepDone(0, metrics={"correct/mean": 0.25}))
        assert Run(folder).headline.source == "step"
        log.emit(Evaluated(0, result=ACCURACY))
        assert Run(folder).headline.source == "exam"
    study = RunFolder(tmp_path / "study")
    study.create(config(steps=0, kind="study"))
    write_json(study.result, {"accuracy": 0.5})
    assert Run(study).headline.source == "result"
