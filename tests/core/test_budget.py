"""Budgets: what is counted, when a run ends, and what schedules make of it."""

from __future__ import annotations

import pytest

import guerdon as gd
from guerdon.core.budget import Budget, read_budget
from guerdon.core.errors import UserError
from guerdon.core.events import StepDone
from guerdon.loop.build import Wish, build
from guerdon.store.run import Run


def small(**more):
    return {"task": "successor:1", "model": "tabular", "prompts": 2, "tries": 4, **more}


def test_a_run_ends_after_the_step_that_reaches_its_budget(tmp_path):
    run = gd.train("grpo", **small(), budget="50:samples", out=tmp_path / "run")
    assert run.complete and run.steps_done == 7  # 8 a step: 48 is not enough, 56 is
    assert run.spent["samples"] == 56
    assert run.progress == "7 steps, 56 of 50 samples"


@pytest.mark.parametrize("unit", ["tokens", "steps"])
def test_units(tmp_path, unit):
    run = gd.train("grpo", **small(), budget=Budget(30, unit), out=tmp_path / "run")
    spent = run.spent
    assert spent[unit] >= 30
    last = run.events(StepDone)[-1]
    assert spent[unit] - (1 if unit == "steps" else last.tokens) < 30


def test_the_budget_makes_the_recipe_another_one():
    first, second = (build(Wish("grpo", "successor:1", "tabular")).recipe for _ in range(2))
    second.budget = Budget(10)
    assert first.hash != second.hash


def test_it_resumes_to_the_same_end(tmp_path, monkeypatch):
    from guerdon.loop import train

    whole = gd.train("grpo", **small(), budget="100:samples", out=tmp_path / "whole", options=gd.Options(save_every=3))

    real, stop = train.steps, iter(range(100))

    def broken(*args):
        for done in real(*args):
            yield done
            if next(stop) == 6:
                raise RuntimeError("killed")

    monkeypatch.setattr(train, "steps", broken)
    with pytest.raises(RuntimeError):
        gd.train("grpo", **small(), budget="100:samples", out=tmp_path / "cut", options=gd.Options(save_every=3))
    monkeypatch.setattr(train, "steps", real)
    resumed = gd.train(resume=tmp_path / "cut")
    assert (resumed.weights, resumed.steps_done) == (whole.weights, whole.steps_done)
    assert Run(tmp_path / "cut").spent["samples"] == whole.spent["samples"]
    with pytest.raises(UserError, match="keeps the budget"):
        gd.train(resume=tmp_path / "cut", budget="7")


def test_schedules_span_what_the_budget_allows():
    budget = Budget(1000)
    assert budget.steps(0, 500) == 500  # nothing is known yet
    budget.spent = 90
    assert budget.steps(3, 500) == 34  # 30 a step
    budget.spent = 1200
    assert budget.steps(40, 500) == 41 and budget.share == 1.0


def test_evaluations_are_spread_over_the_budget(tmp_path):
    options = gd.Options(eval_every=0.25, eval_tasks=2, eval_tries=1)
    run = gd.train("grpo", **small(), budget="160:samples", out=tmp_path / "run", options=options)
    assert [e["steps_done"] for e in run.evaluations] == [0, 5, 10, 15, 20]


@pytest.mark.parametrize(("text", "amount", "unit"), [("400000", 400_000, "tokens"), ("2e3:samples", 2000, "samples")])
def test_budgets_as_typed(text, amount, unit):
    read = read_budget(text)
    assert (read.amount, read.unit) == (amount, unit)


@pytest.mark.parametrize("text", ["many", "10:words", "0", "-5:steps"])
def test_budgets_that_cannot_be(text):
    with pytest.raises(UserError):
        read_budget(text)
