"""Recipes that refine a process reward or grade the whole solution: what they become without, and that they run."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from small import small_lm

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay, example_tries
from guerdon.core.part import fingerprint
from guerdon.training.catalog import find_recipe

TASK = gd.tasks.load("chain:1-2")
QUICK = {"prompts": "2", "tries": "4", "max_tokens": "12", "lr": "1e-2"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("policy")
    small_lm(place)
    return place


def built(name, folder, task=TASK, reward=None, **settings):
    slots = {"task": task, "model": gd.models.load(str(folder)), **({"reward": reward} if reward else {})}
    recipe = find_recipe(name).build(slots, {**QUICK, **settings}, text=True)
    recipe.check()
    return recipe


def advantages(recipe):
    """Of two tries, a right one and a wrong one, in two lines of two tokens, by what each line is paid."""
    batch = example_tries([[1.0, 0.0]], steps=4)
    paid = torch.tensor([0.0, 0.3, 0.0, -0.1, 0.0, -0.4, 0.0, 0.0])
    batch = batch.with_cols({"correct": Column.full("track", torch.tensor([1.0, 0.0]))})
    batch = batch.with_cols({"process_steps": Column.full("step", paid)})
    for stage in recipe.stages.credit:
        batch = stage(batch, ExamplePlay())
    return batch["advantage"].tolist()


def test_without_the_lines_it_is_grpo(folder):
    plain = built("grpo", folder)
    assert advantages(built("clip-delta-prm-reward", folder, alpha="0")) == advantages(plain)
    assert fingerprint(list(built("rrm", folder, grader="answer").stages)) == fingerprint(list(plain.stages))


def test_the_exact_grader_is_learned_from_and_examined(folder):
    recipe = built("rrm", folder)
    assert recipe.stages.credit[0].reward == "reward"
    assert {type(metric).__name__ for metric in recipe.exams[0].metrics} == {"accuracy", "answer_length", "sound"}


def test_what_is_examined_beside_answers(folder, tmp_path):
    recipe = built("clip-delta-prm-reward", folder)
    assert [type(metric).__name__ for metric in recipe.exams[-1].metrics] == ["sound", "judged_steps", "farmed"]
    recipe.exams[-1].tasks = 2
    run = gd.train(recipe, steps=1, out=tmp_path / "run", options=gd.Options(eval_tasks=2), progress=False)
    numbers = run.evaluations[-1]
    assert {"steps/steps_missing", "steps/farm_tries", "pass@1"} <= set(numbers)


def test_rows_of_ones_own_have_other_graders_and_no_step_checker(folder):
    rows = gd.tasks.rows([{"prompt": f"{n}+1?", "answer": str(n + 1), "rubric": ["Adds one."]} for n in range(20)])
    recipe = built("rrm", folder, rows, grader="policy")
    assert type(recipe.stages.scores[-1].reward).__name__ == "rubric" and not recipe.stages.scores[-1].reward.criteria
    assert "sound" not in {type(metric).__name__ for metric in recipe.exams[0].metrics}
    built("clip-delta-prm-reward", folder, rows)
    with refusal(UserError):
        built("rrm", folder, rows)


def test_sprig_grades_by_its_role(folder):
    reward = built("rrm", folder, grader="sprig").stages.scores[-1].reward
    assert reward.scale == "yes" and reward.sure
