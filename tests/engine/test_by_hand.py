"""Episodes that need no event loop are played by hand, and are what an event loop would have made of them."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest
from small import small_lm
from strategies import task

from guerdon.core.errors import CtrlC, UserError
from guerdon.core.part import part
from guerdon.core.play import awaits_seats_alone, seats_alone
from guerdon.core.task import Ask, Sampling
from guerdon.engine.batching import EngineFault
from guerdon.engine.continuous import Continuous
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.models.tables import tabular

ASKS = [Ask(task(name, answer="021"), tries, note={"say": ["12"]}) for name, tries in (("a", 3), ("b", 1), ("c", 2))]


@part
class talk:
    """Turns of two roles with a reading in between. Episodes are of different lengths, and some break."""

    breaks: str = ""
    roles = ("policy", "other")

    async def play(self, ask, seats):
        for turn in range(2 + seats.seed % 3):
            said = await seats["policy"].act(f"{ask.shown} {turn}")
            read = await seats["policy"].read("logp", text=said.actions)
            await seats["other"].act(f"{said.text} {len(read['logp'])}", fresh=True)
            seats.reward(policy=1.0)
        if ask.task.id == self.breaks:
            raise ZeroDivisionError("a fault of the environment")
        return seats.episode(turns=turn + 1)


@part
class talk_by_hand(talk):
    @seats_alone
    async def play(self, ask, seats):
        return await super().play(ask, seats)


@part
class in_a_loop:
    """An environment whose word about itself is not passed on."""

    env: Any

    @property
    def roles(self):
        return self.env.roles

    async def play(self, ask, seats):
        return await self.env.play(ask, seats)


def player(env, ended=()):
    model = tabular(vocab="0123", length=3, spread=1.0)
    model.start(1, {})
    seats = {"policy": "policy", "other": "policy"}
    return Player({"policy": model}, seats, env, Sampling(), 0, 10, ended)


def all_same(a, b):
    return len(a) == len(b) and all(x.same(y) for x, y in zip(a, b, strict=True))


ENVS = [single_turn(), dataset_env(), side_by_side(tries=2), talk_by_hand(), talk_by_hand(breaks="b")]


@pytest.mark.parametrize("env", ENVS, ids=lambda env: f"{env}")
def test_by_hand_and_in_a_loop_the_same_is_played(env):
    by_hand, looped = player(env), player(in_a_loop(env))
    assert awaits_seats_alone(by_hand.env) and not awaits_seats_alone(looped.env)
    first, second = by_hand(ASKS), looped(ASKS)
    assert all_same(_untold(first), _untold(second))
    assert [e.failed for e in first] == [e.failed for e in second]
    assert by_hand.counts() == looped.counts()
    again = [episode.prefix(0, 1) for episode in first if not episode.failed]
    restarts = [Ask(task("a", answer="021"), prefix=prefix, note={"say": ["12"]}) for prefix in again]
    assert all_same(_untold(by_hand(restarts)), _untold(looped(restarts)))


def _untold(episodes):
    """Without the tracebacks of those that broke, in which the loop is to be seen."""
    return [
        e.but(info={"error": e.info["error"].splitlines()[-1].split(": ")[-1]}) if e.failed else e for e in episodes
    ]


def test_by_hand_there_is_no_event_loop():
    loops = []

    @part
    class looks:
        roles = ("policy",)

        async def play(self, ask, seats):
            loops.append(asyncio._get_running_loop())
            await seats["policy"].act("x")
            return seats.episode()

    player(looks())(ASKS)
    assert all(loops)
    loops.clear()
    looks.play = seats_alone(looks.play)
    player(looks())(ASKS)
    assert loops == [None] * 6


def test_a_play_that_was_written_anew_has_to_say_it_anew():
    class mine(single_turn):
        async def play(self, ask, seats):
            await asyncio.sleep(0)
            return await super().play(ask, seats)

    assert not awaits_seats_alone(mine())
    assert all_same(player(mine())(ASKS), player(single_turn())(ASKS))


def test_who_is_told_of_episodes_may_wait():
    told = []

    async def listener(episodes):
        await asyncio.sleep(0)
        told.extend(episode.key for episode in episodes)

    player(single_turn(), [listener])(ASKS)
    assert sorted(told) == ["0.0.0", "0.0.1", "0.0.2", "0.1.0", "0.2.0", "0.2.1"]


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), UserError("it cannot"), CtrlC()], ids=type)
def test_what_stops_a_run_stops_it_alike(error):
    stopped = []
    for env in (talk_by_hand(), in_a_loop(talk_by_hand())):
        play = player(env)
        act, calls = play.models["policy"].act, []

        def broken(requests, act=act, calls=calls):
            calls.append(len(requests))
            if len(calls) == 3:
                raise error
            return act(requests)

        play.models["policy"].act = broken
        with pytest.raises((EngineFault, UserError, CtrlC)) as caught:
            play(ASKS)
        stopped.append((type(caught.value), str(caught.value), calls))
    assert stopped[0] == stopped[1]


def test_it_is_played_by_hand_inside_a_running_event_loop_too():
    async def notebook():
        return player(single_turn())(ASKS)

    assert all_same(asyncio.run(notebook()), player(single_turn())(ASKS))


@pytest.mark.parametrize("env", [single_turn(), in_a_loop(single_turn())], ids=["by hand", "in a loop"])
def test_what_was_kept_for_next_turns_is_gone_with_the_play(tmp_path, monkeypatch, env):
    """It can be a gigabyte, and a run has Python look for circles once in many steps."""
    opened: list[Any] = []
    begin = Continuous.__init__
    monkeypatch.setattr(
        Continuous, "__init__", lambda self, *given: opened.append(weakref.ref(self)) or begin(self, *given)
    )
    model = small_lm(tmp_path / "lm")
    model.start(1, {})
    gc.disable()
    try:
        Player({"policy": model}, {"policy": "policy"}, env, Sampling(max_tokens=4), 0, 10)([Ask(task("a"), 2)])
        assert [each() for each in opened] == [None]
    finally:
        gc.enable()
