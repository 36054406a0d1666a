"""VeRPO: tests of programs told apart, levels mixed, and that it trains."""

from __future__ import annotations

import math

import pytest
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.training.catalog import find_recipe

TASK = gd.tasks.functions(level=1, checker="plain")
QUICK = {"prompts": "2", "tries": "4", "max_tokens": "12", "lr": "1e-2"}
PROBLEM = gd.Task(
    "1", "write f(x): give x doubled.", "", "functions", 1,
    {"tests": [[[0], 0], [[1], 2], [[2], 4], [[-3], -6]]},
)  # fmt: skip
RIGHT, SQUARE, ZERO, NONE = (f"def f(x):\n return {said}" for said in ("x + x", "x * x", "0", "None"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("policy")
    small_lm(place)
    return place


def built(name, folder, task=TASK, **settings):
    recipe = find_recipe(name).build(
        {"task": task, "model": gd.models.load(str(folder))}, {**QUICK, **settings}, text=True
    )
    recipe.check()
    return recipe


def test_tests_are_told_apart():
    scores = gd.score_samples(
        gd.rewards.tests_passed(TASK), [{"task": PROBLEM, "completion": text} for text in (RIGHT, SQUARE, ZERO, NONE)]
    )
    assert scores.whole == [1.0, 0.5, 0.25, 0.0]
    assert scores.details[1] == {"why": "2 of 4 tests passed", "parts": {"1": 1.0, "2": 0.0, "3": 1.0, "4": 0.0}}


def test_a_source_that_does_not_tell_its_tests_apart_is_refused():
    with refusal(UserError):
        gd.rewards.tests_passed(gd.tasks.load("chain:1"))


def test_levels_may_be_mixed(folder):
    levels = gd.tasks.mixture("functions:1-2", [gd.tasks.functions(level=n, checker="plain") for n in (1, 2)])
    problem = levels.get("train", 1)
    reward = built("verpo", folder, levels).stages.scores[-1].reward
    right = {"task": problem, "completion": levels.solution(problem)}
    assert problem.level == 2 and gd.score_samples(reward, [right]).whole[0] > 1.0


@pytest.mark.slow
def test_it_trains(folder, tmp_path):
    recipe = built("verpo", folder)
    run = gd.train(recipe, steps=2, out=tmp_path / "run", options=gd.Options(eval_tasks=2), progress=False)
    assert run.complete and math.isfinite(run.evaluations[-1]["pass@1"])
