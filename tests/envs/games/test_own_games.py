"""Nim and the hunt: rules by hand, opponents, seats, limits and ends."""

from __future__ import annotations

import itertools
import random

import pytest
from refusals import refusal

import guerdon as gd
from guerdon.core.errors import UserError
from guerdon.core.task import Task
from guerdon.engine.player import Player
from guerdon.envs.games.fixed_opponents import opponent
from guerdon.envs.games.matches import OneSide
from guerdon.envs.games.own_games import NimBoard
from guerdon.exams.rewards_given import seat_exams

HOSTILE = (
    "",
    "x" * 4000,
    "\u202e\U0001f4a5\x00",
    "take 0 from 1",
    "take 99 from 1",
    "take ２ from 1",
    "nim 0 0\ntake 1 from 9",
)


def played(env, asks, seats=None, most=4096, **says):
    models = {role: gd.models.scripted(say) for role, say in says.items()}
    for model in models.values():
        model.start(0, models)
    return Player(models, seats or {role: role for role in models}, env, gd.Sampling(max_tokens=most), 5, 1)(asks)


def deal(*heaps, side=0):
    return gd.Ask(Task("1", "nim", "", "nim", 1, {"heaps": list(heaps), "side": side}))


def a_move(view, past, seed):
    """One from the first heap that has some."""
    heaps = [int(n) for n in view.splitlines()[-1].split()[1:]]
    return f"take 1 from {next(i for i, heap in enumerate(heaps, 1) if heap)}"


def test_the_perfect_opponent_is_minimax():
    """Nim-sum and a search of the whole tree agree on who wins every deal of three heaps up to four."""
    draw = random.Random(0)
    for heaps in itertools.product(range(5), repeat=3):
        if any(heaps):
            board = NimBoard(heaps, 0)
            for name in ("perfect", "minimax"):
                move = board.perfect(draw) if name == "perfect" else opponent(name, draw)(board)
                after = board.afters()[move]
                a, b, c = after.heaps
                assert (a ^ b ^ c == 0) == (heaps[0] ^ heaps[1] ^ heaps[2] != 0), (name, heaps, move)


def test_nim_by_hand():
    game = gd.envs.nim(against="")
    first, second = iter(["take 2 from 1", "take 9 from 2", "take 1 from 2"]), iter(["take 1 from 2"])
    (episode,) = played(game, [deal(2, 2)], first=lambda *_: next(first), second=lambda *_: next(second))
    assert [s.view.splitlines()[-1] for s in episode.segments] == ["nim 2 2", "nim 0 2", "nim 0 1", "nim 0 1"]
    assert episode.segments[3].view == "that is not there to take: take 9 from 2\nthey take 1 from 2\nnim 0 1"
    assert episode.info["goal"] == {"first": 1.0, "second": 0.0} and episode.info["illegal"] == {
        "first": 1,
        "second": 0,
    }
    assert [s.reward for s in episode.segments] == [None, -1.0, None, 1.0]


def test_moves_that_are_none_are_answered_counted_and_lost_by():
    game = gd.envs.nim(against="random", errors=2)
    world = game.open(deal(3, 4), seed=1)
    world.begin()
    assert [world.step(said).over for said in HOSTILE[:3]] == [False, False, True]
    assert world.outcome() == {"goal": 0.0, "side": "first", "illegal": 3}
    for said in HOSTILE:
        fresh = game.open(deal(3, 4), seed=1)
        fresh.begin()
        answer = fresh.step(said)
        assert fresh.outcome()["illegal"] == 1 and answer.view.startswith("that is ") and not answer.over
    (lost,) = played(gd.envs.nim(against="", errors=0), [deal(3, 4)], first=lambda *_: "?", second=a_move)
    assert lost.info["goal"] == {"first": 0.0, "second": 1.0} and len(lost.segments) == 1


def test_limits_of_a_match():
    (turns,) = played(gd.envs.nim(against="", most=3), [deal(3, 4)], first=a_move, second=a_move)
    assert turns.info["cut"] == "turns" and turns.info["moves"] == 3
    assert turns.info["goal"] == {"first": 0.0, "second": 0.0}
    (tokens,) = played(gd.envs.nim(against="opponent"), [deal(3, 4)], most=5, policy=a_move, opponent=a_move)
    assert tokens.info["cut"] == "tokens" and len(tokens.segments) == 1


def test_sides_are_the_deals_and_one_model_plays_itself():
    game = gd.envs.nim(level=2, against="opponent")
    tasks = [game.get("train", i) for i in range(30)]
    assert {task.meta["side"] for task in tasks} == {0, 1}
    asks = [gd.Ask(task, n=2) for task in tasks[:8]]
    for episode in played(game, asks, {"policy": "me", "opponent": "me"}, me=a_move):
        begins = "opponent" if episode.task.meta["side"] else "policy"
        assert episode.segments[0].role == begins and sorted(episode.info["goal"].values()) == [0.0, 1.0]


@pytest.mark.parametrize("level", range(1, 9))
def test_every_deal_is_won_by_who_plays_perfectly(level):
    game = gd.envs.nim(level=level, against="perfect")
    for split in ("train", "test"):
        for i in range(25):
            world = game.open(gd.Ask(game.get(split, i)), seed=i)
            world.begin()
            while not world.step(world.gold()).over:
                pass
            assert world.outcome()["goal"] == 1.0
    heaps = {split: {game.canonical(game.get(split, i).meta) for i in range(60)} for split in ("train", "test")}
    assert not heaps["train"] & heaps["test"]


def test_the_contract():
    assert gd.check_env(gd.envs.nim(level=3, against="perfect"), episodes=6)["goals"] == 6
    assert gd.check_env(gd.envs.hunt(level=3), episodes=6)["goals"] == 6
    with refusal(UserError):
        gd.envs.nim(against="best")
    with pytest.raises(UserError, match="write minimax:4"):
        gd.envs.nim(against="minimax:x")


def test_win_rates_against_fixed_opponents_and_from_each_seat():
    def perfect(view, past, seed):
        return NimBoard([*map(int, view.splitlines()[-1].split()[1:])], 0).perfect(random.Random(seed))

    clever = gd.models.scripted(perfect)
    assert gd.evaluate(clever, task=gd.envs.nim(level=3, against="perfect"), tasks=8)["pass@1"] == 1.0
    assert (
        gd.evaluate(gd.models.scripted(a_move), task=gd.envs.nim(level=3, against="perfect"), tasks=8)["pass@1"] < 0.4
    )
    game = gd.envs.nim(level=3, against="")
    exams = seat_exams("simple", game, game)
    result = gd.evaluate(clever, exam=exams, models={"simple": gd.models.scripted(a_move)}, tasks=12)
    assert result["simple@first/win_rate"] > 0.8 and result["simple@second/games"] == 12


def test_the_hunt_by_hand():
    game = gd.envs.hunt(level=2)
    meta = {"low": 10, "high": 16, "secret": 11, "guesses": 3}
    world = game.open(gd.Ask(Task("1", "", meta=meta)), 0)
    assert world.begin() == "hunt 10 to 16 guesses 3"
    assert [world.step(said).view for said in ("13", "１１")] == ["down", "say a number from 10 to 16"]
    last = world.step("15")
    assert last.over and last.pay == 0.0 and last.view == "down. no guesses left"
    assert world.outcome() == {"goal": 0.0, "guesses": 2, "wasted": 1, "not_understood": 1}
    caught = game.open(gd.Ask(Task("1", "", meta=meta)), 0)
    assert caught.gold() == "13" and caught.step("13").view == "down" and caught.gold() == "11"
    assert caught.step(" 11 ").pay == 1.0 and caught.outcome()["goal"] == 1.0


@pytest.mark.slow
@pytest.mark.parametrize("level", range(1, 9))
def test_chance_wins_sometimes_and_not_too_often(level):
    for against, most in (("random", 0.75), ("perfect", 0.5)):
        game, won = gd.envs.nim(level=level, against=against), 0.0
        for i in range(300):
            world, draw = game.open(gd.Ask(game.get("train", i)), i), random.Random(i)
            world.begin()
            while not world.step(draw.choice(world.board.moves())).over:
                pass
            won += world.outcome()["goal"]
        print("nim", level, against, won / 300)
        assert won / 300 < most
    game = gd.envs.hunt(level=level)
    won = 0.0
    for i in range(300):
        hunt, draw = game.open(gd.Ask(game.get("train", i)), i), random.Random(i)
        while not hunt.step(str(draw.randint(hunt.meta["low"], hunt.meta["high"]))).over:
            pass
        won += hunt.outcome()["goal"]
    print("hunt", level, won / 300)
    assert 0 < won / 300 < 0.75
    assert isinstance(gd.envs.nim().open(deal(1, 2), 0), OneSide)
