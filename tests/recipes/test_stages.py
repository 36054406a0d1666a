"""MedCCO: one curriculum after another by hand, problems in their closed form, and the recipe."""

from __future__ import annotations

import pytest
from killing import killed_at
from refusals import refusal
from watching import Watched

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.part import get_state, set_state
from guerdon.curricula.plain import in_stages, uniform
from guerdon.models.tables import tabular
from guerdon.tasks import load
from guerdon.tasks.closed import closed_form
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe


def along(made, steps):
    """The stage of each step of a run."""
    play, found = ExamplePlay(), []
    play.steps = steps
    for play.step in range(steps):
        made.draw(1, play)
        found.append(play.metrics["stage"])
    return found


def three(*at):
    return in_stages([uniform(load(f"chain:{n}"), 2) for n in (1, 2, 3)], at)


def test_a_stage_ends_at_its_share_of_the_run():
    assert along(three(0.25, 0.75), 8) == [0, 0, 1, 1, 1, 1, 2, 2]
    assert along(three(1 / 3, 2 / 3), 7) == [0, 0, 0, 1, 1, 2, 2]
    assert along(three(0.0, 0.5), 4) == [1, 1, 2, 2]  # the first is passed over
    assert along(three(0.5, 0.5), 4) == [0, 0, 2, 2]  # the second is
    assert along(three(0.5, 1.0), 2) == [0, 1]  # the last never begins
    assert along(in_stages([uniform(load("chain"))], ()), 3) == [0, 0, 0]


def test_what_has_begun_does_not_go_back():
    made, play = three(0.5, 0.9), ExamplePlay()
    for play.step, play.steps, stage in ((5, 10, 1), (6, 20, 1), (19, 20, 2), (20, 100, 2)):
        made.draw(1, play)
        assert made.stage == stage


def test_every_curriculum_keeps_its_own_place_and_all_of_it_is_state():
    made, play = three(0.5, 0.75), ExamplePlay()
    play.steps = 8
    drawn = []
    for play.step in range(8):
        drawn.append([ask.task.prompt for ask in made.draw(3, play)])
        assert all(ask.n == 2 for ask in made.draw(0, play))
    assert [c.drawn for c in made.curricula] == [12, 6, 6]
    source = load("chain:3")
    assert drawn[6] + drawn[7] == [source.get("train", i).prompt for i in range(6)]
    again = three(0.5, 0.75)
    set_state(again, get_state(made))
    assert (again.stage, [c.drawn for c in again.curricula]) == (2, [12, 6, 6])


def test_what_makes_no_stages_is_refused():
    with refusal(UserError, "3", "2"):
        three(0.5)
    for at in ((0.75, 0.25), (0.5, 1.5), (-0.1, 0.5)):
        with refusal(UserError):
            three(*at)


# --- closed forms ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("role", "words"), [("prefer", {"a", "b"}), ("verify", {"yes", "no"})])
def test_a_closed_form_is_answered_with_a_choice(role, words):
    source = closed_form(load("countdown:1-3"), role)
    assert list(source.kinds()) == [f"{role}/countdown:{n}" for n in (1, 2, 3)]
    tasks = [source.get("train", i) for i in range(30)]
    assert {task.answer.split("= ")[-1] for task in tasks} == words
    for task in tasks:
        right = task.answer.split("= ")[-1]
        assert [source.check(task, f"= {word}") for word in sorted(words)] == [float(w == right) for w in sorted(words)]


def test_a_single_kind_has_a_closed_form_too():
    assert list(closed_form(load("chain:2")).kinds()) == ["prefer/chain:2"]


def test_other_tasks_offer_their_answer_among_those_of_other_problems():
    rows = [{"question": f"{n} + 1?", "answer": str(n + 1), "sort": "even" if n % 2 == 0 else "odd"} for n in range(12)]
    source = closed_form(gd.tasks.rows(rows, kind="sort", held_out=0.5))
    assert list(source.kinds()) == ["offered/data/even:1", "offered/data/odd:1"]
    for task in (source.get("train", i) for i in range(6)):
        number = int(task.prompt.split()[0])
        offered = {line[0]: int(line[3:]) for line in task.prompt.splitlines()[1:]}
        assert sorted(offered.values()) == ([1, 3, 5] if number % 2 == 0 else [2, 4, 6])  # of its kind, none held out
        assert offered[task.answer] == number + 1
        for letter, value in offered.items():
            right = float(value == number + 1)
            assert source.check(task, letter) == source.check(task, f"The answer is {letter}.") == right
            assert source.check(task, str(value)) == right
    assert source.get("train", 0) == source.get("train", 0)


# --- the recipe --------------------------------------------------------------------------------------------------

TABLE = {"prompts": 4, "tries": 2, "lr": 0.3}


def kinds(order, steps=4, **knobs):
    """The roles of a step's problems, step by step."""
    model = tabular("=ab 0123456789+-*()\n", length=3, rows=64)
    wish = RunRequest("medcco", load("countdown:2-3"), model, settings={**TABLE, "order": order, **knobs})
    seen = Watched(build(wish).recipe, steps)
    return [sorted({e.task.family.partition("/")[0] for e in batch.episodes}) for batch in seen.batches]


def test_the_orders():
    closed, free = ["prefer"], ["countdown"]
    assert kinds("closed_first") == [closed, closed, free, free]
    assert kinds("open_first") == [free, free, closed, closed]
    assert kinds("mixed") == [["countdown", "prefer"]] * 4
    assert kinds("open") == [free] * 4
    assert kinds("closed_first", closed="verify", at=0.25) == [["verify"], free, free, free]


def test_both_forms_are_checked_and_the_exam_is_the_open_one():
    task = load("countdown:1-3")
    made = find_recipe("medcco").build({"task": task, "model": tabular()}, {})
    assert made.exams[0].source.name == task.name
    scored = made.stages.scores[0].task
    for source in (task, closed_form(task)):
        one = source.get("test", 1)
        assert scored.check(one, source.solution(one) if source is task else one.answer) == 1.0
    made.check()


@pytest.mark.slow
def test_it_resumes_across_the_change(tmp_path):
    def train(**where):
        model = tabular("=ab 0123456789+-*()\n", length=3, rows=64, spread=1.0)
        wish = {"task": load("countdown:2-3"), "model": model, "settings": TABLE}
        options = gd.Options(save_every=1, eval_tasks=0)
        return gd.train("medcco", options=options, **wish, **where)

    whole = train(out=tmp_path / "whole", seed=2, steps=4)
    with killed_at(3):
        train(out=tmp_path / "broken", seed=2, steps=4)
    again = train(resume=tmp_path / "broken")
    assert again.weights == whole.weights
    assert [e.task.key for e in again.batch(3).episodes] == [e.task.key for e in whole.batch(3).episodes]
