"""Exams of steps: run at the start and at the two points that a score is read off, except in evidence of earlier rules."""

from __future__ import annotations

from dataclasses import replace

import pytest

import guerdon as gd
from guerdon.core.budget import Budget
from guerdon.exams.exam import Exam
from guerdon.exams.rates import accuracy
from guerdon.prove.proving import OPTIONS, How, trials_of
from guerdon.prove.register import register
from guerdon.training.catalog import find_recipe
from guerdon.training.record import Options


@pytest.mark.parametrize(("only", "points"), [((), 6), (("steps",), 3)])
def test_how_often_a_run_takes_each_exam(tmp_path, only, points):
    task, model = gd.tasks.load("parity:1"), gd.models.tabular("01", length=1)
    made = find_recipe("grpo").build({"task": task, "model": model}, {"prompts": 2, "tries": 2})
    made.exams = [Exam(task), Exam(task, [accuracy()], name="steps", tasks=4)]
    options = replace(OPTIONS, eval_tasks=4, eval_whole=6, eval_whole_only=only)
    run = gd.train(made, out=tmp_path / "run", options=options, budget=Budget(20, "steps"))
    assert len(run.evaluations) == 6
    taken = [each["point"] for each in run.evaluations if "steps/pass@1" in each]
    assert len(taken) == points and {"start", "late", "last"} <= set(taken)
    assert tuple(Options.of_config(run.config).eval_whole_only) == only, "a resumed run takes the same exams"


def test_options_that_are_not_used_change_no_key():
    assert "eval_whole_only" not in OPTIONS.keeping and "eval_whole_only" not in OPTIONS.to_config()
    assert replace(OPTIONS, eval_whole_only=("steps",)).keeping == {**OPTIONS.keeping, "eval_whole_only": ("steps",)}


@pytest.mark.slow
def test_claims_of_earlier_rules_keep_their_exams_and_new_evidence_has_three(tmp_path):
    def options(how, entry):
        return {arm.options.eval_whole_only for trial in trials_of("prime", entry, how) for arm in trial.arms.values()}

    entry, new = find_recipe("prime"), How(out=tmp_path)
    (claim, *_) = entry.claims
    changed = replace(entry, claims=(replace(claim, budget=claim.budget + 1),))
    assert options(new, entry) == {()}, "registered under the second edition"
    assert options(new, changed) == {("steps",)} == options(replace(new, setting="table"), entry)
    register(tmp_path, trials_of("prime", changed, new))
    assert options(new, changed) == {("steps",)}, "registered under today's"
    curve = replace(claim, metric="mean steps/sound", budget=claim.budget + 1)
    assert options(new, replace(entry, claims=(curve,))) == {()}, "a mean over the run needs all points"
