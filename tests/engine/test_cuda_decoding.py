"""Decoding in pages: the same tokens as on the CPU, whatever is shared, swapped or split. Its kernels run on a GPU where
there is one, and in Triton's interpreter where not."""

from __future__ import annotations

import os
import random
import sys

import numpy as np
import pytest
import torch
from small import small_lm

if not torch.cuda.is_available():
    if "triton" in sys.modules and os.environ.get("TRITON_INTERPRET") != "1":
        pytest.skip("triton is already imported without its interpreter", allow_module_level=True)
    os.environ["TRITON_INTERPRET"] = "1"
pytest.importorskip("triton")

from guerdon.core.episode import End, Segment
from guerdon.core.model import Request
from guerdon.core.task import Sampling
from guerdon.engine import answer, cuda, guided
from guerdon.engine.continuous import Continuous
from guerdon.engine.cuda import CudaDecoding, bucket
from guerdon.engine.pages import Pages
from guerdon.models.kernels import paged_attention as attention
from guerdon.models.kernels import rope

pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # numpy interprets, and says what a GPU does not
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
WORDS = ["the", "sum", "of", "12", "and", "345", "is", "357", "sort", "list", "first", "then", "x", "+", "4", "=", "9"]


@pytest.fixture(scope="module", params=["llama", "qk_norm"])
def model(request, tmp_path_factory):
    made = small_lm(tmp_path_factory.mktemp("lm"), heads=2, kv_heads=1, head_width=32)
    if request.param == "qk_norm":
        made = small_lm(tmp_path_factory.mktemp("lm"), heads=2, kv_heads=1, head_width=32, family="qwen3", qk_norm=True)
    return made


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    monkeypatch.setattr(cuda, "PAGE", 16)
    monkeypatch.setattr(cuda, "ROUND", 3)
    monkeypatch.setattr(cuda, "FEWEST", 4 if DEVICE == "cpu" else 16)
    monkeypatch.setattr(cuda, "SHORT", 32)
    monkeypatch.setattr(attention, "SPAN", 32)


def sampler_of(model, rows=64):
    sampler = Continuous(model, rows=rows)
    model.net.to(DEVICE)
    sampler.decoding = CudaDecoding(model.net)
    return sampler


def run(sampler, requests):
    for ticket, request in enumerate(requests):
        sampler.add(ticket, request)
    found = {}
    while sampler.busy:
        found.update(sampler.step())
    return [found[ticket] for ticket in range(len(requests))]


def greedy(count, seed, longest=5):
    rng = random.Random(seed)
    prompts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 25))) for _ in range(max(1, count // 2))]
    how = [Sampling(max_tokens=rng.randint(1, longest), temperature=0.0) for _ in range(count)]
    return [Request((), rng.choice(prompts), h, n) for n, h in enumerate(how)]


@pytest.mark.parametrize("rows", [3, 64])
def test_greedy_tokens_are_those_of_the_cpu(model, rows):
    requests = greedy(5, seed=rows)
    expected = answer(model, requests)
    for made, right in zip(run(sampler_of(model, rows), requests), expected, strict=True):
        np.testing.assert_array_equal(made.actions, right.actions)
        assert made.end == right.end


def test_a_draw_depends_on_its_seed_alone(model):
    rng = random.Random(5)
    requests = [
        Request((), " ".join(rng.choices(WORDS, k=5)), Sampling(max_tokens=4, temperature=0.8), rng.getrandbits(63))
        for _ in range(3)
    ]
    together = run(sampler_of(model), requests)
    for request, reply in zip(requests, together, strict=True):
        alone = run(sampler_of(model), [request])[0]
        np.testing.assert_array_equal(alone.actions, reply.actions)
        np.testing.assert_allclose(alone.logp, reply.logp, atol=1e-5)


def test_cut_distributions_never_draw_what_was_cut(model):
    requests = [Request((), "x + 4", Sampling(max_tokens=6, top_k=1), seed) for seed in range(3)]
    right = answer(model, [Request((), "x + 4", Sampling(max_tokens=6, temperature=0.0), 0)])[0]
    for reply in run(sampler_of(model), requests):
        np.testing.assert_array_equal(reply.actions, right.actions)
        np.testing.assert_allclose(reply.logp, 0.0, atol=1e-6)


def test_guided_tokens_are_those_of_the_cpu(model, tmp_path, monkeypatch):
    other = small_lm(tmp_path, seed=7, heads=2, kv_heads=1, head_width=32)
    guides = (("other", 0.7),)
    requests = [
        Request((), q.view, q.sampling.but(guides=guides, top_k=5 * (q.seed % 2)), q.seed)
        for q in greedy(5, seed=3, longest=4)
    ]
    expected = answer(model, requests, {"other": other})
    for each in (model, other):
        each.net.to(DEVICE)
    monkeypatch.setattr(guided, "_decoding", lambda each, parts: CudaDecoding(each.net))
    sampler = Continuous(model, [(other, 0.7)], rows=3)
    for made, right in zip(run(sampler, requests), expected, strict=True):
        np.testing.assert_array_equal(made.actions, right.actions)
        assert made.end == right.end


@pytest.mark.slow
def test_guided_draws_are_as_recorded(model, monkeypatch):
    """A model that guides itself is as if colder, by the same numbers."""
    colder = [Request((), "x + 4", Sampling(max_tokens=4, temperature=0.5), seed) for seed in range(3)]
    expected = run(sampler_of(model), colder)
    monkeypatch.setattr(guided, "_decoding", lambda each, parts: CudaDecoding(each.net))
    sampler = Continuous(model, [(model, 1.0)])
    for made, right in zip(
        run(sampler, [Request((), q.view, Sampling(max_tokens=4), q.seed) for q in colder]), expected, strict=True
    ):
        np.testing.assert_array_equal(made.actions, right.actions)
        np.testing.assert_allclose(made.logp, right.logp, atol=1e-3)


def test_a_next_turn_goes_on_in_the_pages_of_the_last(model):
    first = [Request((), f"sort the list {n} first then", Sampling(max_tokens=9, temperature=0.0), n) for n in range(3)]
    sampler = sampler_of(model)
    replies = run(sampler, first)
    later = [
        Request((Segment("policy", q.view, r.context, r.actions, r.logp),), "and 9", q.sampling, q.seed)
        for q, r in zip(first, replies, strict=True)
    ]
    expected = answer(model, later)
    for made, right in zip(run(sampler, later), expected, strict=True):
        np.testing.assert_array_equal(made.actions, right.actions)


def test_a_turn_that_goes_on_reads_its_last_token_alone(model):
    whole = [Request((), f"sort the list {n}", Sampling(max_tokens=8, temperature=0.0), n) for n in range(3)]
    expected = answer(model, whole)
    sampler = sampler_of(model)
    half = Sampling(max_tokens=4, temperature=0.0)
    begun = run(sampler, [Request((), q.view, half, q.seed) for q in whole])
    paths = [Segment("policy", q.view, r.context, r.actions, r.logp) for q, r in zip(whole, begun, strict=True)]
    more = run(sampler, [Request((path,), "", half, 0, go_on=True) for path in paths])
    for right, first, then in zip(expected, begun, more, strict=True):
        if first.end is End.CUT:
            np.testing.assert_array_equal(np.concatenate([first.actions, then.actions]), right.actions)


def filling(model, room):
    """A prompt that leaves so many tokens of the context."""
    texts = (" ".join(["x"] * words + ["sum"] * more) for words in range(model.max_positions) for more in range(3))
    return next(text for text in texts if len(model.encode(text)) == model.max_positions - room)


def test_a_row_at_the_end_of_the_context_looks_up_no_angle_beyond_it(tmp_path, monkeypatch):
    full = small_lm(tmp_path, heads=2, kv_heads=1, head_width=32, max_positions=cuda.FEWEST * cuda.PAGE)
    reached, broken = (torch.zeros((), dtype=torch.bool, device=DEVICE) for _ in range(2))
    turn = rope.rotate_and_store

    def before_nothing(qkv, cos, sin, position, *more):
        """With tables that have NaN behind their ends, as there may be nothing at all."""
        behind = torch.full_like(cos[:1], float("nan"))
        reached.logical_or_((position == len(cos)).any())
        q = turn(qkv, *(torch.cat([table, behind])[: len(table)] for table in (cos, sin)), position, *more)
        broken.logical_or_(q.isnan().any())
        return q

    monkeypatch.setattr(rope, "rotate_and_store", before_nothing)
    how = Sampling(max_tokens=8, temperature=0.0)
    requests = [Request((), filling(full, room=2), how, 0), Request((), "x + 4", how, 1)]
    expected = answer(full, requests)
    replies = run(sampler_of(full), requests)
    assert [len(reply.actions) for reply in replies] == [2, 8]  # the first stands still while the second goes on
    for made, right in zip(replies, expected, strict=True):
        np.testing.assert_array_equal(made.actions, right.actions)
    assert bool(reached) and not bool(broken)


def test_rows_that_ended_long_leave_pages_for_many_short_ones(model):
    long = [
        Request((), " ".join(["x"] * 20 + [word]), Sampling(max_tokens=40, temperature=0.0), 0) for word in WORDS[:2]
    ]
    short = [Request((), word, Sampling(max_tokens=2, temperature=0.0), 0) for word in WORDS[:6]]
    sampler = sampler_of(model)
    expected = answer(model, [*long, *short])
    for made, right in zip([*run(sampler, long), *run(sampler, short)], expected, strict=True):
        np.testing.assert_array_equal(made.actions, right.actions)


@pytest.mark.parametrize("pages", [6, 11, 40])
def test_turns_keep_to_the_memory_there_is_and_say_the_same(model, pages):
    how = Sampling(max_tokens=6, temperature=0.0)
    first = [Request((), f"sort the list {n} first then x", how, n) for n in range(6)]
    sampler = sampler_of(model)
    sampler.decoding.most_pages = pages
    asked = first
    for turn in range(3):
        expected, made = answer(model, asked), run(sampler, asked)
        for mine, right in zip(made, expected, strict=True):
            np.testing.assert_array_equal(mine.actions, right.actions)
        assert sampler.decoding.pages.count <= pages
        asked = [
            Request((*q.path, Segment("policy", q.view, r.context, r.actions, r.logp)), f"and {turn}", how, q.seed)
            for q, r in zip(asked, expected, strict=True)
        ]


def test_pages_are_shared_while_full_and_come_back():
    pages = Pages(4)
    pages.reserve(3, 8)
    pages.grow(0, 10)  # three pages, the last half full
    copied = pages.share(1, 0, 10)
    assert pages.rows[1][:2] == pages.rows[0][:2] and copied == (pages.rows[0][2], pages.rows[1][2])
    assert pages.share(2, 0, 8) is None and len(pages.free) == 4
    pages.cut(0, 0)
    assert len(pages.free) == 5  # two of its three are still others'
    pages.clear()
    assert sorted(pages.free) == list(range(8)) and not any(pages.rows)


def test_buckets(monkeypatch):
    monkeypatch.setattr(cuda, "FEWEST", 16)
    assert [bucket(n) for n in (1, 16, 17, 25, 33, 48, 49, 200, 256)] == [16, 16, 24, 32, 48, 48, 64, 256, 256]
