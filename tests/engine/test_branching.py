"""Several ways on from places of an episode, sampled together: `seat.branch`, and `seat.read_each` of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from refusals import refusal
from strategies import task

from guerdon import models
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.part import part
from guerdon.core.play import seats_alone
from guerdon.core.task import Ask, Sampling
from guerdon.engine.player import Player
from guerdon.envs.contrasting import side_by_side
from guerdon.models.tables import tabular


@part
class grown:
    """Two ways from the start, two on from each that is not over."""

    roles = ("policy",)

    async def play(self, ask, seats):
        seat = seats["policy"]
        first = await seat.branch([None, None], ask.shown)
        open_ends = [n for n, s in first if s.end is End.CUT]
        later = await seat.branch([n for n in open_ends for _ in range(2)], "", go_on=True)
        read = await seat.read_each("logp", [n for n, _ in (*first, *later)])
        return seats.episode(read=len(read))


@part
class grown_alone(grown):
    @seats_alone
    async def play(self, ask, seats):
        return await grown.play(self, ask, seats)


@part
class three_ways:
    roles = ("policy",)

    @seats_alone
    async def play(self, ask, seats):
        await seats["policy"].branch([None] * 3, ask.shown)
        return seats.episode()


def played(env, model=None, asks=None, **how):
    model = model or tabular("0123456789", length=9, spread=1.5)
    model.start(1, {})
    return Player({"policy": model}, {"policy": "policy"}, env, Sampling(**how), 0, 10)(
        asks or [Ask(task(n), 2) for n in "abc"]
    )


def told(episodes):
    return [[(s.parent, s.actions.tolist(), s.logp.tolist(), s.end) for s in e.segments] for e in episodes]


def test_ways_sampled_together_are_those_sampled_one_after_another():
    assert told(played(three_ways(), max_tokens=4)) == told(played(side_by_side(tries=3), asks=[
        Ask(task(n), 2, note={"say": []}) for n in "abc"
    ], max_tokens=4))  # fmt: skip


@pytest.mark.sampled(1, "model")
@pytest.mark.parametrize("model", [None, "sprig"])
def test_with_and_without_an_event_loop_an_episode_is_the_same(model):
    pair = [
        played(env, model and models.load(model), [Ask(task("chain 3 +4 *2"), 3)], max_tokens=3)
        for env in (grown(), grown_alone())
    ]
    assert told(pair[0]) == told(pair[1])
    assert [len(e.segments) for e in pair[0]] == [e.info["read"] for e in pair[0]]


def test_a_branched_episode_is_a_tree_whose_log_probs_are_those_it_was_sampled_with():
    model = tabular("0123456789", length=9, spread=1.5)
    batch = pack(played(grown(), model, max_tokens=4))
    assert batch.K == 4 * 6 and batch.G == 6 * 6  # two trunks, two leaves each, in each of six episodes
    with torch.no_grad():
        read = model.read(batch, ["logp"])["logp"]
    assert np.allclose(read.numpy(), batch.logp.numpy(), atol=1e-5)


def test_a_branched_episode_cannot_be_started_again_in_its_middle():
    (episode,) = played(three_ways(), asks=[Ask(task("a"))], max_tokens=4)
    with refusal(UserError):
        played(three_ways(), asks=[Ask(task("a"), prefix=episode.prefix(0, 2))], max_tokens=4)
