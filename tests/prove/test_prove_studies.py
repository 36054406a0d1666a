"""Proofs of studies: budgets and curves of their runs, runs that arms share, and what a study returns."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from proofs import how, quiet

from guerdon.core.errors import UserError
from guerdon.prove.jobs import RunJob, _apart
from guerdon.prove.proving import prove, trials_of
from guerdon.training.catalog import find_recipe

STUDY = '''
from guerdon.core.recipe import Claim, Recipe, Study, recipe
from guerdon.recipes.house.grpo import grpo


@recipe("twice", family="mine", on=grpo, claim=Claim(
    says="x", baseline="twice times=1", task="successor:1", model="tabular", settings="prompts=4 tries=8 lr=0.3 steps=1000",
    metric="pass@1", budget=50000))
def twice(base: Recipe, *, times: int = 2) -> Study:
    """Several runs, one after the other, each from the weights of the one before."""
    def body(run, seed):
        for i in range(times):
            trained = run.train(base, seed=seed + 100 * i, steps=1000 if i else 5)
            base.models["policy"] = trained.model()
        return RESULT
    return Study(body)
'''


@pytest.mark.slow
def test_a_budget_reaches_a_study_and_its_curve_is_that_of_its_runs(mine, tmp_path):
    Path(mine).write_text(STUDY.replace("RESULT", "None"))
    (found,) = prove([mine], how(tmp_path, quick=True), quiet)
    arms = found["claims"][0]["arms"]
    for run in arms["method"]["runs"]:
        spent, curve = run["spent"], [point["spent"]["tokens"] for point in run["points"]]
        assert 5000 <= spent["tokens"] < 6000  # a tenth, up to a whole step: five steps, then what is left
        assert spent["steps"] > 5 and spent["updates"] > 5 and spent["read"] > spent["tokens"]
        assert [curve[0], curve[3]] == [0, spent["tokens"]]
        assert curve[1] == curve[2], "where the first run ended, the second began"
        assert run["score"] == run["points"][-1]["result"]["pass@1"]
    assert [run["spent"]["steps"] for run in arms["baseline"]["runs"]] == [5, 5]
    assert arms["method"]["curve"][0]["spent"] == 0
    made = list((tmp_path / "runs" / ".inner").glob("*/*/run.json"))
    assert len(made) == 2 * 2, "the first run of a seed is the same in both arms: it is made once"


def test_studies_that_share_runs_are_begun_apart(mine, tmp_path):
    Path(mine).write_text(STUDY.replace("RESULT", "None"))
    (trial,) = trials_of(mine, find_recipe(mine), how(tmp_path, quick=True))
    jobs = [RunJob(arm, seed, tmp_path / f"{name}{seed}") for seed in (0, 1) for name, arm in trial.arms.items()]
    assert [job.folder.name for job in _apart(jobs, [])] == ["method0", "method1", "baseline0", "baseline1"]
    assert [job.folder.name for job in _apart(jobs[2:], jobs[:1])] == ["method1", "baseline1"]
    assert [job.folder.name for job in _apart(jobs[1:], jobs[:1])] == ["method1", "baseline0", "baseline1"]
    assert replace(jobs[0], alone=True).inner is None


@pytest.mark.slow
def test_what_a_study_returns_counts_before_what_its_runs_found(mine, tmp_path):
    Path(mine).write_text(STUDY.replace("RESULT", '{"pass@1": 7.0 + times, "spent": {"samples": 3}}'))
    (found,) = prove([mine], how(tmp_path, quick=True), quiet)
    arms = found["claims"][0]["arms"]
    assert {arm: (runs["runs"][0]["score"], runs["runs"][0]["spent"]["samples"]) for arm, runs in arms.items()} == {
        "method": (9.0, 3), "baseline": (8.0, 3)
    }  # fmt: skip
    Path(mine).write_text(STUDY.replace("RESULT", "None").replace('metric="pass@1"', 'metric="pas@1"'))
    with pytest.raises(UserError, match=r"unknown metric of an evaluation 'pas@1'.*pass@1"):
        prove([mine], how(tmp_path, quick=True), quiet)
