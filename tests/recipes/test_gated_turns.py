"""G-RA: what differs from GRPO, what the exam tells, and that it trains on repairs."""

from __future__ import annotations

import math

import pytest
from small import small_lm

import guerdon as gd
from guerdon.core.part import fingerprint
from guerdon.training.catalog import find_recipe
from guerdon.training.evaluate import sit_all
from guerdon.training.homes import move_home

TASK = gd.tasks.load("repairs:1", checker="plain")
QUICK = {"prompts": 2, "tries": 2, "max_tokens": 32, "lr": 1e-2}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("policy")
    small_lm(place)
    return place


def built(folder, name="g-ra", **settings):
    recipe = find_recipe(name).build({"task": TASK, "model": gd.models.load(str(folder))}, {**QUICK, **settings})
    recipe.check()
    return recipe


def test_only_the_reward_and_the_exam_differ_from_grpo(folder):
    mine, plain = built(folder), built(folder, "grpo")
    assert fingerprint(mine.stages.learners) == fingerprint(plain.stages.learners)
    assert [type(stage).__name__ for stage in mine.stages] == ["verified", "score", "centre", "Learn"]


def sat(recipe, say):
    """What the recipe's exam says of a player that goes by a script."""
    model = gd.models.scripted(say)
    model.start(0, {})
    return sit_all(
        recipe.exams, {"policy": model}, {"policy": "policy"}, TASK, recipe.sampling, tasks=4, tries=1
    ).numbers


def test_the_exam_has_the_papers_rates(folder):
    recipe = built(folder)
    move_home(recipe, TASK)
    idle = sat(recipe, lambda view, past, seed: "run")
    assert (idle["completion"], idle["modification"], idle["moves"], idle["pass@1"]) == (0.0, 0.0, 10.0, 0.0)
    hasty = sat(recipe, lambda view, past, seed: "submit")
    assert (hasty["completion"], hasty["modification"], hasty["moves"], hasty["pass@1"]) == (1.0, 0.0, 1.0, 0.0)
    spoilt = sat(recipe, lambda view, past, seed: ("hm", "edit 1:pass", "submit")[len(past)])
    assert (spoilt["completion"], spoilt["modification"], spoilt["moves"], spoilt["pass@1"]) == (1.0, 1.0, 2.0, 0.0)


@pytest.mark.slow
def test_it_trains_on_repairs(folder, tmp_path):
    options = gd.Options(eval_tasks=2, eval_tries=1)
    run = gd.train(
        "g-ra", task=TASK, model=str(folder), steps=2, out=tmp_path / "run", options=options, progress=False, **QUICK
    )
    assert run.complete and math.isfinite(run.evaluations[-1]["completion"])
    assert {"reward", "reward.handed_in", "reward.moves"} <= set(run.batch(1).cols)
