"""1-shot RLVR: histories of problems by hand, the ranking by variance, held-out curves, and the study."""

from __future__ import annotations

import json

import pytest
import torch
from killing import Killed
from refusals import refusal
from run_configs import config

import guerdon as gd
from guerdon.core.budget import Budget
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.recipe import Study
from guerdon.core.task import Ask, Task
from guerdon.curricula.plain import uniform
from guerdon.curricula.success_records import by_variance, history_of, rates, recorded
from guerdon.models.tables import tabular
from guerdon.runs.event_types import Evaluated, StepDone
from guerdon.runs.events import EventLog
from guerdon.runs.folder import RunFolder
from guerdon.runs.run import Run
from guerdon.studies.curves import held_out
from guerdon.tasks import load
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe
from guerdon.training.study import run_study

NAME = "one-shot-rlvr"


# --- histories ---------------------------------------------------------------------------------------------------


def test_a_problems_rate_is_over_its_tries_that_have_a_value():
    assert rates(example_tries([[1.0, 0.0, 0.0, None], [1.0], [None]]), "reward") == {"task/0": 1 / 3, "task/1": 1.0}
    assert rates(example_tries([]), "reward") == {}


def test_two_asks_of_one_problem_in_a_step_are_one_rate():
    batch = example_tries([[1.0, 1.0], [0.0, 1.0]])
    once = pack([e.but(ask=Ask(Task("same", ""))) for e in batch.episodes]).with_cols(batch.cols)
    assert rates(once, "reward") == {"task/same": 0.75}


def test_a_rate_is_of_whole_tries():
    batch = example_tries([[1.0]], steps=2).with_cols({"process": Column.full("step", torch.ones(2))})
    with refusal(UserError):
        rates(batch, "process")


def test_what_is_recorded_is_what_would_have_been_drawn():
    source, plain = load("countdown:1-3@5"), ExamplePlay()
    noted = recorded(uniform(source, 3))
    assert noted.draw(7, ExamplePlay()) == uniform(source, 3).draw(7, plain)
    assert noted.curriculum.drawn == 7


def test_a_history_is_in_the_order_of_steps():
    steps = [{"history/a": 0.25, "loss": 3.0}, {}, {"history/b": 1.0, "history/a": 0.0}]
    assert history_of(steps) == {"a": [0.25, 0.0], "b": [1.0]}


def test_the_ranking_goes_by_variance_and_of_equals_by_place():
    source = load("countdown:1@5")
    keys = [source.get("train", i).key for i in range(5)]
    # variances 0, 1/64, 1/4, 1/64, and one that was never tried
    history = dict(zip(keys, [[1.0, 1.0], [0.5, 0.25], [0.0, 1.0], [0.0, 0.25]], strict=False))
    assert by_variance(source, history) == [2, 1, 3, 0, 4]
    assert by_variance(source, {}) == [0, 1, 2, 3, 4]


# --- held-out curves ---------------------------------------------------------------------------------------------


def test_a_curve_has_what_was_spent_before_each_evaluation(tmp_path):
    done = [StepDone(step, metrics={}, tokens=10 * (step + 1)) for step in range(3)]
    found = [Evaluated(-1, result={"pass@1": 0.2}), Evaluated(2, result={"pass@1": 0.5, "kinds": {"a:1": 0.5}})]
    folder = RunFolder(tmp_path)
    folder.create(config(recipe="x"))
    with EventLog(folder.events, 0) as log:
        for event in (*done, *found):
            log.emit(event)
    assert held_out(Run(tmp_path)) == [
        {"spent": 0, "value": 0.2, "kinds": {}, "point": ""},
        {"spent": 60, "value": 0.5, "kinds": {"a:1": 0.5}, "point": ""},
    ]
    with refusal(UserError, "eval_tasks", "0"):
        folder.events.unlink()
        held_out(Run(tmp_path))


# --- the study ---------------------------------------------------------------------------------------------------

SMALL = {"prompts": 4, "tries": 4, "lr": 0.3, "epochs": 4}


def study(out, **settings):
    """`parity:4@8` on a table of one row a problem: what is learned of one problem is nothing to another."""
    model = tabular("01", length=1, rows=256)
    options = gd.Options(eval_tasks=4, eval_tries=2, save_every=2)
    wish = {"task": load("parity:4@8"), "model": model, "settings": {**SMALL, **settings}, "budget": "64"}
    return gd.train(NAME, out=out, seed=3, options=options, **wish)


def result(run):
    return json.loads((run.path / "result.json").read_text())


def inner(run):
    """The runs in a study: the one that chose, if there was one, and the one that counts."""
    found = [Run(config.parent) for config in run.folder.inner.glob("*/run.json")]
    return sorted(found, key=lambda each: each.config["budget"]["unit"] == "tokens")


@pytest.mark.slow
def test_the_problem_that_varied_most_fills_every_batch(tmp_path):
    run = study(tmp_path / "run")
    first, second = inner(run)
    assert first.steps_done == 8  # 4 times 8 problems, 4 a step
    history = history_of(done.metrics for done in first.events(StepDone))
    assert sorted(map(len, history.values())) == [4] * 8
    source = load("parity:4@8")
    best = by_variance(source, history)[0]
    assert result(run)["problem"] == best
    steps = [batch for _, batch in second.batches()]
    assert {e.task.key for batch in steps for e in batch.episodes} == {source.get("train", best).key}
    assert all(batch.size("ask") == 4 and len(batch.episodes) == 16 for batch in steps)
    assert second.spent["tokens"] == 64  # one token a try, sixteen tries a step


def test_each_copy_is_a_group_of_its_own():
    made = find_recipe(NAME).build({"task": load("parity:4@8"), "model": tabular()}, {})
    assert isinstance(made, Study)
    inside = {n: c.cell_contents for n, c in zip(made.body.__code__.co_freevars, made.body.__closure__, strict=True)}
    assert repr(inside["made"].stages[1]) == "centre(reward='correct', by='ask')"
    assert repr(inside["made"].stages[2].loss) == "total(terms=[clipped(), kl(weight=0.001), entropy(weight=0.001)])"


@pytest.mark.sampled(1, "train")
@pytest.mark.parametrize(("train", "runs", "problems"), [("any", 1, 1), ("all", 1, 8), ("nothing", 1, 0)])
def test_what_the_other_arms_are_trained_on(train, runs, problems, tmp_path):
    run = study(tmp_path / "run", train=train)
    made = inner(run)
    assert len(made) == runs
    assert len({e.task.key for _, batch in made[0].batches() for e in batch.episodes}) == problems
    found = result(run)
    assert found["before"] == found["curve"][0]["value"]
    assert (found["accuracy"] == found["before"]) or problems


@pytest.mark.slow
def test_a_study_that_was_broken_off_goes_on_the_same(tmp_path, monkeypatch):
    whole = result(study(tmp_path / "whole"))
    update, calls = Learn.update, []

    def killed(self, *args):
        calls.append(1)
        if len(calls) == 11:  # in the second run
            raise Killed
        return update(self, *args)

    monkeypatch.setattr(Learn, "update", killed)
    with pytest.raises(Killed):
        study(tmp_path / "broken")
    monkeypatch.undo()
    model = tabular("01", length=1, rows=256)
    made = build(RunRequest(NAME, load("parity:4@8"), model, settings=SMALL)).recipe
    made.budget = Budget(64)

    again = run_study(made, RunFolder(tmp_path / "broken"), gd.Options(eval_tasks=4, eval_tries=2, save_every=2), 3)
    assert again == whole


def test_an_endless_source_is_refused():
    with refusal(UserError, "--task", "128"):
        find_recipe(NAME).build({"task": load("parity"), "model": tabular()}, {})
