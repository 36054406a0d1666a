"""VeRPO: what programs are paid by hand, its advantages by the paper's formula, its baselines, and that it trains."""

from __future__ import annotations

import math

import pytest
import torch
from small import small_lm

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.loop.catalog import find_recipe

TASK = gd.tasks.functions(level=1, checker="plain")
QUICK = {"prompts": "2", "tries": "4", "max_tokens": "12", "lr": "1e-2"}
PROBLEM = gd.Task(
    "1", "write f(x): give x doubled.", "", "functions", 1,
    {"tests": [[[0], 0], [[1], 2], [[2], 4], [[-3], -6]]},
)  # fmt: skip
RIGHT, SQUARE, ZERO, NONE = (f"def f(x):\n return {said}" for said in ("x + x", "x * x", "0", "None"))
E = math.exp


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


def paid(recipe, *said):
    """What tries at one problem are paid."""
    samples = [{"task": PROBLEM, "completion": text} for text in said]
    return gd.score_samples(recipe.stages.scores[-1].reward, samples).whole


def test_tests_are_told_apart():
    scores = gd.score_samples(
        gd.rewards.tests_passed(TASK), [{"task": PROBLEM, "completion": text} for text in (RIGHT, SQUARE, ZERO, NONE)]
    )
    assert scores.whole == [1.0, 0.5, 0.25, 0.0]
    assert scores.details[1] == {"why": "2 of 4 tests passed", "parts": {"1": 1.0, "2": 0.0, "3": 1.0, "4": 0.0}}


def test_a_source_that_does_not_tell_its_tests_apart_is_refused():
    with pytest.raises(UserError, match="does not tell its tests apart"):
        gd.rewards.tests_passed(gd.tasks.load("chain:1"))


def test_what_programs_are_paid_by_hand(folder):
    """Pass rates 3/4, 1/4, 2/4 and 1/4: the two rare tests count as one, and hardly touch the others with so small a sigma."""
    scores = paid(built("verpo", folder, alpha="2", sigma="0.01", beta="0.5"), RIGHT, SQUARE, ZERO, NONE)
    zero, two, rare = E(-1.5), E(-1.0), E(-0.5) / 2
    dense = [zero + two + 2 * rare, zero + two, zero, 0.0]
    assert scores == pytest.approx([1 + 0.5 * dense[0], *(0.5 * each for each in dense[1:])], rel=1e-5)


def test_the_share_and_all_or_nothing_are_its_ends(folder):
    said = (RIGHT, SQUARE, ZERO, NONE)
    assert paid(built("verpo", folder, weights="equal", outcome="0", beta="1"), *said) == [1.0, 0.5, 0.25, 0.0]
    assert paid(built("verpo", folder, beta="0"), *said) == [1.0, 0.0, 0.0, 0.0]
    mixed = paid(built("verpo", folder, weights="equal", beta="0.5"), *said)
    assert mixed == [1.5, 0.25, 0.125, 0.0]


def test_the_advantage_is_that_of_the_outcome_and_a_share_of_that_of_the_tests(folder):
    """The paper centres the two by themselves and adds them; without a division that is the sum, centred."""
    recipe = built("verpo", folder, alpha="1", sigma="0.2", beta="0.3")
    scores = paid(recipe, RIGHT, SQUARE, ZERO, NONE)
    dense = paid(built("verpo", folder, alpha="1", sigma="0.2", beta="1", outcome="0"), RIGHT, SQUARE, ZERO, NONE)
    batch = example_tries([scores]).with_cols({"correct": Column.full("track", torch.tensor([1.0, 0.0, 0.0, 0.0]))})
    (credit,) = recipe.stages.credit
    advantage = credit(batch, ExamplePlay())["advantage"].tolist()
    mean = sum(dense) / 4
    by_hand = [solved - 0.25 + 0.3 * (each - mean) for solved, each in zip([1, 0, 0, 0], dense, strict=True)]
    assert advantage == pytest.approx(by_hand, abs=1e-6)


def test_wrong_programs_of_a_group_that_solves_nothing_are_told_apart(folder):
    assert len(set(paid(built("verpo", folder), SQUARE, ZERO, NONE))) == 3
    assert set(paid(built("verpo", folder, beta="0"), SQUARE, ZERO, NONE)) == {0.0}


def test_levels_may_be_mixed(folder):
    levels = gd.tasks.mixture("functions:1-2", [gd.tasks.functions(level=n, checker="plain") for n in (1, 2)])
    problem = levels.get("train", 1)
    reward = built("verpo", folder, levels).stages.scores[-1].reward
    right = {"task": problem, "completion": levels.solution(problem)}
    assert problem.level == 2 and gd.score_samples(reward, [right]).whole[0] > 1.0


def test_it_trains(folder, tmp_path):
    recipe = built("verpo", folder)
    run = gd.train(recipe, steps=2, out=tmp_path / "run", options=gd.Options(eval_tasks=2), progress=False)
    assert run.complete and math.isfinite(run.evaluations[-1]["pass@1"])
