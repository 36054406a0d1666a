"""Who plays for an ask: its own seats before the run's, in playing, learning and reading; and opponents from a pool."""

from __future__ import annotations

import pytest
import torch
from refusals import refusal
from watching import Watched

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.optim import sgd
from guerdon.core.pack import pack
from guerdon.core.play import played_by, players
from guerdon.credit.group_relative import centre
from guerdon.curricula.opponents import against
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.losses.policy import clipped
from guerdon.models.frozen_copy import snapshot
from guerdon.models.past_selves import pool
from guerdon.models.tables import tabular
from guerdon.rewards.stage.placing import paid
from guerdon.rewards.stage.score_stages import score, verified
from guerdon.runs.rollout_files import read_batch, write_batch
from guerdon.select.hints import begun
from guerdon.training.readings import fill_needs

HEADS, TAILS = tabular("h", length=1, rows=4), tabular("t", length=1, rows=4)
TASK = gd.Task("coin", "toss", "h")


@gd.part
class toss:
    """Two toss after each other; the first wins if they are equal."""

    roles = ("first", "second")

    async def play(self, ask, seats):
        said = [(await seats[role].act("toss")).text for role in self.roles]
        won = 1.0 if said[0] == said[1] else -1.0
        seats.reward(first=won, second=-won)
        return seats.episode()


def table(seats, env=None, **models):
    models = {"heads": tabular("h", length=1, rows=4), "tails": tabular("t", length=1, rows=4), **models}
    for n, model in enumerate(models.values()):
        model.start(n, models)
    return Player(models, seats, env or toss(), gd.Sampling(), 0, 1)


def texts(episodes):
    return ["".join(s.text for s in e.segments) for e in episodes]


# --- playing -------------------------------------------------------------------------------------------------------


def test_each_ask_is_played_by_its_own_seats():
    play = table({"first": "heads", "second": "heads"})
    asks = [gd.Ask(TASK), gd.Ask(TASK, 2, seats={"second": "tails"}), gd.Ask(TASK, seats={"first": "tails"})]
    assert texts(play(asks)) == ["hh", "ht", "ht", "th"]


def test_seats_told_to_play_are_on_record_and_an_asks_own_come_first():
    play = table({"first": "heads", "second": "heads"})
    told = {"first": "tails", "second": "tails"}
    plain, own = play([gd.Ask(TASK), gd.Ask(TASK, seats={"first": "heads"})], seats=told)
    assert texts([plain, own]) == ["tt", "ht"]
    assert plain.ask.seats == told and own.ask.seats == {"first": "heads", "second": "tails"}
    assert players(pack([plain, own]), play) == ["tails", "tails", "heads", "tails"]


def test_an_unknown_model_is_refused():
    play = table({"first": "heads", "second": "heads"})
    with refusal(UserError):
        play([gd.Ask(TASK, seats={"second": "tail"})])


def test_seats_come_back_from_a_file(tmp_path):
    play = table({"first": "heads", "second": "heads"})
    batch = pack(play([gd.Ask(TASK), gd.Ask(TASK, seats={"second": "tails"})]))
    write_batch(tmp_path / "b.parquet", batch)
    assert players(read_batch(tmp_path / "b.parquet"), play) == ["heads", "heads", "heads", "tails"]


def test_a_hint_is_spelled_by_the_model_that_plays_the_ask():
    play = table({"policy": "heads"}, single_turn())
    ask = gd.Ask(TASK, seats={"policy": "tails"})
    assert begun(ask, "t", play).segments[0].actions.tolist() == [0]
    with pytest.raises(UserError, match="cannot say 't'"):
        begun(ask.but(seats=None), "t", play)


# --- learning and reading ------------------------------------------------------------------------------------------


def test_a_model_learns_and_reads_what_it_acted():
    play = table({"first": "heads", "second": "tails"}, copy=snapshot("heads"))
    asks = [gd.Ask(TASK), gd.Ask(TASK, seats={"first": "tails", "second": "heads"})]
    batch = paid()(pack(play(asks)), play)
    assert played_by(batch, ["heads"], play).tolist() == [True, False, False, True]
    learn = gd.Learn("heads", clipped(), opt=sgd(lr=1.0))
    rows = learn.rows(batch.put("advantage", "step", torch.arange(4.0)), play)
    assert rows["advantage"].tolist() == [0.0, 3.0] and rows.count.tracks == 2
    seen = fill_needs(batch, ["heads.logp", "copy.logp"], play)
    for name in ("heads.logp", "copy.logp"):  # a copy reads what the one it copies acted
        assert seen.cols[name].missing.tolist() == [False, True, True, False]


def test_who_holds_no_seat_reads_all_and_one_seated_by_asks_alone_is_refused():
    play = table({"first": "heads", "second": "heads"})
    batch = pack(play([gd.Ask(TASK), gd.Ask(TASK)]))
    assert played_by(batch, ["tails"], play).all()
    mixed = pack(play([gd.Ask(TASK, seats={"second": "tails"})]))
    with refusal(UserError):
        played_by(mixed, ["tails"], play)
    wider = table({"first": "heads", "second": "heads", "other": "tails"})
    assert played_by(mixed, ["tails"], wider).tolist() == [False, True]


@gd.part
class taking_turns:
    """Problems asked of two policies in turn."""

    def draw(self, n, play):
        tasks = [gd.Task(str(i), f"problem {i}") for i in range(n)]
        return [gd.Ask(task, 4, seats={"policy": "ab"[i % 2]}) for i, task in enumerate(tasks)]


@gd.part
class ones:
    """One is right."""

    def check(self, task, completion):
        return float(completion == "1")


def test_two_policies_in_one_role_learn_from_their_own_tries():
    models = {name: tabular("01", length=1, rows=4096) for name in "ab"}
    learners = [gd.Learn(name, clipped(), opt=sgd(lr=1.0)) for name in "ab"]
    stages = [verified(ones()), score(lambda completion: float(completion == "1")), centre(by="ask"), *learners]
    seats = {"policy": "a", "other": "b"}
    seen = Watched(gd.Recipe(models, taking_turns(), single_turn(), stages, seats, prompts=4), 3)
    for batch in seen.batches:
        assert batch.cols["correct"].missing.sum() == 0  # the truth is of all of them
        versions = {e.ask.seats["policy"]: set() for e in batch.episodes}
        for e in batch.episodes:
            versions[e.ask.seats["policy"]].add(e.segments[0].version)
        assert set(versions) == {"a", "b"}
    a, b = (seen.recipe.models[name].weights.logits for name in "ab")
    assert not torch.equal(a, b)
    moved = [m.detach().ne(0).any(1) for m in (a, b)]  # rows of the table: prompts that taught something
    assert moved[0].any() and moved[1].any() and not (moved[0] & moved[1]).any()


# --- a pool --------------------------------------------------------------------------------------------------------


@gd.part
class coins:
    """The same toss again."""

    tries: int = 2

    def draw(self, n, play):
        return [gd.Ask(TASK, self.tries) for _ in range(n)]


def game(steps=7, **knobs):
    models = {"policy": tabular("ht", length=1, rows=16), **pool("policy", keep=2, every=2)}
    stages = [paid(), centre(by="ask"), gd.Learn("policy", clipped(), opt=sgd(lr=1.0))]
    draws = against(coins(), tuple(pool("policy", keep=2)), **knobs)
    seats = {"first": "policy", "second": "policy"}
    return gd.Recipe(models, draws, toss(), stages, seats, prompts=4, steps=steps)


def test_members_are_copied_in_turn():
    class Ages(Watched):
        def done(self, batch):
            super().done(batch)
            self.rows[-1]["ages"] = [self.recipe.models[f"policy_{n}"].version for n in (1, 2)]

    seen = Ages(game(), 7)
    assert [row["ages"] for row in seen.rows] == [[0, 0], [2, 0], [2, 0], [2, 4], [2, 4], [6, 4], [6, 4]]


def test_the_newest_is_played_most():
    seen = Watched(game(newest=1.0), 6)
    names = [{e.ask.seats["second"] for e in batch.episodes} for batch in seen.batches]
    assert names == [{"policy_1"}] * 4 + [{"policy_2"}] * 2  # copied at the end of steps 1, 3 and 5
    assert [row["opponent/updates"] for row in seen.rows] == [0.0, 0.0, 2.0, 2.0, 4.0, 4.0]
    mixed = [e.ask.seats["second"] for b in Watched(game(newest=0.5), 6).batches for e in b.episodes[::2]]
    assert 0.5 < sum(n == "policy_1" for n in mixed[:16]) / 16 < 1.0


def test_the_learner_sits_on_every_side_and_learns_its_own():
    seen = Watched(game(role=("first", "second")), 6)
    sides = {next(iter(e.ask.seats)) for batch in seen.batches for e in batch.episodes}
    assert sides == {"first", "second"}
    batch, play = seen.batches[-1], seen.play
    rows = seen.recipe.stages[-1].rows(batch, play)
    assert len(batch.episodes) == rows.K  # one track of each game
    assert set(players(rows, play)) == {"policy"}


def test_a_second_draw_of_a_step_is_another():
    draws, play = against(coins(), ("heads", "tails"), newest=0.0), table({"first": "heads", "second": "heads"})
    first, second = ([a.seats["second"] for a in draws.draw(12, play)] for _ in range(2))
    assert first != second
    again = against(coins(), ("heads", "tails"), newest=0.0)
    assert [a.seats["second"] for a in again.draw(12, play)] == first


def test_what_cannot_be_is_refused():
    with pytest.raises(UserError, match="against needs opponents"):
        against(coins(), ())
    with refusal(UserError):
        against(coins(), ("head",)).draw(1, table({"first": "heads"}))
    with refusal(UserError):
        pool("policy", keep=0)
