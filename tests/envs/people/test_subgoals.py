"""Plans that say what is to be done and not what comes of it."""

from __future__ import annotations

import pytest

import guerdon as gd
from guerdon.core.task import Task
from guerdon.envs.people.subgoals import PLANS, subgoals
from guerdon.tasks import load
from guerdon.tasks.task_loading import family_names


@pytest.mark.parametrize(
    ("prompt", "level", "plan"),
    [
        ("chain 6 +7 -6 +8", 2, ["6+7", "..-6", "..+8"]),
        ("chain 3 -8 *3 +3", 2, ["3-8", "..*3", "..+3"]),  # -5*3, -15+3
        ("chain 4 +2 *5 -6", 2, ["4+2", "..*5", "..-6"]),  # the 6 of -6 is no result
        ("bases 541 from 6 to 7", 4, ["5*6+4", "..*6+1", "../7", "../7", "../7"]),
        ("units 2h 35min in min", 1, ["2h in min", "..+35min"]),
        ("lists 3 1 4 8: rev, +2, sum", 3, ["rev", "+2", "sum"]),
        ("modular 7^3*4+3 mod 10", 3, ["^2", "^3", "*4", "+3"]),
        ("equation x+4=19", 1, ["move number"]),
        ("equation 4x+4=3x+9", 4, ["move x", "move number"]),
        ("equation 3(x+4)-2x+7=2(3x-1)+16", 8, ["expand", "gather", "move x", "move number", "divide"]),
        ("trace a=3; b=5; a+=2; print a", 2, ["a=3", "b=5", "a+=2", "print a"]),
        ("counting 10 to 20: prime, sum", 1, ["prime", "sum"]),
        ("sorting 3 0 1", 1, ["1: 3"]),  # as any family that does not say otherwise: every second step
        ("lookup a:d c:f d:c f:a ; a 1 hop", 1, ["a:d"]),
    ],
)
def test_plans_by_hand(prompt, level, plan):
    family = load(prompt.partition(" ")[0], level=level)
    problem = family.read_problem(prompt)
    task = Task(prompt, prompt, problem.answer, family.name, level, problem.meta)
    assert subgoals(task, family.steps(task)) == plan


def test_results_of_several_steps_are_left_out():
    steps = ["17-11=6 left 4 23 6", "23*4=92 left 6 92", "92-6=86"]
    assert PLANS["countdown"](Task("1", "countdown"), steps) == ["17-11", "23*4", "..-.."]


@pytest.mark.parametrize("name", family_names())
@pytest.mark.slow
def test_every_level_has_a_plan_that_does_not_say_where_it_leads(name):
    for level in range(1, 9):
        source = gd.envs.planned(f"{name}:{level}")
        told = 0
        for index in range(20):
            task = source.get("train", index)
            ((shown, plan),) = gd.gold_turns(source, task, role="planner")
            assert shown == f"plan\n{task.prompt}" and plan.strip()
            assert gd.gold_turns(source, task) == [(f"{task.prompt}\n{plan}", source.inner.solution(task))]
            told += source.inner.steps(task)[-1] in plan.splitlines()
        assert told == 0 or name not in PLANS  # a family without a plan of its own may end on its last step


def test_a_plan_says_the_problem_where_the_executor_is_not_shown_it():
    source = gd.envs.planned("lists:2", shows="plan")
    ((view, done),) = gd.gold_turns(source, source.get("train", 0))
    assert view == "lists 1 1 4 9: +2, odds\n+2\nodds" and done == "+2: 3 3 6 11\nodds: 3 3 11\n= 3 3 11"


def test_without_steps_the_answer_is_the_plan():
    source = gd.envs.planned("parity")
    task = source.get("train", 0)
    assert gd.gold_turns(source, task, role="planner")[0][1] == task.answer
