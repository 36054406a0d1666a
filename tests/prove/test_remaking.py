"""`prove --sample`: recorded runs made again from nothing are equal to their records, or named."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from command_line import command_line, refused
from planted import record
from proofs import MINE, how, quiet

from guerdon.evidence import proof_files
from guerdon.prove import proving, remaking
from guerdon.prove.arms import machine
from guerdon.prove.known import Known
from guerdon.prove.proving import How, prove
from guerdon.prove.remaking import differing, remake, sample


def test_a_record_is_compared_number_by_number():
    """By hand. A study has no weights to speak of: its result is what it came to."""
    study = {
        "weights": "e3",
        "spent": {},
        "points": [],
        "result": {"accuracy": 0.93, "curve": [{"spent": 20, "value": 0.5}]},
    }
    other = {**study, "result": {"accuracy": 0.93, "curve": [{"spent": 20, "value": 0.500001}], "seconds": 3.0}}
    assert differing(study, {**study, "created": "tomorrow", "result": {**study["result"], "new": 1}}) == ""
    assert differing(study, other) == "result, curve 1, value 0.5 then, 0.500001 now"
    assert differing(study, {**study, "result": {}}) == "result, accuracy 0.93 then, nothing now"
    exams = [{"spent": {"tokens": 9, "seconds": 1.0}, "result": {"pass@1": 0.5, "gap": float("nan")}}]
    run = {"weights": "ab", "spent": {"tokens": 9, "seconds": 1.0}, "asked": {"odd": 3}, "points": exams}
    slower = [{"spent": {"tokens": 9, "seconds": 2.0}, "result": {"pass@1": 0.5, "gap": float("nan")}}]
    assert differing(run, {**run, "points": slower, "spent": {"tokens": 9, "seconds": 2.0}}) == ""
    assert differing(run, {**run, "points": []}) == "1 exams then, 0 now"
    worse = [{**exams[0], "result": {"pass@1": 0.499999, "gap": float("nan")}}]
    assert differing(run, {**run, "points": worse}) == "exam 1, result, pass@1 0.5 then, 0.499999 now"
    assert differing(run, {**run, "asked": {"odd": 4}}) == "asked, odd 3 then, 4 now"
    told_apart = {**run, "asked": {"write f([1,": 1, "write f('dust')": 2}}
    assert differing(told_apart, {**run, "asked": {"write f": 3}}) == ""  # earlier runs told forms apart that are one


@pytest.fixture(scope="module")
def proof(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the evidence of runs that come to what the rule asks for and were never made."""
    tmp_path = tmp_path_factory.mktemp("proof")
    (tmp_path / "faster.py").write_text(MINE)

    def run_none(trials: Any, known: Known, how: How, progress: Any) -> None:
        while wanted := [run for trial in trials for run in trial.wanted(known)]:
            for run in wanted:
                known.add(record(run, 0.6 + 0.1 * (run.arm.what == "faster") + 0.001 * (run.seed % 8)))

    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        patch.setattr(proving, "run_trials", run_none)
        prove(["faster.py"], how(tmp_path), quiet)
    return tmp_path


@pytest.fixture
def folder(proof: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to be in and to change."""
    shutil.copytree(proof, tmp_path / "proved")
    monkeypatch.chdir(tmp_path / "proved")
    return tmp_path / "proved"


def comes_to(monkeypatch: pytest.MonkeyPatch, then: list[Any], **changes: Any) -> list[str]:
    """Runs that are made again are their records, but for what is changed; which ones were wanted."""
    asked: list[str] = []
    by_key = {one.run.key: one.then for one in then}

    def run_planted(runs: Any, more: Any, known: Known, how: Any, progress: Any) -> None:
        for run in runs:
            asked.append(f"{run.arm.what} seed {run.seed}")
            known.add({**by_key[run.key], "key": run.key, **changes})

    monkeypatch.setattr(remaking, "run_wanted", run_planted)
    return asked


def test_of_the_method_two_and_of_every_other_arm_one_is_made_again(folder, monkeypatch):
    chosen = sample("faster.py", how(folder))
    asked = comes_to(monkeypatch, chosen)
    remade = remake(["faster.py"], how(folder, runs=folder / "again"), quiet)
    assert asked == ["faster seed 0", "faster seed 1", "faster lr=0.003 seed 0"]  # which is the baseline too
    assert [why for _, why in remade] == [""] * 4
    assert remade[0][0].name == "faster.py, claim 1, method seed 0"
    assert all(one.run.key.endswith("-same") for one in chosen), "nobody takes them for evidence"


def test_a_run_that_differs_is_named_and_ends_the_command_with_1(folder, monkeypatch, capsys):
    comes_to(monkeypatch, sample("faster.py", how(folder)), weights="ffff")
    said = command_line(folder, monkeypatch, capsys)("prove", "faster.py", "--sample", "--runs", "again")
    refused(said, "4 of 4 reruns differ from their records", code=1)
    assert "faster.py, claim 1, method seed 0: weights faster 0 then, ffff now" in said.out
    assert "0 of 4 reruns are equal to their records" in said.out


def test_runs_of_another_machine_are_not_made_again_here(folder):
    proof = proof_files.read(folder / "evidence", "faster")
    for run in proof["claims"][0]["arms"]["method"]["runs"]:
        run["machine"] = "elsewhere"
    proof_files.write(folder / "evidence", proof)
    assert {one.role for one in sample("faster.py", how(folder))} == {"baseline", "ablation"}
    assert machine() != "elsewhere"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["cyclical-curriculum-learning", "regret-preference-model", "starc"])
def test_records_of_the_package_come_out_again(name, tmp_path):
    """Those that a processor like this one made; `make sample` does it for all."""
    pytest.importorskip("sklearn")
    how = How(out=proof_files.SHIPPED, runs=tmp_path, jobs=1)
    if not sample(name, how):
        pytest.skip("made on another kind of machine")
    assert [(one.name, why) for one, why in remake([name], how, quiet, of_each=1) if why] == []
