"""A student who is tutored over several turns: help by hand, leaving, and the contract of environments."""

from __future__ import annotations

import pytest

import guerdon as gd
from guerdon.envs.people.tutored_students import SPARE, Student

META = {"start": 3, "ops": ["*4", "+2", "*5"], "seed": 1}


def talk(needs, *replies):
    """The views that a student answers with, and what came of it; `None` is the right reply."""
    student = Student({**META, "needs": needs})
    views = [student.step(student.gold() if reply is None else reply) for reply in replies]
    return views, student.outcome()


@pytest.mark.parametrize("level", [1, 4, 8])
def test_contract(level):
    assert gd.check_env(gd.envs.tutored(level=level))["goals"] == 20


@pytest.mark.parametrize(("needs", "actions"), [
    (0, ["confirm"]), (1, ["hint", "confirm"]), (2, ["hint", "subproblem", "confirm"]), (3, ["hint", "subproblem", "answer"]),
])  # fmt: skip
def test_the_help_that_a_student_needs_decides_the_actions(needs, actions):
    student, said = Student({**META, "needs": needs}), []
    assert student.begin().count("Student, attempt") == 1
    over = False
    while not over:
        said.append(student.gold().split(":")[0])
        over = student.step(student.gold()).over
    right = {"goal": 1.0, "replies": len(actions), "right": len(actions), "leaked": 0, "needs": needs}
    assert said == actions and student.outcome() == right


def test_a_wrong_reply_changes_nothing_and_costs_its_share():
    views, outcome = talk(1, "confirm: well done", None, None)
    assert views[0].view == "I do not understand." and views[1].view.startswith("Student, attempt 2:")
    assert views[2].over and outcome["goal"] == pytest.approx(2 / 3) and outcome["leaked"] == 0
    views, outcome = talk(2, "answer: 70")
    assert not views[0].over and outcome == {"goal": 0.0, "replies": 1, "right": 0, "leaked": 1, "needs": 2}


def test_a_student_leaves_after_wrong_replies():
    views, outcome = talk(1, *["?"] * (SPARE + 1))
    assert [view.over for view in views] == [False] * SPARE + [True] and outcome["goal"] == 0.0


def test_the_split_is_that_of_tutoring():
    def problems(source, split):
        return {(task.meta["start"], *task.meta["ops"]) for task in (source.get(split, i) for i in range(120))}

    assert not problems(gd.envs.tutored(level=1), "train") & problems(gd.tasks.tutoring(level=1), "test")
