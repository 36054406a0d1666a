"""The engine: what breaks in an environment stays there, what breaks in a model stops, and seeds follow from places."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from typing import Any

import numpy as np
import pytest
import torch
from refusals import refusal
from strategies import episode, segment, task

from guerdon.core.episode import End
from guerdon.core.errors import RunStopped, UserError
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.schedule import linear
from guerdon.core.task import Ask, Prefix, Sampling
from guerdon.engine.batching import EngineFault
from guerdon.engine.player import Player
from guerdon.envs.simple import dataset_env, single_turn
from guerdon.models.tables import tabular

ASKS = [Ask(task(n), 3) for n in "abcd"]


def player(env, seats=None, seed=0, sampling=None, **knobs):
    model = tabular(**{"vocab": "0123", "length": 3, "spread": 1.0, **knobs})
    model.start(1, {})
    seats = seats or {"policy": "policy"}
    return Player({"policy": model}, seats, env, sampling or Sampling(), seed, 10)


def all_same(a, b):
    return len(a) == len(b) and all(x.same(y) for x, y in zip(a, b, strict=True))


@part
class two_turns:
    """Two turns of the policy with a judge's call below the first; waits a random while between them."""

    naps: Any = None
    roles = ("policy", "judge")

    async def play(self, ask, seats):
        for turn in range(2):
            if self.naps is not None:
                await asyncio.sleep(self.naps.random() / 200)
            s = await seats["policy"].act(f"{ask.shown} {turn}")
            await seats["judge"].act(f"judge {s.text}", after=len(seats.segments) - 1, fresh=True)
        seats.reward(policy=1.0)
        return seats.episode(turns=2)


BOTH = {"policy": "policy", "judge": "policy"}


def test_episodes_are_named_by_their_place():
    play = player(single_turn())
    play.begin(4)
    first, second = play(ASKS[:2]), play(ASKS[2:])
    keys = [e.key for e in (*first, *second)]
    assert keys == [f"4.{n}.{a}" for n in range(4) for a in range(3)]
    assert (play.episodes, play.calls, play.tokens) == (12, 12, 36)
    play.begin(5)
    assert (play.asked, play.episodes, play.tokens, play.metrics) == (0, 0, 0, {})


def test_draws_depend_on_the_place_not_on_when_they_are_made():
    calm = player(two_turns(), BOTH)(ASKS)
    for seed in range(3):
        assert all_same(calm, player(two_turns(naps=random.Random(seed)), BOTH)(ASKS))
    assert not all_same(calm, player(two_turns(), BOTH, seed=1)(ASKS))


def test_asks_played_together_or_one_after_the_other_are_played_alike():
    together = player(two_turns(), BOTH)(ASKS)
    play = player(two_turns(), BOTH)
    assert all_same(together, [e for ask in ASKS for e in play([ask])])


def test_tries_steps_and_calls_draw_apart():
    play = player(two_turns(), BOTH, vocab="0123456789", length=8, spread=0.0)
    first = play([Ask(task("a"), 4)])
    play.begin(1)
    later = play([Ask(task("a"), 4)])
    texts = [s.text for e in (*first, *later) for s in e.segments]
    assert len(set(texts)) == len(texts) == 32


def test_branches_and_calls_hang_where_they_should():
    found = player(two_turns(), BOTH)([Ask(task("a"))])[0]
    assert [(s.role, s.parent) for s in found.segments] == [("policy", -1), ("judge", 0), ("policy", 0), ("judge", 2)]
    assert [s.reward for s in found.segments] == [None, None, 1.0, None]
    assert pack([found]).K == 3


def test_requests_that_wait_together_are_one_call():
    play = player(single_turn())
    sizes = []
    act = play.models["policy"].act
    play.models["policy"].act = lambda requests: (sizes.append(len(requests)), act(requests))[1]
    play(ASKS)
    assert sizes == [12]


# --- faults -------------------------------------------------------------------------------------------------------


@part
class breaks:
    """Breaks on tasks named `bad`, before or after acting."""

    after: int = 0
    roles = ("policy",)

    async def play(self, ask, seats):
        for turn in range(2):
            if ask.task.id == "bad" and turn == self.after:
                raise ZeroDivisionError("a fault of the environment")
            await seats["policy"].act(f"turn {turn}")
        return seats.episode()


@pytest.mark.parametrize("after", [0, 1])
def test_an_environment_that_breaks_fails_its_own_episode_alone(after):
    asks = [Ask(task("good")), Ask(task("bad")), Ask(task("fine"))]
    good, bad, fine = player(breaks(after=after))(asks)
    assert bad.failed
    assert "ZeroDivisionError: a fault of the environment" in bad.info["error"]
    assert "Traceback" in bad.info["error"]
    assert len(bad.segments) == after
    assert all(s.end is End.FAILED for s in bad.segments[-1:])
    unbroken = player(breaks(after=9))(asks)
    assert good.same(unbroken[0])
    assert fine.same(unbroken[2])
    assert pack([good, bad, fine]).failed_K.tolist() == [False, *[True] * after, False]


def test_a_model_that_breaks_stops_the_run_with_its_cause():
    play = player(single_turn())

    def broken(requests):
        raise RuntimeError("out of memory")

    play.models["policy"].act = broken
    with pytest.raises(EngineFault, match="model 'policy' could not act") as caught:
        play(ASKS)
    assert "out of memory" in str(caught.value.__cause__)


def test_a_full_gpu_is_said_in_a_line_with_the_mend():
    play = player(single_turn())

    def full(requests):
        raise torch.OutOfMemoryError("CUDA out of memory")

    play.models["policy"].act = full
    with refusal(RunStopped) as caught:
        play(ASKS)
    assert isinstance(caught.value.__cause__, torch.OutOfMemoryError)


def test_a_model_that_answers_too_few_stops_the_run():
    play = player(single_turn())
    act = play.models["policy"].act
    play.models["policy"].act = lambda requests: act(requests)[:-1]
    with pytest.raises(EngineFault):
        play(ASKS)


def test_a_fault_leaves_no_noise_behind(monkeypatch):
    play = player(single_turn())
    heard: list[logging.LogRecord] = []
    ear = logging.Handler(logging.ERROR)
    ear.emit = heard.append  # type: ignore[method-assign]
    monkeypatch.setattr(logging.getLogger("asyncio"), "handlers", [ear])

    def refuse(requests):
        raise UserError("this model cannot do that")

    play.models["policy"].act = refuse
    with pytest.raises(UserError, match="cannot do that"):
        play(ASKS)
    gc.collect(1)  # among what is young: it was made just now
    assert heard == []
    logging.getLogger("asyncio").error("what would have been heard")
    assert len(heard) == 1


@part
class impatient:
    """Stops waiting for the model at once on tasks named `bad`."""

    roles = ("policy",)

    async def play(self, ask, seats):
        if ask.task.id == "bad":
            await asyncio.wait_for(seats["policy"].act("x"), 0)
        await seats["policy"].act("y")
        return seats.episode()


def test_an_episode_that_stops_waiting_does_not_hold_up_the_others():
    async def in_time():
        return await asyncio.wait_for(asyncio.to_thread(player(impatient()), asks), 20)

    asks = [Ask(task("good")), Ask(task("bad")), Ask(task("fine"))]
    good, bad, fine = asyncio.run(in_time())
    assert "TimeoutError" in bad.info["error"]
    assert not good.failed
    assert not fine.failed


def test_play_works_inside_a_running_event_loop():
    async def notebook():
        return player(two_turns(), BOTH)(ASKS)

    assert all_same(asyncio.run(notebook()), player(two_turns(), BOTH)(ASKS))


def test_faults_come_out_of_a_running_event_loop_too():
    play = player(single_turn(role="nobody"))

    async def notebook():
        return play(ASKS)

    with pytest.raises(UserError, match="unknown seat 'nobody'"):
        asyncio.run(notebook())


# --- sampling -----------------------------------------------------------------------------------------------------


@part
class hot_turn:
    roles = ("policy",)

    async def play(self, ask, seats):
        await seats["policy"].act("x", sampling=Sampling(temperature=3.0))
        return seats.episode()


def test_the_nearest_sampling_counts():
    run = Sampling(temperature=0.5)
    asked = Ask(task("a"), sampling=Sampling(temperature=2.0))
    assert player(single_turn(), sampling=run)([Ask(task("a"))])[0].segments[0].sampling == run
    assert player(single_turn(), sampling=run)([asked])[0].segments[0].sampling == asked.sampling
    assert player(hot_turn(), sampling=run)([asked])[0].segments[0].sampling.temperature == 3.0


def test_a_sampling_follows_its_schedules():
    play = player(single_turn(), sampling=Sampling(temperature=linear(2.0, 1.0, over=3)))
    cooling = Ask(task("a"), sampling=Sampling(top_p=linear(0.5, 1.0, over=3)))
    for step, (heat, mass) in enumerate([(2.0, 0.5), (1.5, 0.75), (1.0, 1.0)]):
        play.begin(step)
        plain, asked = play([Ask(task("a")), cooling])
        assert plain.segments[0].sampling == Sampling(temperature=heat)
        assert asked.segments[0].sampling == Sampling(top_p=mass)


def test_reciting_needs_no_model_call():
    play = player(dataset_env())
    found = play([Ask(task("a", answer="021"))])[0].segments[0]
    assert (found.text, found.given, play.calls) == ("021", 0, 0)
    assert np.isnan(found.logp).all()


def test_nobody_is_paid_before_acting():
    @part
    class pays_early:
        roles = ("policy",)

        async def play(self, ask, seats):
            seats.reward(policy=1.0)
            return seats.episode()

    with refusal(UserError):
        player(pays_early())(ASKS)


# --- restarts -----------------------------------------------------------------------------------------------------


@part
class pays_each_turn:
    """Three turns, one point each."""

    roles = ("policy",)

    async def play(self, ask, seats):
        for turn in range(3):
            await seats["policy"].act(f"turn {turn}")
            seats.reward(policy=1.0)
        return seats.episode()


@pytest.mark.parametrize(("at", "step"), [(0, 0), (0, 2), (1, 0), (1, 1), (2, 3)])
def test_a_restart_repeats_what_was_done_and_goes_on(at, step):
    play = player(pays_each_turn())
    old = play([Ask(task("a"))])[0]
    new = play([Ask(task("a"), 5, prefix=old.prefix(at, step))])
    for ep in new:
        for i in range(3):
            same = 3 if i < at else step if i == at else 0
            assert ep.segments[i].given == same
            assert ep.segments[i].actions[:same].tolist() == old.segments[i].actions[:same].tolist()
            assert len(ep.segments[i].actions) == 3
            assert [s.parent for s in ep.segments] == [-1, 0, 1]
    weight = pack(new).weight.reshape(5, 9)
    want = [0.0] * (3 * at + step) + [1.0] * (9 - 3 * at - step)
    assert (weight == np.array(want, np.float32)).all()
    if at < 2:
        assert len({tuple(pack([e]).action.tolist()) for e in new}) > 1


def test_a_restart_is_paid_once():
    play = player(pays_each_turn())
    old = play([Ask(task("a"))])[0]
    new = play([Ask(task("a"), prefix=old.prefix(2, 1))])[0]
    assert [s.reward for s in new.segments] == [1.0, 1.0, 1.0]


def test_restarts_are_no_cost_but_for_what_is_new():
    play = player(pays_each_turn())
    old = play([Ask(task("a"))])[0]
    play.begin(0)
    play([Ask(task("a"), prefix=old.prefix(1, 2))])
    assert (play.calls, play.tokens) == (2, 4)


def test_a_restart_with_another_actor_is_refused():
    play = player(single_turn())
    other = episode(segment([1, 2], role="judge"), segment([1], parent=0))
    with refusal(UserError):
        play([Ask(task("a"), prefix=other.prefix(1, 0))])


def test_a_restart_of_what_is_not_there_is_refused():

    with refusal(UserError, "0.1.2", "1"):
        player(single_turn())([Ask(task("a"), prefix=Prefix("0.1.2", 1, 0))])
