"""Knobs that are typed: lists of values, those of an evaluated task; and what is refused before anything is played."""

from __future__ import annotations

from typing import Literal

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.knob_values import check_value, parse
from guerdon.training import api
from guerdon.training.build import RunRequest, build

PAIR, WORDS, SCALE = tuple[float, float], tuple[str, ...], tuple[int, int] | Literal["yes"]


@pytest.mark.parametrize(
    ("text", "hint", "value"),
    [
        ("0.1,0.9", PAIR, (0.1, 0.9)),
        ("[0.1, 1]", PAIR, (0.1, 1)),
        ("(0.1, 0.9)", PAIR, (0.1, 0.9)),
        ("0.1,0.2,0.7", tuple[float, ...], (0.1, 0.2, 0.7)),
        ("chain:3", WORDS, ("chain:3",)),
        ("chain:3, clock:1", WORDS, ("chain:3", "clock:1")),
        ('["a,b", "c"]', WORDS, ("a,b", "c")),
        ("", WORDS, ()),
        ("yes", SCALE, "yes"),
        ("1,5", SCALE, (1, 5)),
        ("policy", str | WORDS, "policy"),
        ("None", PAIR | None, None),
        ("1,2", list[int], [1, 2]),
        ("[[1, 2], [3, 4]]", tuple[tuple[int, int], ...], ((1, 2), (3, 4))),
    ],
)
def test_lists_are_typed_between_commas_or_as_json_or_as_python(text, hint, value):
    assert parse(text, hint, "select.band") == value
    check_value("select.band", value, hint, {})


@pytest.mark.parametrize("text", ["0.1", "0.1,", "1,2,3", "a,b", "[0.1", "[[1], [2]]"])
def test_a_list_of_other_values_is_refused_with_what_it_holds(text):
    with refusal(UserError, "2"):
        parse(text, PAIR, "select.band")


def test_a_text_in_place_of_a_list_is_refused():
    with refusal(UserError, "3"):
        check_value("urpo.unchecked", "chain:3", WORDS, {})


def typed(recipe, task, **settings):
    settings = {name.replace("__", "."): value for name, value in settings.items()}
    return build(RunRequest(recipe, task=task, model="sprig", settings=settings, text=True)).recipe


def test_a_list_reaches_the_recipe_or_the_part_whose_knob_is_typed():
    recipe = typed("urpo", "equation:2+chain:3", unchecked="chain:3")
    assert [stage.unchecked for stage in recipe.stages if hasattr(stage, "unchecked")] == [("chain:3",)]
    recipe = typed("mm-upt", "chain:3", majority__marks="####,Answer:")
    assert recipe.stages.scores[-1].reward.marks == ("####", "Answer:")


def test_a_dotted_name_that_is_no_part_says_which_there_are():
    with refusal(UserError):
        typed("grpo", "chain:3", select__band="0.1,0.9")


def test_an_evaluated_task_takes_its_own_knobs():
    source, left = api.with_task_knobs("notes:2", None, {"notes.form": "ask", "search.width": "4"}, {})
    assert source.form == "ask" and source.level == 2 and left == {"search.width": "4"}
    assert api.with_task_knobs("notes:2", None, {}, {}) == ("notes:2", {})


def test_a_run_is_evaluated_on_the_task_that_it_was_trained_on():
    trained = {"notes.form": "ask", "adam.lr": "1e-3"}
    assert api.with_task_knobs("notes:1", None, {}, trained)[0].form == "ask"
    assert api.with_task_knobs("notes:1", None, {"notes.form": "rewrite"}, trained)[0].form == "rewrite"


def test_a_knob_that_a_task_does_not_have_is_refused():
    with pytest.raises(UserError, match="form"):
        api.with_task_knobs("notes:1", None, {"notes.from": "ask"}, {})


@pytest.mark.parametrize(
    ("recipe", "words"),
    [("mm-upt", "no try has more than one vote"), ("co-reward", "tries=2 or more"), ("mel", "tries=2 or more"),
     ("urpo", "tries=2 or more")],
)  # fmt: skip
def test_a_single_try_is_refused_before_anything_is_played(recipe, words):
    with pytest.raises(UserError, match=words):
        build(RunRequest(recipe, task="chain:1", model="sprig", settings={"tries": "1"}, text=True))


def test_a_vote_of_one_in_a_reward_of_ones_own_is_refused_too():
    with refusal(UserError):
        build(RunRequest("grpo", task="chain:1", model="sprig", reward=gd.majority(), settings={"tries": 1}))


UNANSWERED = [{"question": f"chain {n} +1", "answer": ""} for n in range(2, 9)]
MIXED = [*({**row, "answer": str(n)} for n, row in enumerate(UNANSWERED)), UNANSWERED[0]]  # the last is held out


def test_rows_without_a_single_answer_have_none():
    source = gd.tasks.rows(UNANSWERED)
    assert not source.has_answers and not source.has_held_out_answers
    mixed = gd.tasks.rows(MIXED)
    assert mixed.has_answers and not mixed.has_held_out_answers
    assert gd.tasks.rows(MIXED[:-1]).has_held_out_answers


@pytest.mark.parametrize("rows", [UNANSWERED, MIXED])
def test_held_out_rows_without_answers_are_measured_by_the_reward_alone(rows):
    short = gd.reward(lambda completion: float(len(completion) < 9), isolate=False)
    how = {"data": rows, "tries": 2, "tasks": 2, "sampling": gd.Sampling(max_tokens=2)}
    numbers = api.evaluate("sprig", reward=short, **how)
    assert "reward" in numbers and "pass@1" not in numbers
    with refusal(UserError, "--answer", "--reward"):
        api.evaluate("sprig", **how)
    with refusal(UserError, "best_of", "2"):
        api.best_of("sprig", short, data=rows, n=2)
