"""SimpleRL-Zoo: bases out of one model, the problems that fit them, answers without their mark, and the study."""

from __future__ import annotations

import json

import pytest
import torch
from small import small_lm

import guerdon as gd
from guerdon.core.model import weights_hash
from guerdon.core.recipe import Study
from guerdon.core.task import kinds_of
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.simplerl_zoo import blunted, fitting, is_marked, marked, unmarked
from guerdon.runs.run import Run
from guerdon.tasks import load
from guerdon.training import build
from guerdon.training.catalog import find_recipe

NAME = "simplerl-zoo"


# --- bases -------------------------------------------------------------------------------------------------------


def test_noise_is_in_proportion_to_each_matrix_and_the_same_for_the_same_seed(tmp_path):
    model = small_lm(tmp_path)
    before = weights_hash(model.weights)
    made = blunted(model, 0.25, seed=3)
    assert weights_hash(model.weights) == before  # the model itself stays as it was
    assert weights_hash(blunted(model, 0.25, seed=3).weights) == weights_hash(made.weights)
    assert weights_hash(blunted(model, 0.25, seed=4).weights) != weights_hash(made.weights)
    assert weights_hash(blunted(model, 0.0, seed=3).weights) == before
    for old, new in zip(model.weights.parameters(), made.weights.parameters(), strict=True):
        if old.dim() == 1:
            assert torch.equal(old, new)
        else:
            noise = (new - old).detach()
            assert float(noise.std() / old.detach().std()) == pytest.approx(0.25, rel=0.1)


def test_a_model_without_weights_gets_some():
    assert blunted(tabular("01"), 0.0).net is not None


def test_half_of_the_kinds_fit():
    rates = {"a:1": 0.9, "a:2": 0.5, "a:3": 0.2, "a:4": 0.0, "a:5": 0.0}
    assert fitting(rates) == ["a:1", "a:2", "a:3"]
    assert fitting(rates, hard=True) == ["a:3", "a:4", "a:5"]
    assert fitting({"b:2": 0.7, "b:1": 0.3}) == ["b:2"]  # of equals the first
    assert fitting({"b:1": 1.0}, hard=True) == ["b:1"]


# --- marks -------------------------------------------------------------------------------------------------------


def test_what_is_marked_and_how_to_mark_it():
    for text in ("= 7", "1+6=7\n= 7", "1+6=7\n = 7 \n"):
        assert is_marked(text)
    for text in ("7", "= 7\n7", "", "1+6=7", "=7"):
        assert not is_marked(text)
    assert (marked("1+6=7\n7\n"), marked("7"), marked("")) == ("1+6=7\n= 7", "= 7", "= ")


@pytest.mark.parametrize("name", ["countdown:3", "trace:2", "strings:1", "lists:1"])
def test_an_answer_counts_with_or_without_its_mark(name):
    source = load(name)
    lenient = unmarked(source)
    for index in range(10):
        task = lenient.get("train", index)
        assert task == source.get("train", index)
        assert not is_marked(lenient.solution(task))
        assert [lenient.check(task, s.solution(task)) for s in (source, lenient)] == [1.0, 1.0]
        assert lenient.check(task, "nothing") == lenient.check(task, "") == 0.0


def test_kinds_are_kept_and_lenient():
    lenient = unmarked(load("countdown:1-3"))
    assert list(kinds_of(lenient)) == ["countdown:1", "countdown:2", "countdown:3"]
    assert (lenient.size("train"), unmarked(load("countdown:1@7")).size("train")) == (None, 7)
    one = kinds_of(lenient)["countdown:2"]
    task = one.get("train", 0)
    assert one.check(task, task.answer) == 1.0


# --- the study ---------------------------------------------------------------------------------------------------


def body_of(made):
    assert isinstance(made, Study)
    return {n: c.cell_contents for n, c in zip(made.body.__code__.co_freevars, made.body.__closure__, strict=True)}


def test_what_is_learned_from():
    slots = {"task": load("countdown:1-2"), "model": tabular()}
    plain = body_of(find_recipe(NAME).build(slots, {}))["made"]
    strict = body_of(find_recipe(NAME).build(slots, {"strict": True}))["made"]
    assert [type(s).__name__ for s in plain.stages] == ["verified", "centre", "Learn"]
    assert [type(s).__name__ for s in strict.stages] == ["verified", "score", "centre", "Learn"]
    assert (plain.stages[1].reward, strict.stages[2].reward) == ("correct", "reward")
    assert repr(plain.exams[0].source) == "unmarked(mixed('countdown:1-2'))"
    strict.check()


@pytest.fixture
def a_table_will_do(monkeypatch):
    """The recipe needs a model of text; here a table stands for one, and says its answers unmarked."""
    monkeypatch.setattr(build, "refuse_unmet", lambda *_, **__: None)
    monkeypatch.setattr(unmarked, "solution", lambda self, task: task.answer)  # parity knows none


def study(out, **settings):
    """One digit to say, odd or even, after one digit or four: a table of few rows knows neither at first."""
    model = tabular("01", length=1, rows=4096)
    knobs = {"prompts": 8, "tries": 4, "lr": 0.5, **settings}
    wish = {"task": load("parity:1+parity:4"), "model": model, "settings": knobs, "budget": "320"}
    return gd.train(NAME, out=out, seed=1, options=gd.Options(eval_tasks=40, eval_tries=2), **wish)


def result(run):
    return json.loads((run.path / "result.json").read_text())


@pytest.mark.slow
def test_every_base_is_trained_on_half_of_the_kinds_and_examined_on_all(tmp_path, a_table_will_do):
    run = study(tmp_path / "run")
    found = result(run)
    assert list(found["bases"]) == ["as it is", "unmarked", "blunted"]
    assert found["accuracy"] == pytest.approx(sum(base["after"] for base in found["bases"].values()) / 3)
    assert {len(base["kinds"]) for base in found["bases"].values()} == {1}
    runs = [Run(config.parent) for config in run.folder.inner.glob("*/run.json")]
    lessons = [each for each in runs if each.config["budget"]["unit"] == "tokens"]
    assert len(lessons) == 3 and len(runs) == 4
    for each in lessons:
        assert len({e.task.kind for _, batch in each.batches() for e in batch.episodes}) == 1
        assert set(each.evaluations[-1]["kinds"]) == {"parity:1", "parity:4"}
        assert each.spent["tokens"] == 320
