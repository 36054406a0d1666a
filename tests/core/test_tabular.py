"""The table: acting and reading agree, replies depend on their own request alone, situations are told apart."""

from __future__ import annotations

import itertools
import random
from collections import Counter

import numpy as np
import pytest
import torch
from refusals import refusal
from scipy.stats import chisquare
from strategies import episode, segment

from guerdon.core.episode import End, Segment
from guerdon.core.errors import UserError
from guerdon.core.model import Request, weights_hash
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.models import load, save
from guerdon.models.frozen_copy import snapshot
from guerdon.models.tables import tabular


def model(**knobs):
    made = tabular(**{"vocab": "abcd", "spread": 1.5, **knobs})
    made.start(3, {})
    return made


def acted(m, request):
    with torch.no_grad():
        reply = m.act([request])[0]
    return Segment(
        "policy",
        request.view,
        reply.context,
        reply.actions,
        reply.logp,
        sampling=request.sampling,
        given=len(request.given),
    )


def requests(m):
    """Requests of many kinds: with memory, with given actions, hot and cold."""
    first = [acted(m, Request((), f"view {n}", Sampling(), n)) for n in range(4)]
    found = []
    for n in range(24):
        path = (first[n % 4],) if n % 3 == 0 else ()
        how = Sampling(temperature=[0.5, 1.0, 2.0][n % 3], max_tokens=1 + n % 7)
        given = np.array([1, 2][: n % 3], np.int64)
        found.append(Request(path, f"view {n % 5}", how, 100 + n, given))
    return found


def same_reply(a, b):
    return (
        np.array_equal(a.actions, b.actions)
        and a.logp.tobytes() == b.logp.tobytes()
        and (a.text, a.end) == (b.text, b.end)
        and np.array_equal(a.context, b.context)
    )


def test_replies_do_not_depend_on_who_else_asked_or_in_which_order():
    m = model()
    asked = requests(m)
    with torch.no_grad():
        alone = [m.act([r])[0] for r in asked]
        together = m.act(asked)
        order = random.Random(1).sample(range(len(asked)), len(asked))
        shuffled = m.act([asked[i] for i in order])
        halves = [*m.act(asked[:7]), *m.act(asked[7:])]
    for i in range(len(asked)):
        assert same_reply(alone[i], together[i])
        assert same_reply(alone[i], shuffled[order.index(i)])
        assert same_reply(alone[i], halves[i])


def test_reading_gives_the_log_probs_it_acted_with():
    m = model()
    eps = []
    for n, r in enumerate(requests(m)):
        path = [s.but(parent=i - 1) for i, s in enumerate(r.path)]
        eps.append(episode(*path, acted(m, r).but(parent=len(path) - 1), attempt=n))
    batch = pack(eps)
    with torch.no_grad():
        read = m.read(batch, ["logp", "entropy"])
    sampled = ~torch.isnan(batch.logp)
    assert int(sampled.sum()) > 60
    assert torch.allclose(read["logp"][sampled], batch.logp[sampled], atol=1e-6)
    assert (read["entropy"] >= 0).all()
    assert (read["entropy"] <= np.log(5) + 1e-6).all()


def test_reading_a_part_of_a_batch_reads_the_same():
    m = model()
    eps = [episode(segment([0, 1]), segment([2], parent=0), segment([3, 1], parent=0), segment([1], "judge", parent=1))]
    batch = pack(eps).put("n", "step", torch.arange(6.0))
    whole = m.read(batch, ["logp"])["logp"].detach()
    for k in range(batch.K):
        part = batch.take(torch.arange(batch.K) == k)
        assert torch.equal(m.read(part, ["logp"])["logp"].detach(), whole[part["n"].long()])


def test_memory_is_of_the_own_role_alone():
    m = model()
    below = pack([episode(segment([0, 1], "policy"), segment([2], "judge", parent=0))])
    alone = pack([episode(segment([2], "judge"))])
    fresh = pack([episode(segment([0, 1], "policy"), segment([2], "policy", parent=0))])
    read = [m.read(b, ["logp"])["logp"].detach()[-1] for b in (below, alone, fresh)]
    assert read[0] == read[1]
    assert read[0] != read[2]


@pytest.mark.slow
def test_draws_follow_the_table():
    m = model(vocab="abc", length=1)
    with torch.no_grad():
        replies = m.act([Request((), "x", Sampling(), seed) for seed in range(6000)])
        probs = m.read(pack([episode(segment([a], context=replies[0].context)) for a in range(3)]), ["logp"])[
            "logp"
        ].exp()
    counts = Counter(int(r.actions[0]) for r in replies)
    share = probs.double() / probs.double().sum()
    assert chisquare([counts[a] for a in range(3)], share.numpy() * 6000).pvalue > 0.001


def test_turns_end_by_choice_by_length_or_are_cut():
    with torch.no_grad():
        fixed = model(length=3).act([Request((), "x", Sampling(), 1)])[0]
        short = model(length=3).act([Request((), "x", Sampling(max_tokens=2), 1)])[0]
        free = model().act([Request((), "x", Sampling(max_tokens=200), s) for s in range(8)])
        cut = model().act([Request((), "x", Sampling(max_tokens=1), s) for s in range(8)])
    assert (len(fixed.actions), fixed.end) == (3, End.DONE)
    assert (len(short.actions), short.end) == (2, End.CUT)
    assert all(r.end is End.DONE and r.actions[-1] == 4 and 4 not in r.actions[:-1] for r in free)
    assert {r.end for r in cut} <= {End.DONE, End.CUT}
    assert all((r.actions[-1] == 4) == (r.end is End.DONE) for r in cut)


def test_given_actions_come_first_and_sampling_goes_on():
    with torch.no_grad():
        reply = model(length=4).act([Request((), "x", Sampling(), 1, np.array([2, 0]))])[0]
    assert reply.actions[:2].tolist() == [2, 0]
    assert np.isnan(reply.logp).tolist() == [True, True, False, False]


def test_what_is_given_is_not_taken_off_the_limit():
    with torch.no_grad():
        fixed = model(length=5).act([Request((), "x", Sampling(max_tokens=2), 1, np.array([2, 0]))])[0]
        whole = model(length=5).act([Request((), "x", Sampling(max_tokens=3), 1, np.array([2, 0]))])[0]
        free = model().act([Request((), "x", Sampling(max_tokens=2), s, np.array([2, 0, 1])) for s in range(8)])
    assert (len(fixed.actions), fixed.end) == (4, End.CUT)
    assert (len(whole.actions), whole.end) == (5, End.DONE)
    assert {len(r.actions) for r in free if r.end is End.CUT} == {5}


def test_a_stop_string_ends_a_turn_where_it_was_sampled():
    m = model()
    with torch.no_grad():
        plain = m.act([Request((), "x", Sampling(max_tokens=30), s, np.array([1])) for s in range(30)])
        stopped = m.act([Request((), "x", Sampling(max_tokens=30, stop=("b",)), s, np.array([1])) for s in range(30)])
    assert {r.end for r in stopped} == {End.DONE, End.STOPPED}
    for a, b in zip(plain, stopped, strict=True):
        if "b" in a.text[1:]:
            assert (b.end, b.text) == (End.STOPPED, a.text[: a.text.index("b", 1)])
            assert b.actions.tolist() == a.actions[: len(b.actions)].tolist() and b.actions[-1] == 1
        else:
            assert same_reply(a, b)


def test_a_turn_that_was_given_to_its_end_is_not_gone_on_with():
    with torch.no_grad():
        reply = model().act([Request((), "x", Sampling(), 1, np.array([2, 4]))])[0]
    assert (reply.actions.tolist(), reply.end, reply.text) == ([2, 4], End.DONE, "c")


def test_greedy_takes_the_best():
    m = model()
    with torch.no_grad():
        reply = m.act([Request((), "x", Sampling(temperature=0.0), s) for s in range(5)])
    assert len({r.text for r in reply}) == 1
    assert (reply[0].logp == 0).all()


def test_what_was_shown_and_what_was_done_are_told_apart():
    """The row after "shown nothing new" is not the row after doing action 0."""
    m = model()
    meetings = 0
    for view, a in itertools.product("vwxyz", range(4)):
        context = [ord(view)]
        longer = pack([episode(segment([a, 0, 1], context=context))])
        again = pack([episode(segment([a], context=context), segment([1], parent=0, context=[]))])
        meetings += int(m._rows(longer)[2] == m._rows(again)[1])
    assert meetings <= 1


def test_situations_meet_about_as_often_as_the_table_is_large():
    m = model(rows=4096)
    eps = [
        episode(segment(list(a), context=[n]), attempt=i)
        for i, (n, a) in enumerate(itertools.product(range(8), itertools.product(range(4), repeat=3)))
    ]
    batch = pack(eps)
    places = {}
    for (n, done), row in zip(
        ((int(ep.segments[0].context[0]), tuple(ep.segments[0].actions[:t])) for ep in eps for t in range(3)),
        m._rows(batch).tolist(),
        strict=True,
    ):
        assert places.setdefault((n, done), row) == row
    size = len(places)
    met = sum(c * (c - 1) // 2 for c in Counter(places.values()).values())
    expected = size * (size - 1) / 2 / 4096
    assert met < expected + 6 * max(1.0, expected) ** 0.5


def test_reciting_says_exactly_that():
    m = model()
    reply = m.teacher_force("x", "cab")
    assert (reply.text, reply.actions.tolist(), reply.end) == ("cab", [2, 0, 1, 4], End.DONE)
    assert np.isnan(reply.logp).all()
    with refusal(UserError):
        m.teacher_force("x", "caz")
    assert model(length=2).teacher_force("x", "ab").end is End.DONE
    assert model(length=3).teacher_force("x", "ab").end is End.CUT


def test_weights_come_from_the_seed():
    a, b, c = (tabular(spread=1.0) for _ in range(3))
    for m, seed in ((a, 1), (b, 1), (c, 2)):
        m.start(seed, {})
    assert weights_hash(a.weights) == weights_hash(b.weights) != weights_hash(c.weights)
    assert tabular().identity() is None
    assert a.identity() == weights_hash(a.weights)


# --- models in folders, and copies --------------------------------------------------------------------------------


def test_a_saved_model_comes_back(tmp_path):
    m = model(rows=32)
    save(m, tmp_path / "m")
    again = load(str(tmp_path / "m"))
    assert weights_hash(again.weights) == weights_hash(m.weights)
    assert (again.vocab, again.rows) == ("abcd", 32)


def test_what_is_no_model_is_refused(tmp_path):
    with pytest.raises(UserError, match="unknown model 'tabula': did you mean 'tabular'"):
        load("tabula")
    with pytest.raises(UserError, match="holds no model"):
        load(str(tmp_path))
    save(model(rows=32), tmp_path)
    weights = tmp_path / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-10])
    with pytest.raises(UserError, match="does not hold a whole model"):
        load(str(tmp_path))


class At:
    def __init__(self, step):
        self.step = step


def test_a_snapshot_stays_until_it_is_time():
    models = {"policy": model(rows=32), "old": snapshot("policy", every=2), "first": snapshot("policy")}
    for name in ("old", "first"):
        models[name].start(0, models)
    batch = pack([episode(segment([0, 1]))])

    def read(name):
        return models[name].read(batch, ["logp"])["logp"].detach()

    start = read("policy")
    with torch.no_grad():
        models["policy"].weights.logits += torch.randn(32, 5)
    assert torch.equal(read("old"), start)
    for step in range(2):
        models["old"].observe(batch, At(step))
        models["first"].observe(batch, At(step))
        assert torch.equal(read("old"), start) == (step == 0)
    assert torch.equal(read("old"), read("policy"))
    assert torch.equal(read("first"), start)
    assert not models["old"].weights.logits.requires_grad
