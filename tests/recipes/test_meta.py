"""Forecasts by the policy: reading, paying and believing them by hand, and MASA."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from killing import killed_at
from watching import SMALL, TABLE, Watched, train

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.episode import Episode, Segment
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.credit.group_relative import centre
from guerdon.envs.simple import single_turn
from guerdon.models.tables import tabular
from guerdon.recipes.curriculum.masa.parts import ROLE, asked_first, read_forecast, with_forecasts
from guerdon.rewards.stage.score_stages import verified
from guerdon.tasks.families.tiny import parity
from guerdon.training.build import RunRequest, build
from guerdon.training.catalog import find_recipe


def said(text, ask, number=0, attempt=0, role=ROLE):
    none = np.zeros(0, np.int64)
    segment = Segment(role, ask.shown, none, np.zeros(1, np.int64), np.zeros(1, np.float32), text)
    return Episode(ask, (segment,), number=number, attempt=attempt)


class Told(ExamplePlay):
    """A run in which forecasts are known: a list of replies for every problem."""

    seats = {ROLE: "policy"}

    def __init__(self, replies, step=0, steps=4):
        super().__init__()
        self.replies, self.step, self.steps = replies, step, steps

    def __call__(self, asks, env=None, seats=None):
        assert env.roles == (ROLE,)
        self.asks = asks
        return [said(t, a, n, i) for n, a in enumerate(asks) for i, t in enumerate(self.replies[n])]


@gd.part
class numbered:
    """Problems 0, 1, 2, ..."""

    def draw(self, n, play):
        return [Ask(Task(str(i), f"problem {i}"), 4) for i in range(n)]


def gated(replies, step=3, **knobs):
    """The problems that are tried, and what was noted."""
    stage = asked_first(numbered(), single_turn(ROLE), tries=len(replies[0]), start="", **knobs)
    play = Told(replies, step)
    return [ask.task.id for ask in stage.draw(len(replies), play)], play, stage


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "share"), [("= 8", 1.0), ("= 0", 0.0), ("= 3 -", 0.375), ("= 9", None), ("= x", None), ("= ", None)]
)
def test_a_forecast_is_so_many_of_eight(text, share):
    assert read_forecast(said(text, Ask(Task("1", ""))), "= ") == share


def test_a_number_is_read_at_once_or_not_at_all():
    ask = Ask(Task("1", ""))
    assert read_forecast(said("5", ask)) == 0.625
    assert read_forecast(said("so 5", ask)) is None
    assert read_forecast(Episode(ask, ())) is None


# --- believing -----------------------------------------------------------------------------------------------------


def test_what_all_forecasts_call_settled_is_left_out():
    kept, play, _ = gated([["8", "8"], ["0", "0"], ["4", "4"], ["8", "0"], ["7", "8"], ["x", "x"], ["8", "x"]])
    assert kept == ["2", "3", "5"]  # the mean of 7 and 8 rounds to 8; what cannot be read has no part
    assert play.metrics == {"forecast/gated": 4 / 7, "forecast/readable": 11 / 14}


def test_forecasts_that_differ_much_are_not_believed():
    spread = [["8"] * 15 + ["4"], ["4", "4"] * 8]
    assert gated(spread, spread=0.1)[0] == ["0", "1"]  # mean 7.75, deviation 0.12
    assert gated(spread, spread=0.2)[0] == ["1"]


def test_nothing_is_left_out_before_its_time_and_never_everything():
    sure = [["8", "8"], ["0", "0"], ["8", "8"]]
    assert gated(sure, step=0, after=0.25)[0] == ["0", "1", "2"]
    assert gated(sure, step=1, after=0.25)[0] == ["0"]  # step 1 of 4 is a quarter; one is always tried
    assert gated(sure, step=3, after=1.0)[0] == ["0", "1", "2"]


def test_the_question_is_about_the_problem_and_one_token_long():
    _, play, stage = gated([["1", "2", "3"]])
    (ask,) = play.asks
    assert (ask.n, ask.shown, ask.sampling.max_tokens, ask.task.id) == (3, "rate\nproblem 0", 1, "0")
    assert [e.segments[0].text for e in stage.waiting[0]] == ["1", "2", "3"]
    with pytest.raises(UserError, match=r"must have \{prompt\}"):
        asked_first(numbered(), single_turn(ROLE), template="how hard?")


# --- paying --------------------------------------------------------------------------------------------------------


@gd.part
class known:
    """A checker that believes what is said."""

    name = "known"

    def check(self, task, completion):
        return {"right": 1.0, "wrong": 0.0}.get(completion)


def aligned(replies, outcomes):
    """The batch with forecasts, for problems with these replies and outcomes of tries (None: left out)."""
    stage = asked_first(numbered(), single_turn(ROLE), tries=len(replies[0]), start="", after=1.0)
    play = Told(replies, 0)
    asks = stage.draw(len(replies), play)
    pairs = [(n, a, t) for n, (a, texts) in enumerate(zip(asks, outcomes, strict=True)) for t in texts or ()]
    tried = [said(t, a, 100 + n, i, "policy") for i, (n, a, t) in enumerate(pairs)]
    batch = verified(known())(pack(tried), play)
    return with_forecasts(stage)(batch, play), play


def test_a_forecast_is_paid_by_what_came_of_the_tries():
    batch, play = aligned([["8", "4", "x"], ["0", "2", "8"]], [["right", "wrong"], ["wrong"] * 4])
    column = batch.cols["aligned"]
    meta = batch.tracks_of([ROLE])
    assert column.value[~meta].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    assert column.value[meta].tolist() == pytest.approx([0.1, 1.0, 0.0, 1.0, 0.01**0.25, 0.01])
    assert batch.cols["correct"].reason[meta].tolist() == [Reason.NOT_APPLICABLE] * 6
    assert play.metrics["forecast/error"] == pytest.approx((0.5 + 0 + 0 + 0.25 + 1) / 5)


def test_what_was_not_tried_or_not_scored_pays_nothing():
    batch, _ = aligned([["8", "0"], ["4", "4"], ["8", "8"]], [None, ["?", "?"], ["right", "?"]])
    column, meta = batch.cols["aligned"], batch.tracks_of([ROLE])
    assert column.reason[meta].tolist() == [Reason.NOT_APPLICABLE] * 4 + [0, 0]
    assert column.value[meta].tolist()[4:] == [1.0, 1.0]
    advantage = centre("aligned", std=False)(batch, ExamplePlay()).cols["advantage"]
    assert bool(torch.isnan(advantage.value[batch.tracks_of([ROLE])[batch.seg]][:4]).all())


def test_forecasts_are_compared_with_forecasts():
    batch, _ = aligned([["8", "4"]], [["right", "wrong"]])
    advantage = centre("aligned", std=False)(batch, ExamplePlay())["advantage"]
    assert advantage.tolist() == pytest.approx([0.5, -0.5, -0.45, 0.45])


def test_without_its_curriculum_it_says_so():
    stage = asked_first(numbered(), single_turn(ROLE))
    with pytest.raises(UserError, match="found no forecasts"):
        with_forecasts(stage)(verified(known())(pack([]), ExamplePlay()), ExamplePlay())


# --- the recipe ----------------------------------------------------------------------------------------------------


def test_what_it_is_made_of():
    made = find_recipe("masa").build({"task": parity(), "model": tabular()}, {})
    assert made.seats == {"policy": "policy", "meta": "policy"}
    assert made.stages[1].curriculum is made.curriculum and made.stages[1].column == "correct"
    assert repr(made.stages[2]) == "centre(reward='aligned')"
    made.check()


def wish(**settings):
    table = {**TABLE, "tabular.vocab": "0128", **SMALL, "asked_first.start": "", "tries": 8}
    return {"task": "parity@4", "model": "tabular", "settings": {**table, **settings}}


def watch(steps, **settings):
    return Watched(build(RunRequest("masa", **wish(**settings))).recipe, steps)


@pytest.mark.slow
def test_a_table_learns_to_forecast_and_then_skips_what_it_has_learned():
    run = watch(120, after=0.5)
    first, middle, last = run.rows[0], run.rows[58], run.rows[-1]
    assert middle["forecast/error"] < 0.15 < first["forecast/error"]
    assert [row["forecast/gated"] for row in run.rows[:60]] == [0.0] * 60
    assert last["forecast/gated"] == 0.75  # all four are solved for sure; one is always tried
    assert (first["tokens"], last["tokens"]) == (64, 40)  # the forecasts stay
    assert [b.group("ask")[1] for b in (run.batches[0], run.batches[-1])] == [8, 5]


def test_every_token_of_a_forecast_counts():
    run = watch(1, meta_tries=3)
    (row,), (batch,) = run.rows, run.batches
    assert row["tokens"] == batch.S and row["episodes"] == batch.K == 4 * (8 + 3)
    assert int(batch.tracks_of([ROLE]).sum()) == 12


@pytest.mark.slow
def test_sprig_says_a_number_where_its_answer_begins():
    """It was never taught to forecast; one token after what is given is nearly always one that can be read and paid."""
    small = {"prompts": 4, "tries": 2, "max_tokens": 48}
    run = Watched(build(RunRequest("masa", "countdown:1-6", "sprig", settings=small)).recipe, 1)
    (row,), (batch,) = run.rows, run.batches
    assert row["forecast/readable"] > 0.5
    told = [e.segments[0] for e in batch.episodes if e.segments[0].role == ROLE]
    assert {(len(s.actions), s.given, s.text[:2]) for s in told} == {(3, 2, "= ")}
    assert len({s.text for s in told}) > 2  # not always the same, so there is something to learn from
    assert row["tokens"] == int((batch.weight > 0).sum())  # what is given is neither sampled nor learned


@pytest.mark.slow
def test_a_run_that_was_broken_off_ends_where_it_would_have(tmp_path):
    whole = train("masa", tmp_path / "whole", wish())
    with killed_at(1):
        train("masa", tmp_path / "broken", wish(), every=1)
    resumed = gd.train(resume=tmp_path / "broken")
    assert resumed.weights == whole.weights and resumed.batch(1).same(whole.batch(1))
