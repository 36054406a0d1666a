"""Nemotron-CrossThink: blends by hand and by law, and the recipe."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from scheduling import examples
from watching import Watched

from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.part import get_state, set_state
from guerdon.curricula.blends import proportions
from guerdon.curricula.plain import APART
from guerdon.models.tables import tabular
from guerdon.tasks import load
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe

NAME = "nemotron-crossthink"
MIX = load("countdown:1-2+chain:1+trace:1")


def kinds(draws, n, play=None):
    return [ask.task.kind for ask in draws.draw(n, play or ExamplePlay())]


def test_a_familys_weight_is_shared_by_its_kinds_and_a_kinds_own_comes_first():
    assert proportions(MIX, {"countdown": 1.0, "chain": 1.0}).shares() == {
        "countdown:1": 0.25,
        "countdown:2": 0.25,
        "chain:1": 0.5,
    }
    own = proportions(MIX, {"countdown:2": 3.0, "countdown": 1.0, "trace:1": 0.0}).shares()
    assert own == {"countdown:1": 0.25, "countdown:2": 0.75}


def test_the_kind_furthest_behind_comes_next():
    """3 to 1: after 1, 2, 3 drawn the shares due are 1.5, 2.25, 3 of the first, so the second comes when 2 are drawn."""
    draws = proportions(MIX, {"chain:1": 3.0, "trace:1": 1.0})
    assert kinds(draws, 8) == ["chain:1", "chain:1", "trace:1", "chain:1"] * 2


def test_draws_go_on_where_the_last_ended_and_problems_come_in_turn():
    draws, play = proportions(MIX, {"chain": 2.0, "trace": 1.0}, tries=3), ExamplePlay()
    play.seed = 2
    asks = [ask for n in (1, 2, 0, 3) for ask in draws.draw(n, play)]
    source = load("chain:1")
    assert [a.task for a in asks if a.task.family == "chain"] == [source.get("train", 2 * APART + i) for i in range(4)]
    assert Counter(a.task.kind for a in asks) == {"chain:1": 4, "trace:1": 2}
    assert {a.n for a in asks} == {3}
    assert play.metrics == {"share/chain:1": pytest.approx(2 / 3), "share/trace:1": pytest.approx(1 / 3)}


@examples(0.6)
@given(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), st.integers(1, 60))
def test_numbers_stay_close_to_their_shares(weights, n):
    draws = proportions(MIX, dict(zip(MIX.kinds(), map(float, weights), strict=True)))
    found = Counter(kinds(draws, n))
    assert set(found) <= set(draws.shares())
    for kind, share in draws.shares().items():
        assert abs(found[kind] - n * share) < 2


def test_a_blend_that_was_put_away_goes_on_the_same():
    first, again = (proportions(MIX, {"countdown": 2.0, "trace": 1.0}) for _ in range(2))
    first.draw(7, ExamplePlay())
    set_state(again, json.loads(json.dumps(get_state(first))))
    assert again.draw(9, ExamplePlay()) == first.draw(9, ExamplePlay())


def test_what_makes_no_blend_is_refused():
    with refusal(UserError):
        proportions(MIX, {"countdwn": 1.0})
    with refusal(UserError, "0"):
        proportions(MIX, {"chain": 0.0})
    with refusal(UserError, "0", "-1.0"):
        proportions(MIX, {"chain": -1.0, "trace": 2.0})
    with pytest.raises(UserError, match="not nan"):
        proportions(MIX, {"chain": float("nan")})


# --- the recipe --------------------------------------------------------------------------------------------------


def made(**knobs):
    return find_recipe(NAME).build({"task": load("countdown:2-3+strings:1+lists:1-2"), "model": tabular()}, knobs)


def test_general_is_twice_mathematics_whatever_the_number_of_kinds():
    shares = made().curriculum.shares()
    assert shares == {
        **dict.fromkeys(["countdown:2", "countdown:3"], pytest.approx(1 / 6)),
        **dict.fromkeys(["strings:1", "lists:1", "lists:2"], pytest.approx(2 / 9)),
    }
    assert list(made(ratio=0.0).curriculum.shares()) == ["countdown:2", "countdown:3"]
    assert sum(made(ratio=0.5).curriculum.shares()[k] for k in ("countdown:2", "countdown:3")) == pytest.approx(2 / 3)
    assert list(made(math=("strings",), ratio=0.0).curriculum.shares()) == ["strings:1"]


def test_general_problems_may_be_asked_as_choices_and_the_exam_stays_open():
    choice = made(template="choice")
    assert list(choice.curriculum.shares()) == [
        "countdown:2",
        "countdown:3",
        "prefer/strings:1",
        "prefer/lists:1",
        "prefer/lists:2",
    ]
    assert [choice.exams[0].source.get("test", i).family for i in range(4)] == [
        "countdown",
        "countdown",
        "strings",
        "lists",
    ]
    task = choice.curriculum.task.kinds()["prefer/strings:1"].get("train", 0)
    assert choice.stages[0].task.check(task, task.answer) == 1.0


def test_a_run_draws_in_proportion():
    wish = RunRequest(
        NAME, load("countdown:1+strings:1+trace:1"), tabular("01", length=1, rows=16), settings={"prompts": 6}
    )
    for batch in Watched(build(wish).recipe, 2).batches:
        assert Counter(e.task.family for e in batch.episodes) == {"countdown": 16, "strings": 16, "trace": 16}


def test_one_domain_is_no_blend():
    with refusal(UserError, "1-2"):
        find_recipe(NAME).build({"task": load("countdown:1-2"), "model": tabular()}, {})
