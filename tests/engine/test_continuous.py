"""Continuous batching: who is sampled together changes nothing, rows are refilled, turns go on from what was read."""

from __future__ import annotations

import random

import numpy as np
import pytest
import torch
from scheduling import mostly_slow
from small import small_lm
from tolerances import LM_TERMS, assert_rounded

from guerdon.core.episode import Segment
from guerdon.core.model import Request
from guerdon.core.task import Sampling
from guerdon.engine import answer, cpu
from guerdon.engine.continuous import Continuous

WORDS = ["the", "sum", "of", "12", "and", "345", "is", "357", "sort", "list", "first", "then", "x", "+", "4", "=", "9"]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return small_lm(tmp_path_factory.mktemp("lm"))


def asks(count, seed=0, **sampling):
    """Requests of every kind: short and long prompts, equal and different ones, several ways to sample."""
    rng = random.Random(seed)
    prompts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 30))) for _ in range(max(1, count // 3))]
    ways = ({}, {"temperature": 0.6}, {"top_k": 5}, {"top_p": 0.8}, {"temperature": 0.0})
    return [
        Request(
            (),
            rng.choice(prompts),
            Sampling(**{"max_tokens": rng.randint(1, 40), **rng.choice(ways), **sampling}),
            rng.getrandbits(48),
        )
        for _ in range(count)
    ]


def equal(a, b):
    np.testing.assert_array_equal(a.actions, b.actions)
    np.testing.assert_array_equal(a.logp, b.logp)  # to the last bit
    assert (a.text, a.end) == (b.text, b.end)


@pytest.fixture(scope="module")
def alone(model):
    """Two dozen requests, and what each is answered when it is asked by itself."""
    return [(request, answer(model, [request])[0]) for request in asks(24)]


@pytest.mark.parametrize("rows", mostly_slow([1, 7, 40], 7))
def test_a_seeded_sample_does_not_depend_on_the_batch(model, alone, rows):
    requests = [request for request, _ in alone]
    sampler = Continuous(model, rows=rows)
    found, order = {}, list(enumerate(requests))
    random.Random(rows).shuffle(order)
    for ticket, request in order[:12]:
        sampler.add(ticket, request)
    for _ in range(5):
        found.update(sampler.step())
    for ticket, request in order[12:]:  # half of them join later
        sampler.add(ticket, request)
    while sampler.busy:
        found.update(sampler.step())
    for ticket, (_, reply) in enumerate(alone):
        equal(found[ticket], reply)


def test_a_row_that_ends_makes_room_at_once(model):
    sampler = Continuous(model, rows=4)
    for ticket, tokens in enumerate([2, 30, 30, 30, 5, 5]):
        sampler.add(ticket, Request((), f"x {ticket}", Sampling(max_tokens=tokens), ticket))
    sampler.ends = np.zeros(0, np.int64)
    live = []
    while sampler.busy:
        sampler.step()
        live.append(len(sampler.live))
    assert live[:3] == [4, 3, 4]  # the first ended after two tokens, and the fifth came in
    assert max(live) == 4 and len(live) < 30 + 8


def turns(model, count, seed):
    """Conversations of three turns, as requests whose path grows."""
    rng = random.Random(seed)
    path, made = (), []
    for _ in range(3):
        view = " ".join(rng.choices(WORDS, k=rng.randint(2, 9)))
        made.append((path, view, Sampling(max_tokens=rng.randint(2, 9)), rng.getrandbits(40)))
        reply = answer(model, [Request(*made[-1])])[0]
        path = (*path, Segment("policy", view, reply.context, reply.actions, reply.logp))
    return [Request(*turn) for turn in made]


@pytest.mark.sampled(1, "rows")
@pytest.mark.parametrize("rows", mostly_slow([2, 6, 32], 2, 32))
def test_a_next_turn_reads_only_what_is_new(model, monkeypatch, rows):
    conversations = [turns(model, 3, seed) for seed in range(6)]
    alone = [[answer(model, [request])[0] for request in talk] for talk in conversations]
    read = []
    plain = cpu.CpuDecoding.read
    monkeypatch.setattr(
        cpu.CpuDecoding, "read", lambda self, some: read.extend(len(p.tokens) for p in some) or plain(self, some)
    )
    sampler = Continuous(model, rows=rows)
    for number, talk in enumerate(conversations):
        sampler.add(number, talk[0])
    answered = dict.fromkeys(range(6), 0)
    while sampler.busy:
        for number, reply in sampler.step():
            expected = alone[number][answered[number]]
            np.testing.assert_array_equal(reply.actions, expected.actions)
            assert_rounded(torch.as_tensor(reply.logp), torch.as_tensor(expected.logp), LM_TERMS)
            answered[number] += 1
            if answered[number] < 3:
                sampler.add(number, conversations[number][answered[number]])
    assert set(answered.values()) == {3}
    whole = sum(len(model.token_request(request).prompt) for talk in conversations for request in talk)
    if rows == 32:  # room to remember every row
        new = sum(len(model.encode(request.view, request.path)) for talk in conversations for request in talk)
        assert sum(read) == new + 12  # and the last token of the turn before, which had not been read
    assert sum(read) <= whole


def test_branches_of_one_past_share_it(model):
    first = Request((), "sort the list", Sampling(max_tokens=6), 1)
    reply = answer(model, [first])[0]
    path = (Segment("policy", first.view, reply.context, reply.actions, reply.logp),)
    later = [Request(path, "and then", Sampling(max_tokens=6), seed) for seed in range(5)]
    alone = [answer(model, [request])[0] for request in later]
    sampler = Continuous(model)
    sampler.add(0, first)
    while sampler.busy:
        sampler.step()
    found = {}
    for ticket, request in enumerate(later):
        sampler.add(ticket, request)
    while sampler.busy:
        found.update(sampler.step())
    for ticket, expected in enumerate(alone):
        np.testing.assert_array_equal(found[ticket].actions, expected.actions)


@pytest.mark.slow
def test_little_memory_means_fewer_rows_at_a_time(model, monkeypatch):
    requests = asks(12, seed=3)
    expected = answer(model, requests)
    monkeypatch.setattr(cpu, "CACHE_BYTES", 20000)
    sampler = Continuous(model)
    for ticket, request in enumerate(requests):
        sampler.add(ticket, request)
    found, most = {}, 0
    while sampler.busy:
        found.update(sampler.step())
        most = max(most, len(sampler.live))
    assert most < 12
    for ticket, reply in enumerate(expected):
        equal(found[ticket], reply)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.slow
def test_the_shipped_model_samples_the_same_in_any_company(threads, dtype):
    from guerdon import models

    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        sprig = models.load("sprig", dtype=dtype)
        sprig.start(0, {})
        requests = [Request((), f"What is {n} + {n * 7}?", Sampling(max_tokens=16), n) for n in range(6)]
        together = answer(sprig, requests * 2)
        for place, request in enumerate(requests):
            equal(answer(sprig, [request])[0], together[place])
    finally:
        torch.set_num_threads(before)
