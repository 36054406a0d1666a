"""G-RA: what episodes are paid by hand under each way of adding up, what the exam tells, and that it trains on repairs."""

from __future__ import annotations

import math

import pytest
from small import small_lm

import guerdon as gd
from guerdon.core.part import fingerprint
from guerdon.loop.catalog import find_recipe
from guerdon.loop.evaluate import sit_all
from guerdon.loop.homes import move_home

TASK = gd.tasks.load("repairs:1", checker="plain")
QUICK = {"prompts": 2, "tries": 2, "max_tokens": 32, "lr": 1e-2}
EVEN = {"handed_in": 0.5, "tau": 0.5, "turn": 0.1}

FARMED = {"goal": 0.0, "submitted": False, "moves": ["run"] * 10, "edits": 0, "idle_edits": 0}
EMPTY = {"goal": 0.0, "submitted": True, "moves": ["run", "submit"], "edits": 0, "idle_edits": 0}
IDLE = {"goal": 0.0, "submitted": True, "moves": ["edit", "submit"], "edits": 1, "idle_edits": 1}
WRONG = {"goal": 0.0, "submitted": True, "moves": ["run", "edit", "", "submit"], "edits": 1, "idle_edits": 0}
RIGHT = {"goal": 1.0, "submitted": True, "moves": ["run", "edit", "edit", "submit"], "edits": 2, "idle_edits": 1}
NEARLY = {"goal": 0.0, "submitted": False, "moves": ["run", "edit"], "edits": 1, "idle_edits": 0}
EPISODES = (FARMED, EMPTY, IDLE, WRONG, RIGHT, NEARLY)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("policy")
    small_lm(place)
    return place


def built(folder, name="g-ra", **settings):
    recipe = find_recipe(name).build({"task": TASK, "model": gd.models.load(str(folder))}, {**QUICK, **settings})
    recipe.check()
    return recipe


def paid(recipe):
    episodes = [gd.Episode(gd.Ask(gd.Task("1", "")), (), info=dict(info)) for info in EPISODES]
    samples = [{"task": e.task, "episode": e, "role": "policy", "completion": ""} for e in episodes]
    return gd.score_samples(recipe.stages.scores[-1].reward, samples).whole


@pytest.mark.parametrize(
    ("accumulate", "by_hand"),
    [
        ("nothing", [0, 0, 0, 0.5, 1.0, 0]),
        ("directly", [1.0, 0.2, 0.2, 0.5 + 0.3, 1.0 + 0.4, 0.2]),
        ("gated", [0, 0, 0, 0.5 + 0.3, 1.0 + 0.4, 0]),
    ],
)
def test_what_episodes_are_paid_by_hand(folder, accumulate, by_hand):
    assert paid(built(folder, accumulate=accumulate, **EVEN)) == pytest.approx(by_hand)


def test_the_gate_opens_where_it_is_told_to(folder):
    one, none = (paid(built(folder, **{**EVEN, "tau": tau})) for tau in (1.0, 0.0))
    assert one == pytest.approx([0, 0, 0, 0.5, 1.4, 0]), "for a right program alone"
    assert none == pytest.approx(paid(built(folder, accumulate="directly", **EVEN))), "for all"


def test_sizes_by_hand(folder):
    assert paid(built(folder)) == pytest.approx([0, 0, 0, 0.2 + 0.15, 1.2, 0])
    assert paid(built(folder, turn=0.5)) == pytest.approx([0, 0, 0, 1.7, 3.0, 0])


def test_added_directly_ten_moves_are_worth_more_than_a_wrong_repair(folder):
    """What the gate is for."""
    farmed, _, _, wrong, *_ = paid(built(folder, accumulate="directly"))
    assert farmed > wrong
    farmed, _, _, wrong, *_ = paid(built(folder))
    assert farmed < wrong


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


def test_it_trains_on_repairs(folder, tmp_path):
    options = gd.Options(eval_tasks=2, eval_tries=1)
    run = gd.train(
        "g-ra", task=TASK, model=str(folder), steps=2, out=tmp_path / "run", options=options, progress=False, **QUICK
    )
    assert run.complete and math.isfinite(run.evaluations[-1]["completion"])
    assert {"reward", "reward.handed_in", "reward.moves"} <= set(run.batch(1).cols)
