"""Budgets: what is counted, when a run ends, and what schedules make of it."""

from __future__ import annotations

import json

import pytest
from killing import Killed
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.core.budget import Budget, read_budget
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.optim import adam
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Sampling, Task
from guerdon.engine.player import Player
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.losses.imitation import sft
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular
from guerdon.runs.event_types import StepDone, from_json
from guerdon.runs.run import Run
from guerdon.training.build import RunRequest, build
from guerdon.training.readings import fill_needs


def small(**more):
    return {"task": "successor:1", "model": "tabular", "prompts": 2, "tries": 4, **more}


def test_a_run_ends_after_the_step_that_reaches_its_budget(tmp_path):
    run = gd.train("grpo", **small(), budget="50:samples", out=tmp_path / "run")
    assert run.complete and run.steps_done == 7  # 8 a step: 48 is not enough, 56 is
    assert run.spent["samples"] == 56
    assert run.progress == "7 steps, 56 of 50 samples"


@pytest.mark.sampled(1, "unit")
@pytest.mark.parametrize("unit", ["tokens", "steps"])
def test_units(tmp_path, unit):
    run = gd.train("grpo", **small(), budget=Budget(12, unit), out=tmp_path / "run")
    spent = run.spent
    assert spent[unit] >= 12
    last = run.events(StepDone)[-1]
    assert spent[unit] - (1 if unit == "steps" else last.tokens) < 12


def test_the_budget_makes_the_recipe_another_one():
    first, second = (build(RunRequest("grpo", "successor:1", "tabular")).recipe for _ in range(2))
    second.budget = Budget(10)
    assert first.hash != second.hash


@pytest.mark.slow
def test_it_resumes_to_the_same_end(tmp_path, monkeypatch):
    from guerdon.training import loop as train

    whole = gd.train("grpo", **small(), budget="100:samples", out=tmp_path / "whole", options=gd.Options(save_every=3))

    real, stop = train.steps, iter(range(100))

    def broken(*args):
        for done in real(*args):
            yield done
            if next(stop) == 6:
                raise Killed

    monkeypatch.setattr(train, "steps", broken)
    with pytest.raises(Killed):
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


@pytest.mark.slow
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


# --- what is counted ------------------------------------------------------------------------------------------------


@gd.part
class fixed:
    """Draws one task `tries` times a step; nothing in the steps of `idle`."""

    tries: int = 3
    idle: tuple[int, ...] = ()

    def draw(self, n, play):
        return [] if play.step in self.idle else [Ask(Task("1", "ab", "0"), self.tries)]


def paid_alike(epochs=1, updates=1, **more):
    """Two actions a try on a table, all of them learned from: every number can be counted by hand."""
    learn = gd.Learn("policy", sft(), opt=adam(lr=0.1), epochs=epochs, updates=updates)
    fields = {"curriculum": fixed(), "env": single_turn(), "stages": [learn], "steps": 4, **more}
    return gd.Recipe({"policy": tabular(length=2)}, **fields)


def test_the_four_things_by_hand(tmp_path):
    run = gd.train(paid_alike(epochs=2, updates=3), out=tmp_path / "run")
    for step in run.events(StepDone):
        assert step.tokens == 3 * 2  # three tries of two actions
        assert step.updates == 2 * 3
        assert step.read == 3 * 2 + 2 * 3 * (2 + 2)  # a prompt of two for each try; twice all tries, prompt and actions
    assert run.spent == {**run.spent, "tokens": 24, "read": 120, "updates": 24, "samples": 12, "steps": 4}
    assert run.metrics.column("read").to_pylist() == [30] * 4 and run.metrics.column("updates").to_pylist() == [6] * 4


@pytest.mark.sampled(1, "unit")
@pytest.mark.parametrize(("unit", "steps"), [("read", 3), ("updates", 11)])
def test_budgets_in_what_is_read_and_in_updates(tmp_path, unit, steps):
    amount = {"read": 61, "updates": 61}[unit]
    run = gd.train(paid_alike(epochs=2, updates=3), budget=Budget(amount, unit), out=tmp_path / "run")
    assert run.complete and run.steps_done == steps and run.spent[unit] >= amount


def test_what_is_recited_to_be_learned_from_is_spent(tmp_path):
    run = gd.train(paid_alike(env=dataset_env()), budget="10", out=tmp_path / "run")
    assert run.complete and run.steps_done == 4  # one action a try, three tries: 12 after the fourth step
    assert run.spent["tokens"] == 12 and run.spent["read"] == 4 * 3 * (
        2 + 1
    )  # nothing is sampled, so no prompt is read


@pytest.mark.slow
def test_recipes_that_sample_nothing_end(tmp_path):
    how = {"task": "countdown:2", "model": "sprig", "prompts": 2}
    run = gd.train("dpo", **how, budget="100", out=tmp_path / "run", options=gd.Options(eval_tasks=0))
    assert run.complete and run.spent["tokens"] >= 100 > run.spent["tokens"] - run.events(StepDone)[-1].tokens


def test_a_language_model_reads_shared_prompts_once(tmp_path):
    model = small_lm(tmp_path / "model")
    model.start(0, {})
    play = Player(
        {"policy": model, "before": (kept := snapshot("policy"))},
        {"policy": "policy"},
        single_turn(),
        Sampling(max_tokens=4),
        0,
        1,
    )
    kept.start(0, play.models)
    play.begin(0)
    prompt = len(model.encode("x + 4 = 9"))
    batch = pack(play([Ask(Task("1", "x + 4 = 9"), 3)]))
    assert (play.tokens, play.meter.read) == (batch.S, prompt)
    fill_needs(batch, ["policy.logp", "before.logp"], play)
    assert play.meter.read == prompt + 2 * (prompt + batch.S - 3)  # no track's last action is read: nothing follows it


def test_who_has_the_meter(tmp_path):
    """An exam between two steps counts for itself, and the run's next step for the run again."""
    model = tabular(length=2)
    model.start(0, {})
    play, exam = (Player({"policy": model}, {"policy": "policy"}, single_turn(), Sampling(), 0, 1) for _ in range(2))
    play.begin(0)
    play([Ask(Task("1", "ab"), 2)])
    exam.begin(0)
    exam([Ask(Task("1", "abcd"), 5)])
    assert (play.meter.read, exam.meter.read) == (4, 20)
    play.begin(1)
    play([Ask(Task("1", "ab"), 1)])
    assert (play.meter.read, exam.meter.read) == (2, 20)


def test_exams_are_not_billed(tmp_path):
    few, many = (
        gd.train("grpo", **small(), steps=4, out=tmp_path / f"{n}", options=gd.Options(eval_tasks=n, eval_every=1))
        for n in (0, 8)
    )
    for unit in ("tokens", "read", "updates"):
        assert few.spent[unit] == many.spent[unit] > 0


def test_a_run_that_spends_nothing_stops_with_the_mend(tmp_path):
    recipe = paid_alike(curriculum=fixed(idle=tuple(range(2, 100))))
    with refusal(RunStopped, "25", "1000"):
        gd.train(recipe, budget="1000", out=tmp_path / "run", options=gd.Options(save_every=10))
    assert Run(tmp_path / "run").steps_done == 2 + 24
    with refusal(RunStopped, "25"):  # where it stood is in the checkpoint
        gd.train(recipe, resume=tmp_path / "run")
    assert Run(tmp_path / "run").steps_done == 2 + 24
    pauses = paid_alike(curriculum=fixed(idle=tuple(n for n in range(60) if n % 20)))
    assert gd.train(pauses, budget="18", out=tmp_path / "pauses").steps_done == 41  # no 25 in a row


@pytest.mark.parametrize("ahead", [False, True])
def test_an_empty_draw_is_legal_and_warned_of_once(tmp_path, ahead):
    run = gd.train(paid_alike(curriculum=fixed(idle=(1, 2)), ahead=ahead), out=tmp_path / "run")
    assert run.complete and [w for w in run.warnings if "drawn" in w] == run.warnings[:1]
    assert run.metrics.column("tokens").to_pylist() == [6, 0, 0, 6]


def test_events_without_the_new_numbers_are_read():
    row = {"type": "StepDone", "step": 3, "tokens": 5, "episodes": 2, "seconds": 0.5}
    spent = {"tokens": 5, "read": 0, "updates": 0, "env_steps": 0, "samples": 2, "steps": 1, "seconds": 0.5}
    assert from_json(row).spent == spent


# --- studies --------------------------------------------------------------------------------------------------------


def shared_out(run, seed):
    """Six tokens a step: two steps, then what is left, then nothing is; a run that brings its budget asks nobody."""
    found = []
    for more in ({"steps": 2}, {"seed": 1}, {"seed": 2}, {"seed": 3, "budget": run.budget}):
        found.append(run.train(paid_alike(), **more).steps_done)
    return {"steps": found, "spent": run.spent["tokens"], "made": run.remember("made", lambda: [7, {"a": (1.5,)}])}


@pytest.mark.slow
def test_runs_of_a_study_share_what_is_left_of_its_budget(tmp_path):
    run = gd.train(gd.Study(shared_out), budget="30", out=tmp_path / "run")
    assert result_of(run) == {"steps": [2, 3, 0, 5], "spent": 60, "made": [7, {"a": [1.5]}]}
    assert run.spent["tokens"] == 60 and run.spent["updates"] == 10 and run.progress == "4 runs, 60 of 30 tokens"
    free = gd.train(gd.Study(shared_out), out=tmp_path / "free")
    assert result_of(free)["steps"] == [2, 4, 4, 4] and free.progress == "4 runs"
    with refusal(UserError, "--steps"):
        gd.train(gd.Study(shared_out), steps=3, out=tmp_path / "no")


def result_of(run):
    return json.loads((run.path / "result.json").read_text())


@pytest.mark.slow
def test_a_killed_study_has_the_same_left(tmp_path, monkeypatch):
    plain, calls = gd.Learn.update, []

    def killed(self, *args):
        calls.append(1)
        if len(calls) == 4:  # in the second run
            raise Killed
        return plain(self, *args)

    with monkeypatch.context() as patch:
        patch.setattr(gd.Learn, "update", killed)
        with pytest.raises(Killed):
            gd.train(gd.Study(shared_out), budget="30", out=tmp_path / "run", options=gd.Options(save_every=1))
    run = gd.train(gd.Study(shared_out), resume=tmp_path / "run")
    assert result_of(run)["steps"] == [2, 3, 0, 5] and len(list(run.folder.inner.glob("*/run.json"))) == 4


def test_what_is_remembered_is_made_once(tmp_path):
    made = []

    def body(run, seed):
        for key in ("a", "a", ["b", 2], ["b", 3], tabular(length=2), tabular(length=2), tabular(length=3)):
            run.remember(key, lambda: made.append(1) or len(made))
        return {"found": [run.remember(key, lambda: None) for key in ("a", ["b", 3], tabular(length=3))]}

    run = gd.train(gd.Study(body), out=tmp_path / "run")
    assert result_of(run) == {"found": [1, 3, 5]} and len(made) == 5
    with pytest.raises(UserError, match=r"run.remember\(a\): .*set is not JSON.*give numbers, text, lists and dicts"):
        gd.train(gd.Study(lambda run, seed: run.remember("a", lambda: {1, 2})), out=tmp_path / "bad")
