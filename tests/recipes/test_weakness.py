"""SwS by hand: what is weak, how new problems are shared out, which of them stay, the two phases, and the recipe."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from killing import killed_at
from refusals import refusal

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.part import get_state, part, set_state
from guerdon.curricula.plain import APART
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.sws.parts import failure_rates, is_weak, shared_out, slope, weakness
from guerdon.rewards.stage.score_stages import verified
from guerdon.runs.event_types import StepDone
from guerdon.tasks import load
from guerdon.training.catalog import find_recipe

# --- what is weak ------------------------------------------------------------------------------------------------


def test_the_slope_is_that_of_least_squares():
    for values in ([0.0, 0.5], [0.3, 0.1, 0.2], [0.1, 0.4, 0.2, 0.2]):
        assert slope(values) == pytest.approx(np.polyfit(range(len(values)), values, 1)[0])
    assert slope([0.7]) == 0.0


def test_weak_is_never_half_and_never_rising():
    assert is_weak([0.0, 0.0, 0.0])  # never solved: a slope of 0
    assert is_weak([0.49, 0.3])
    assert not is_weak([0.5, 0.0])  # once it was half
    assert not is_weak([0.0, 0.1, 0.2])
    assert is_weak([0.2, 0.0, 0.2])  # flat, though it moves
    assert is_weak([0.3] * 7) and is_weak([1 / 3] * 4)
    assert is_weak([0.25])
    assert not is_weak([])


def test_a_kinds_failure_rate_is_the_share_of_its_problems_that_are_weak():
    kind = {"a": "x:1", "b": "x:1", "c": "x:2", "d": "x:1", "e": "x:3"}
    seen = {"a": [0.0, 0.0], "b": [1.0, 1.0], "c": [0.2, 0.1], "d": [0.0, 0.4], "e": []}
    assert failure_rates(seen, kind) == {"x:1": 1 / 3, "x:2": 1.0, "x:3": 0.0}


def test_whole_numbers_are_shared_out_by_the_largest_remainders():
    assert shared_out({"a": 1 / 3, "b": 1.0, "c": 0.0}, 8) == {"a": 2, "b": 6, "c": 0}
    assert shared_out({"a": 1.0, "b": 1.0, "c": 1.0}, 8) == {"a": 3, "b": 3, "c": 2}  # of equals the first
    assert shared_out({"a": 0.0}, 8) == {"a": 0}
    for total in range(20):
        assert sum(shared_out({"a": 0.3, "b": 0.5, "c": 0.1}, total).values()) == total


# --- the two phases ----------------------------------------------------------------------------------------------


class Table(ExamplePlay):
    """A play in which a problem of level L is solved by `right[L]` of four tries."""

    def __init__(self, right, seed=0):
        super().__init__()
        self.right, self.seed, self.played = right, seed, []

    def __call__(self, asks, env=None, seats=None):
        self.played += [ask.task for ask in asks]
        return [
            Episode(
                ask, (Segment("policy", ask.shown, np.zeros(1, np.int64), [0], [0.0], said(self, ask, t)),), 0, n, t
            )
            for n, ask in enumerate(asks)
            for t in range(ask.n)
        ]


def said(play, ask, attempt):
    return f"= {ask.task.answer}" if attempt < play.right[ask.task.level] else "= no"


def drawer(**knobs):
    source = load("countdown:1-3")
    settled = {"tries": 4, "size": 6, "epochs": 2, "candidates": 12, **knobs}
    return weakness(source, [verified(source)], **settled)


def step(draws, play, n=6):
    """Draw, play and observe, as the loop does; what was drawn."""
    play.metrics.clear()
    asks = draws.draw(n, play)
    batch = pack(play(asks))
    draws.observe(draws.scores[0](batch, play), play)
    return asks


def test_the_first_phase_goes_through_the_set_and_remembers():
    draws, play = drawer(), Table({1: 4, 2: 2, 3: 1})
    first, second = step(draws, play), step(draws, play)
    keys = {draws.task.get("train", i).key for i in range(6)}
    assert {ask.task.key for ask in first} == {ask.task.key for ask in second} == keys
    assert [ask.task.key for ask in first] != [ask.task.key for ask in second]  # shuffled anew
    assert sorted(map(tuple, draws.seen.values())) == [(0.25, 0.25)] * 2 + [(0.5, 0.5)] * 2 + [(1.0, 1.0)] * 2
    assert draws.made is None


def test_then_new_problems_of_the_weak_kind_join_that_are_neither_solved_nor_hopeless():
    draws, play = drawer(), Table({1: 4, 2: 2, 3: 1})
    step(draws, play), step(draws, play)
    before = len(play.played)
    asks = step(draws, play)
    tried = play.played[before:-6]
    assert {task.kind for task in tried} == {"countdown:3"}
    assert tried[0] == load("countdown:3").get("train", 6)
    assert {k: v for k, v in play.metrics.items() if k != "weakness/new"} == {
        "score/countdown:1": 0.0,
        "score/countdown:2": 0.0,
        "score/countdown:3": 1.0,
        "weakness/weak": 2,
        "weakness/kept": len(tried),  # a quarter of the tries is right: at the edge of the band
        "weakness/mean": 0.25,
    }
    assert [kept["prompt"] for kept in draws.made] == [task.prompt for task in tried]
    assert play.metrics["weakness/new"] == sum("new" in ask.note for ask in asks) / 6
    everything = [ask for _ in range(40) for ask in step(draws, play, 3)] + asks
    assert {ask.task.key for ask in everything} == set(draws.seen) | {task.key for task in tried}
    assert {"new" in ask.note for ask in everything if ask.task.level < 3} == {False}
    assert all(len(seen) == 2 for seen in draws.seen.values())  # the second phase is not remembered


@pytest.mark.parametrize(("right", "kept"), [(0, False), (1, True), (3, True), (4, False)])
def test_the_band_decides_which_candidates_stay(right, kept):
    draws, play = drawer(), Table({1: 4, 2: 4, 3: 0})
    step(draws, play), step(draws, play)
    play.right = {1: 4, 2: 4, 3: right}  # what the policy comes to when candidates are tried
    step(draws, play)
    assert bool(draws.made) == kept


def test_even_shares_are_for_every_kind():
    draws, play = drawer(by="even", candidates=9), Table({1: 2, 2: 2, 3: 1})
    step(draws, play), step(draws, play)
    before = len(play.played)
    step(draws, play)
    levels = [task.level for task in play.played[before:-6]]
    assert set(levels) == {1, 2, 3} and max(levels.count(n) for n in (1, 2, 3)) <= 3


def test_without_a_weakness_or_without_candidates_the_set_goes_on():
    for knobs, right in (({}, 4), ({"candidates": 0}, 0)):
        draws, play = drawer(**knobs), Table(dict.fromkeys((1, 2, 3), right))
        seen = [ask.task.key for _ in range(5) for ask in step(draws, play)]
        assert draws.made == [] and len(set(seen)) == 6 and len(play.played) == 30
        assert play.metrics["weakness/new"] == 0.0


def test_seeds_have_new_problems_of_their_own():
    draws, play = drawer(), Table({1: 4, 2: 4, 3: 1}, seed=2)
    step(draws, play), step(draws, play), step(draws, play)
    assert draws.made[0]["prompt"] == load("countdown:3").get("train", 2 * APART + 6).prompt


def test_a_drawer_that_was_put_away_draws_the_same_problems_after():
    draws, play = drawer(), Table({1: 4, 2: 2, 3: 1})
    for _ in range(3):
        step(draws, play)
    again = drawer()
    set_state(again, json.loads(json.dumps(get_state(draws))))
    assert [step(again, Table(play.right)) for _ in range(4)] == [step(draws, play) for _ in range(4)]


def test_a_rate_of_nothing_is_no_rate():
    draws, play = drawer(), Table({1: 0, 2: 0, 3: 0})
    asks = draws.draw(6, play)
    batch = pack(play(asks))
    missing = Column("track", torch.full((batch.K,), float("nan")), torch.ones(batch.K, dtype=torch.int8))
    draws.observe(batch.with_cols({"correct": missing}), play)
    assert draws.seen == {}


def test_what_cannot_be_is_refused():
    with refusal(UserError, "1-3", "8"):
        weakness(load("countdown:1-3@8"), [])
    assert weakness(load("countdown:1-3@8"), [], candidates=0, size=8).size == 8
    with refusal(UserError, "0.75", "0.25"):
        drawer(band=(0.75, 0.25))

    @part
    class needy:
        needs, gives = ("process",), ()

    with pytest.raises(UserError, match="needy needs process"):
        weakness(load("countdown:1-3"), [needy()])


# --- the recipe --------------------------------------------------------------------------------------------------

SMALL = {"prompts": 4, "tries": 4, "lr": 0.3, "size": 8, "epochs": 2, "candidates": 8, "low": 0.0, "high": 1.0}


def train(out, steps=7, every=1000, **more):
    wish = {"task": load("parity:1+parity:4"), "model": tabular("01", length=1, rows=256), "settings": SMALL}
    options = gd.Options(save_every=every, eval_tasks=0)
    return gd.train("sws", out=out, seed=2, options=options, steps=steps, **{**wish, **more})


def test_candidates_count_in_the_budget_and_the_scores_are_the_recipes_own(tmp_path):
    made = find_recipe("sws").build({"task": load("countdown:1-6"), "model": tabular()}, {})
    for each in (made, made.but(prompts=3)):
        assert each.curriculum.scores == each.stages[:1]
    run = train(tmp_path / "run")
    episodes = [event.episodes for event in run.events(StepDone)]
    assert episodes[:4] == [16] * 4  # 2 times 8 problems, 4 a step
    assert 16 <= episodes[4] <= 16 + 8 * 4
    assert episodes[5:] == [16] * 2


@pytest.mark.slow
def test_it_resumes_in_the_middle_of_either_phase(tmp_path):
    whole = train(tmp_path / "whole").weights
    for step in (3, 6):
        with killed_at(step):
            train(tmp_path / f"{step}", every=1)
        wish = {"task": load("parity:1+parity:4"), "model": tabular("01", length=1, rows=256), "settings": SMALL}
        again = gd.train("sws", resume=tmp_path / f"{step}", **wish)
        assert again.weights == whole
