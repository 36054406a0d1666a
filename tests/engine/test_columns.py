"""Episodes of one turn are played as columns, and are to the last bit what the environment's own code makes of them."""

from __future__ import annotations

import asyncio
import copy
import dataclasses
import functools

import pyarrow.parquet as pq
import pytest
import torch
from small import small_lm, table

import guerdon as gd
from guerdon import exact, length
from guerdon.core.episode import End, Episode, Segment
from guerdon.core.errors import CtrlC, UserError
from guerdon.core.one_turn import OneTurn, failed_in, steps_in
from guerdon.core.pack import pack, unpack
from guerdon.core.part import part
from guerdon.core.play import seats_alone
from guerdon.core.schedule import linear
from guerdon.core.task import Ask, Conversation, Sampling, Task
from guerdon.engine.batching import EngineFault
from guerdon.engine.continuous import Continuous
from guerdon.engine.player import Player
from guerdon.envs.simple import single_turn
from guerdon.models.frozen_copy import snapshot
from guerdon.recipes.house.grpo import grpo
from guerdon.tasks import load
from guerdon.training.loop import start

TALK = Conversation([{"role": "system", "content": "be brief"}, {"role": "user", "content": "x + 4 = 9"}])
ASKS = [
    Ask(Task("a", "x + 4 = 9"), 3),
    Ask(Task("b", "sort the list [3, 1, 2]"), 1, prompt="first 1 then 2, so"),
    Ask(Task("a", "x + 4 = 9"), 2, note={"hint": 1.5}),
    Ask(Task("c", "12 and 345"), 2, sampling=Sampling(temperature=0.5, max_tokens=3)),
    Ask(Task("d", "x + 4 = 9", view=TALK), 2),
    Ask(Task("e", "x"), 1, view=[{"role": "user", "content": "the sum of 12 and 345"}]),
    Ask(Task("f", ""), 2),
]
KNOBS = {
    "plain": Sampling(max_tokens=9),
    "long": Sampling(max_tokens=250),
    "greedy": Sampling(temperature=0.0, max_tokens=9),
    "cut": Sampling(max_tokens=1),
    "hot": Sampling(temperature=2.0, max_tokens=12),
    "top_k": Sampling(max_tokens=9, top_k=3),
    "top_p": Sampling(max_tokens=9, top_p=0.6, min_p=0.01),
    "stops": Sampling(max_tokens=24, stop=("1", "e", "")),
    "scheduled": Sampling(temperature=linear(1.0, 0.5), max_tokens=9),
}


@part
class in_its_own_words(single_turn):
    """The same environment, whose `play` does not say that it is one turn."""

    @seats_alone
    async def play(self, ask, seats):
        return await super().play(ask, seats)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    made = small_lm(tmp_path_factory.mktemp("lm"))
    made.start(1, {})
    return made


def player(model, env, sampling=KNOBS["plain"], ended=(), **more):
    play = Player({"policy": model, **more}, {"policy": "policy"}, env, sampling, 7, 10, ended, noise=11)
    play.begin(4)
    return play


def both(model, asks=ASKS, sampling=KNOBS["plain"], **more):
    """Who played as columns, what, and the same for the environment's own code."""
    found = []
    for env in (single_turn(), in_its_own_words()):
        play = player(model, env, sampling, **more)
        found.append((play, play.played(asks)))
    return found


@pytest.fixture(scope="module")
def played(model):
    """What `both` plays with some knobs, which is played once."""
    return functools.cache(lambda name: both(model, sampling=KNOBS[name]))


@pytest.mark.sampled(4, "name")
@pytest.mark.parametrize("name", KNOBS)
def test_as_columns_and_in_its_own_words_the_same_is_played(played, name):
    (first, columns), (second, listed) = played(name)
    assert isinstance(columns, OneTurn) and isinstance(listed, list)
    assert len(columns) == len(listed) == 13
    assert pack(columns).same(pack(listed))
    assert all(a.same(b) for a, b in zip(columns, listed, strict=True))
    assert first.counts() == second.counts()
    again = first.played(ASKS[:2]), second.played(ASKS[:2])  # asks are numbered on
    assert [e.key for e in again[0]] == [e.key for e in again[1]] == ["4.7.0", "4.7.1", "4.7.2", "4.8.0"]
    assert pack(again[0]).same(pack(again[1]))


def test_the_knobs_end_answers_in_every_way(played):
    """Or the test above would compare little."""
    ends = {end for name in KNOBS for end in played(name)[0][1].end}
    assert ends == {End.DONE, End.CUT, End.STOPPED}


def test_nobody_looks_at_an_episode_until_somebody_does(model):
    (_, columns), _ = both(model)
    batch = pack(columns)
    assert failed_in(batch.episodes) == [] and steps_in(batch.episodes) == [4] * 13
    assert batch.episodes[0:] is columns and len(batch.episodes) == 13
    assert "episodes" not in vars(columns)
    looked = batch.episodes[-1]
    assert looked is columns.episodes[12] and looked.key == "4.6.1"
    assert [e.key for e in batch.episodes[11:]] == ["4.6.0", "4.6.1"] and batch.episodes[13:] == ()
    with pytest.raises(IndexError):
        batch.episodes[13]


def test_what_is_made_has_every_field_and_arrays_of_its_own(model):
    (_, columns), (_, listed) = both(model)
    made = columns[0]
    assert set(vars(made)) == {f.name for f in dataclasses.fields(Episode)}
    assert set(vars(made.segments[0])) == {f.name for f in dataclasses.fields(Segment)}
    batch, kept = pack(columns), pack(listed)
    batch.action.zero_()
    batch.logp.zero_()
    assert made.same(listed[0]) and pack(columns).same(kept)
    made.segments[0].actions[:] = 0
    assert columns[1].same(listed[1]) and torch.equal(pack(columns).action, kept.action)


def test_columns_are_copied_and_unpacked_as_lists_are(model):
    (_, columns), (_, listed) = both(model)
    batch, other = pack(columns), pack(listed)
    assert copy.deepcopy(batch).same(other)
    assert all(a.same(b) for a, b in zip(unpack(batch), unpack(other), strict=True))
    mask = torch.arange(batch.K) % 3 == 0
    assert batch.take(mask).same(other.take(mask))


def test_models_that_stand_in_for_another_are_played_as_columns(model):
    later = copy.deepcopy(model)
    later.version = 5
    for stand_in in (snapshot("policy", every=1),):
        stand_in.start(0, {"policy": later})
        asks = [ask.but(seats={"policy": "other"}) for ask in ASKS]
        (_, columns), (_, listed) = both(model, asks, other=stand_in)
        assert isinstance(columns, OneTurn)
        assert pack(columns).same(pack(listed))


def test_what_does_not_fit_is_played_by_the_environments_own_code(model):
    tables = table(1, 1)
    prefix = player(model, single_turn())(ASKS[:1])[0].prefix(0, 1)
    restarts = [ASKS[0], ASKS[0].but(prefix=prefix)]
    mixed = [ASKS[0], ASKS[1].but(seats={"policy": "other"})]
    played = [both(model, restarts), both(model, mixed, other=tables), both(tables, ASKS[:1])]
    for (_, first), (_, second) in played:
        assert isinstance(first, list)
        assert all(a.same(b) for a, b in zip(first, second, strict=True))


@pytest.mark.sampled(4, "name")
@pytest.mark.parametrize("name", KNOBS)
def test_who_listens_is_told_of_each_try_once_and_of_the_very_episode(model, name):
    told = []

    async def listener(episodes):
        await asyncio.sleep(0)
        told.append(list(episodes))

    (first, columns), (second, listed) = both(model, sampling=KNOBS[name], ended=[listener])
    assert isinstance(columns, OneTurn) and isinstance(listed, list)
    assert pack(columns).same(pack(listed)) and first.counts() == second.counts()
    assert all(a.same(b) for a, b in zip(columns, listed, strict=True))
    heard = [episode for some in told for episode in some]
    mine, theirs = heard[:13], heard[13:]
    assert {id(episode) for episode in mine} == {id(episode) for episode in columns}
    assert sorted(episode.key for episode in mine) == sorted(episode.key for episode in theirs)


def test_tries_that_end_together_are_told_together_and_before_the_last_has_ended(model):
    told, rounds = [], []
    brief, long = Sampling(max_tokens=1), Sampling(temperature=0.0, max_tokens=40)

    async def listener(episodes):
        told.append((len(rounds), [episode.key for episode in episodes]))

    go_on = Continuous.go_on
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Continuous, "go_on", lambda self: rounds.append(1) or go_on(self))
        asks = [ASKS[0].but(sampling=brief), ASKS[1].but(sampling=long), ASKS[4].but(sampling=brief)]
        player(model, single_turn(), ended=[listener]).played(asks)
    assert told[0][1] == ["4.0.0", "4.0.1", "4.0.2", "4.2.0", "4.2.1"] and told[-1][1] == ["4.1.0"]
    assert told[0][0] < told[-1][0]


@pytest.mark.parametrize("env", [single_turn(), in_its_own_words()], ids=["columns", "words"])
def test_what_is_told_gets_on_its_way_before_the_next_tokens(model, env):
    """A question comes to a box by a dozen turns of the event loop: it must not wait for a dozen rounds of sampling."""
    rounds, asked = [], []

    async def listener(episodes):
        for _ in range(12):
            await asyncio.sleep(0)
        asked.append(len(rounds))

    go_on = Continuous.go_on
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Continuous, "go_on", lambda self: rounds.append(1) or go_on(self))
        brief, long = Sampling(max_tokens=1), Sampling(temperature=0.0, max_tokens=40)
        asks = [ASKS[0].but(sampling=brief), ASKS[1].but(sampling=long)]
        player(model, env, ended=[listener]).played(asks)
    assert asked[0] <= 3 < len(rounds)


def test_a_listener_that_breaks_stops_the_playing_and_one_inside_of_an_event_loop_is_told(model):
    async def breaks(episodes):
        raise ZeroDivisionError("it cannot hear")

    with pytest.raises(ZeroDivisionError, match="it cannot hear"):
        player(model, single_turn(), ended=[breaks]).played(ASKS)
    told = []

    async def listener(episodes):
        told.extend(episodes)

    async def in_a_notebook():
        return player(model, single_turn(), ended=[listener]).played(ASKS)

    assert len(asyncio.run(in_a_notebook())) == len(told) == 13


def test_a_view_that_breaks_the_model_fails_its_episodes_alone(model):
    class Unspeakable:
        def __str__(self):
            raise ZeroDivisionError("it cannot be said")

    asks = [ASKS[0], Ask(Task("x", "x"), 2, view=Unspeakable())]
    (_, first), (_, second) = both(model, asks)
    assert isinstance(first, list)
    assert [e.failed for e in first] == [e.failed for e in second] == [False] * 3 + [True] * 2


def test_a_prompt_that_is_too_long_is_refused_in_the_same_words(model):
    long = Ask(Task("l", "12 and 345 " * 5000), 2)
    words = []
    for env in (single_turn(), in_its_own_words()):
        with pytest.raises(UserError) as caught:
            player(model, env).played([*ASKS[:1], long])
        words.append(str(caught.value))
    assert words[0] == words[1]


@pytest.mark.parametrize("error", [RuntimeError("out of memory"), UserError("it cannot"), CtrlC()], ids=type)
def test_what_stops_a_run_stops_it_alike(model, monkeypatch, error):
    def broken(self, *given):
        raise error

    monkeypatch.setattr(Continuous, "_admit", broken)
    stopped = []
    for env in (single_turn(), in_its_own_words()):
        with pytest.raises((EngineFault, UserError, CtrlC)) as caught:
            player(model, env).played(ASKS)
        stopped.append((type(caught.value), str(caught.value), type(caught.value.__cause__)))
    assert stopped[0] == stopped[1]


@pytest.mark.slow
def test_more_rows_than_a_machine_samples_at_a_time(model, monkeypatch):
    monkeypatch.setattr("guerdon.engine.cpu.ROWS", 4)
    (_, columns), (_, listed) = both(model, ASKS * 3, KNOBS["stops"])
    assert pack(columns).same(pack(listed))


@pytest.mark.parametrize("name", ["chain:2", "countdown:1-3", "clock:1"])
def test_tasks_of_the_package_are_played_alike(model, name):
    source = load(name)
    asks = [Ask(source.get("train", index), 2) for index in range(4)]
    (_, columns), (_, listed) = both(model, asks)
    assert isinstance(columns, OneTurn) and pack(columns).same(pack(listed))


@gd.reward
def digits(completion):
    return sum(map(str.isdigit, completion)) / 9


@pytest.mark.sampled(1, "reward")
@pytest.mark.parametrize(
    "reward", [None, exact() - length(9).weight(0.1), digits], ids=["checked", "a formula", "a function in a worker"]
)
def test_a_training_comes_to_the_same(model, tmp_path, reward):
    """Weights, events, exams and rollout files, over several epochs of learning."""
    parts = {"task": load("chain:1-2"), "model": model, "reward": reward}
    knobs = {"prompts": 3, "tries": 4, "steps": 3, "max_tokens": 6, "learn.epochs": 2, "learn.updates": 2, "kl": 0.1}
    runs = []
    for name, env in (("columns", single_turn()), ("words", in_its_own_words())):
        made = grpo.build(parts, knobs).but(env=env)
        options = gd.Options(eval_tasks=3, eval_tries=2, eval_every=2, truth="verified")
        runs.append(gd.train(made, seed=3, out=tmp_path / name, options=options))
    first, second = runs
    assert first.weights == second.weights
    assert first.metrics.drop_columns(["seconds"]) == second.metrics.drop_columns(["seconds"])
    assert first.evaluations == second.evaluations and len(first.evaluations) == 3
    stored = [sorted((run.path / "rollouts").iterdir()) for run in runs]
    assert [p.name for p in stored[0]] == [p.name for p in stored[1]] and len(stored[0]) == 3
    for ours, theirs in zip(*stored, strict=True):  # metadata has the id of the run
        assert pq.read_table(ours).replace_schema_metadata() == pq.read_table(theirs).replace_schema_metadata()


def test_only_rewards_that_wait_are_told_of_episodes_as_they_end(model):
    @gd.reward
    def apart(completion):
        return 1.0

    told = []
    for reward in (exact(), apart, exact() + apart):
        recipe = grpo.build({"task": load("chain:1"), "model": model, "reward": reward}, {})
        told.append(len(start(recipe, 0, 1)[1].ended))
    assert told == [0, 1, 1]
