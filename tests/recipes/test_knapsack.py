"""Tries shared out by a knapsack: against brute force and dynamic programming, at the edges, and over laps; and the recipe."""

from __future__ import annotations

import itertools
import json

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from killing import killed_at
from refusals import refusal
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column, Reason
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.part import get_state, set_state
from guerdon.curricula.plain import uniform
from guerdon.curricula.tries_by_worth import enough, filled, knapsack, levelled, shares
from guerdon.models.tables import tabular
from guerdon.tasks import load
from guerdon.tasks.families.tiny import parity
from guerdon.training.catalog import find_recipe

RATES = st.integers(1, 15).map(lambda k: k / 16)


def worth(p, n, gain=True):
    """The paper's value of n tries, as it stands."""
    return (1 - p**n - (1 - p) ** n) * (p * (1 - p) ** 2 if gain else 1.0)


def total(rates, given_, gain=True):
    return sum(worth(p, int(n), gain) for p, n in zip(rates, given_, strict=True))


# --- the knapsack ------------------------------------------------------------------------------------------------


def test_one_by_hand():
    # a try more at 1/2 is worth .03125, .015625, .0078, .0039 and at 1/4 .0264, .0165, .0115, .0084, .0063: the best eight
    assert filled(np.array([0.5, 0.25]), left=8, least=2, most=16).tolist() == [3, 5]
    # without the gain .25, .125, .0625, .03 and .1875, .117, .082, .060, .045, .033: of nine, 1/2 gets three and 1/4 six
    assert filled(np.array([0.5, 0.25]), left=9, least=2, most=16, gain=False).tolist() == [3, 6]


@given(p=st.floats(1e-3, 1 - 1e-3), n=st.integers(1, 200))
def test_each_try_more_is_worth_less_which_is_why_the_best_next_is_best(p, n):
    one, two, three = (worth(p, m, gain=False) for m in (n, n + 1, n + 2))
    assert three - two <= two - one + 1e-12


@given(
    rates=st.lists(RATES, min_size=1, max_size=4),
    least=st.integers(1, 3),
    room=st.integers(1, 5),
    share=st.floats(0, 1),
    gain=st.booleans(),
)
def test_no_other_way_of_sharing_out_is_worth_more(rates, least, room, share, gain):
    left = round(share * room * len(rates))
    found = filled(np.array(rates), left, least, least + room, gain)
    assert found.sum() == left and found.min() >= 0 and found.max() <= room
    ways = (way for way in itertools.product(range(room + 1), repeat=len(rates)) if sum(way) == left)
    best = max(total(rates, [least + n for n in way], gain) for way in ways)
    assert total(rates, least + found, gain) == pytest.approx(best, abs=1e-12)


def by_dynamic_programming(rates, left, least, most):
    """The worth of the best way, over all budgets problem by problem."""
    best = np.full(left + 1, -np.inf)
    best[0] = 0.0
    for p in rates:
        more = np.full(left + 1, -np.inf)
        for n in range(min(most - least, left) + 1):
            more[n:] = np.maximum(more[n:], best[: left + 1 - n] + worth(p, least + n))
        best = more
    return best[left]


@pytest.mark.parametrize("seed", range(3))
def test_a_large_one_against_dynamic_programming(seed):
    rates = np.random.default_rng(seed).integers(1, 64, 32) / 64
    found = filled(rates, 6 * 32, 2, 128)
    assert total(rates, 2 + found) == pytest.approx(by_dynamic_programming(rates, 6 * 32, 2, 128), abs=1e-9)


def test_what_does_not_fit_stays():
    assert filled(np.array([0.5, 0.5]), left=9, least=2, most=4).tolist() == [2, 2]
    assert filled(np.array([]), left=3, least=2, most=4).tolist() == []


def test_of_equals_the_one_with_fewer_tries_is_next():
    assert filled(np.array([0.5, 0.5, 0.5]), left=4, least=2, most=8).tolist() == [2, 1, 1]
    assert filled(np.array([1e-300, 1e-300]), left=6, least=2, most=8).tolist() == [3, 3]  # worth 0 to the last digit


# --- the cases around it -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rates", "given_"),
    [
        ([None, None, None], [8, 8, 8]),  # nothing is known: uniform
        ([1.0, 1.0], [8, 8]),  # nothing is left to learn: uniform
        ([0.0, 0.0], [8, 8]),
        ([0.0, 1.0, 1.0], [20, 2, 2]),  # nobody between: all to those at 0
        ([0.0, None, 1.0], [14, 8, 2]),
        ([0.5, 0.5], [8, 8]),  # no one else to give to, though 3 each would do
        ([0.5, 1.0], [5, 11]),  # of 12 left, 3 do for 1/2; the rest must go somewhere
        ([0.5, 0.0, 1.0], [5, 17, 2]),  # of 18 left, 3 do for 1/2; the rest to the one at 0
        ([0.5, 0.0, 0.0], [5, 10, 9]),
    ],
)
def test_rates_of_0_and_1_and_none_at_all(rates, given_):
    assert shares(rates, tries=8, least=2, most=128).tolist() == given_


def test_those_at_0_get_nothing_more_while_those_between_need_it():
    # one in sixteen shows both outcomes at 90 % in 35 tries, and 12 are left
    assert shares([1 / 16, 0.0], tries=8, least=2, most=128).tolist() == [14, 2]
    assert shares([0.5, 0.0], tries=8, least=2, most=128, sure=1.0).tolist() == [14, 2]  # never sure: never spared


def test_how_many_tries_show_both_outcomes():
    assert enough(np.array([0.5]), most=128, sure=0.9) == 3  # 1 - 2 / 2^n, of which the larger half: 0.5^3.3 = 0.1
    assert enough(np.array([0.25, 0.75]), most=128, sure=0.9) == 16  # 0.75^8 = 0.1
    assert enough(np.array([1 / 128]), most=20, sure=0.9) == 20
    assert enough(np.array([]), most=20, sure=0.9) == 0


def test_levelling_raises_the_lowest_and_stops_at_the_most():
    given_ = np.array([2, 8, 3])
    assert levelled(given_, np.array([True, True, True]), 4, most=8).tolist() == [5, 8, 4]
    assert levelled(given_, np.array([True, False, False]), 9, most=8).tolist() == [8, 8, 3]
    assert given_.tolist() == [2, 8, 3]


@given(
    rates=st.lists(st.one_of(st.none(), st.sampled_from([0.0, 1.0]), RATES), min_size=1, max_size=12),
    least=st.integers(1, 8),
    most=st.sampled_from([8, 9, 16, 128]),
    gain=st.booleans(),
)
def test_every_try_is_given_to_someone_within_bounds(rates, least, most, gain):
    found = shares(rates, 8, least, most, gain)
    assert found.sum() == 8 * len(rates) and found.min() >= least and found.max() <= most
    assert all(n >= 8 for n, rate in zip(found, rates, strict=True) if rate is None)


def test_bounds_that_cannot_be_kept_are_refused():
    with refusal(UserError):
        knapsack(parity(), tries=2, least=4)
    with refusal(UserError):
        knapsack(parity(), tries=8, most=4)


# --- over laps ---------------------------------------------------------------------------------------------------


def came_of(asks, values, column="correct"):
    """The batch of some asks: each one's tries were worth so much, None where the score failed."""
    episodes = [
        episode(segment(), ask=ask, number=i, attempt=j)
        for i, (ask, own) in enumerate(zip(asks, values, strict=True))
        for j in range(len(own))
    ]
    value = torch.tensor([float("nan") if v is None else float(v) for own in values for v in own])
    reason = torch.where(value.isnan(), int(Reason.FAILED), 0).to(torch.int8)
    return pack(episodes).with_cols({column: Column("track", value, reason)})


def four(**knobs):
    return knapsack(load("countdown:1@4"), **{"tries": 4, **knobs})


def test_a_lap_is_uniform_and_the_next_goes_by_what_came_of_it():
    made, play = four(), ExamplePlay()
    asks = made.draw(4, play)
    assert [ask.n for ask in asks] == [4, 4, 4, 4] and play.metrics["knapsack/unseen"] == 4
    made.observe(came_of(asks, [[1, 1, 0, 0], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 1]]), play)
    assert play.metrics["knapsack/useful"] == 0.5
    rates = {ask.task.key: rate for ask, rate in zip(asks, [0.5, 0.25, 0.0, 1.0], strict=True)}
    again = made.draw(4, play)
    assert {ask.task.key: ask.note["rate"] for ask in again} == rates
    assert {ask.note["rate"]: ask.n for ask in again} == {0.5: 5, 0.25: 7, 0.0: 2, 1.0: 2}
    shown = {name.removeprefix("knapsack/"): value for name, value in play.metrics.items()}
    assert (shown["max_tries"], shown["min_tries"]) == (7, 2)
    assert [shown[name] for name in ("unseen", "solved", "hopeless", "between")] == [0, 1, 1, 2]
    assert [shown[f"tries_{name}"] for name in ("solved", "hopeless", "between")] == [2.0, 2.0, 6.0]


def test_useful_is_a_share_of_tries_not_of_problems():
    made, play = four(), ExamplePlay()
    asks = made.draw(2, play)
    made.observe(came_of(asks, [[0, 1, 1, 1, 1, 1], [1, 1]]), play)
    assert play.metrics["knapsack/useful"] == 0.75


def test_a_rate_is_of_the_last_visit_or_of_the_last_few_tries():
    made, play = four(recent=6), ExamplePlay()
    (ask,) = made.draw(1, play)
    key = ask.task.key
    made.observe(came_of([ask], [[1, 0, 0, 0]]), play)
    assert made.rate(key) == 0.25
    made.observe(came_of([ask], [[1, 1, 1]]), play)  # too few of its own: the last six are 0, 0, 0, 1, 1, 1
    assert made.rate(key) == 0.5
    made.observe(came_of([ask], [[1, 1, 1, 1, 1, 1, 0, 0]]), play)  # enough of its own, and all of them count
    assert made.rate(key) == 0.75


def test_a_score_that_failed_is_no_try():
    made, play = four(), ExamplePlay()
    (ask,) = made.draw(1, play)
    made.observe(came_of([ask], [[1, None, 1, 1]]), play)
    assert made.rate(ask.task.key) is None  # three are known, and four make a rate
    made.observe(came_of([ask], [[0]]), play)
    assert made.rate(ask.task.key) == 0.75
    made.observe(came_of([ask], [[None]]), play)
    assert made.rate(ask.task.key) == 0.75 and play.metrics["knapsack/useful"] == 0.0


def test_what_is_no_rate_is_refused():
    made, play = four(column="reward"), ExamplePlay()
    asks = made.draw(1, play)
    with refusal(UserError, "0", "1"):
        made.observe(came_of(asks, [[0.0, 1.5]], "reward"), play)
    steps = came_of(asks, [[0.0]], "reward").with_cols({"reward": Column.full("step", torch.zeros(1))})
    with refusal(UserError):
        made.observe(steps, play)


def test_of_problems_that_never_come_again_all_are_uniform():
    endless, play = load("countdown:1-6"), ExamplePlay()
    made, plain = knapsack(endless), uniform(endless)
    for _ in range(3):
        asks = made.draw(5, play)
        assert asks == plain.draw(5, play)
        made.observe(came_of(asks, [[0, 1] * 4] * 5), play)


def test_its_state_draws_the_same_again():
    made, play = four(), ExamplePlay()
    for _ in range(3):
        asks = made.draw(3, play)
        made.observe(came_of(asks, [[1, 0, 0, 0], [1, 1, 1, 1], [0, 0, 0, 0]]), play)
    saved = json.loads(json.dumps(get_state(made)))
    assert saved[""]["drawn"] == 9 and len(saved[""]["seen"]) == 4
    other = four()
    set_state(other, saved)
    assert [made.draw(3, play) for _ in range(4)] == [other.draw(3, play) for _ in range(4)]


# --- the recipe --------------------------------------------------------------------------------------------------

TABLE = {"tabular.vocab": "01", "tabular.length": 1, "tabular.rows": 256, "prompts": 3, "tries": 4, "lr": 0.3}


def train(out, name="knapsack-rl", every=1000, steps=6, **knobs):
    options = gd.Options(save_every=every, eval_tasks=0)
    settings_ = {**TABLE, **knobs}
    return gd.train(
        name, task="parity@8", model="tabular", settings=settings_, out=out, seed=2, options=options, steps=steps
    )


def test_it_is_grpo_with_another_curriculum():
    made = find_recipe("knapsack-rl").build({"task": parity(), "model": tabular()}, {"gain": False})
    plain = find_recipe("grpo").build({"task": parity(), "model": tabular()}, {"clipped.mean": "step"})
    assert [repr(stage) for stage in made.stages] == [repr(stage) for stage in plain.stages]
    assert repr(made.curriculum) == "knapsack(task=parity(), gain=False)"


@pytest.mark.slow
def test_with_no_room_to_choose_it_is_grpo(tmp_path):
    bound = train(tmp_path / "a", least=4, most=4)
    assert bound.weights == train(tmp_path / "b", "grpo", **{"clipped.mean": "step"}).weights


@pytest.mark.slow
def test_killed_and_resumed_it_draws_the_same(tmp_path):
    whole = train(tmp_path / "whole")
    tries = whole.metrics["knapsack/max_tries"].to_pylist()
    assert tries[0] == 4 and max(tries) > 4  # the rates that decide were learned before the kill
    with killed_at(4):
        train(tmp_path / "broken", every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights
    assert resumed.metrics.drop_columns(["seconds"]) == whole.metrics.drop_columns(["seconds"])
    assert resumed.batch(5).same(whole.batch(5))


def test_played_ahead_it_goes_by_rates_one_step_old(tmp_path):
    whole = train(tmp_path / "whole", ahead=True)
    assert max(whole.metrics["knapsack/max_tries"].to_pylist()) > 4
    assert whole.metrics["episodes"].to_pylist() == [12] * 6


def test_every_step_spends_the_same_number_of_tries(tmp_path):
    assert train(tmp_path / "run").metrics["episodes"].to_pylist() == [12] * 6


def test_an_ask_says_the_rate_it_was_given_by(tmp_path):
    run = train(tmp_path / "run")
    assert {e.ask.note.get("rate") for e in run.batch(0).episodes} == {None}
    assert all(0.0 <= e.ask.note["rate"] <= 1.0 for e in run.batch(5).episodes)
