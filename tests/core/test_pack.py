"""Packing: episodes come back to the last bit, rows say where they came from, and batches are put together."""

from __future__ import annotations

import dataclasses
from collections import Counter

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from strategies import (
    episode,
    episode_lists,
    marked,
    masks,
    naive_groups,
    naive_segments,
    naive_steps,
    naive_tracks,
    pairs_of,
    segment,
)

from guerdon.core.batch import ENDS, Pairs
from guerdon.core.column import Column, Reason
from guerdon.core.episode import End
from guerdon.core.errors import UserError
from guerdon.core.pack import attach, cat, pack, unpack


def all_same(a, b):
    return len(a) == len(b) and all(x.same(y) for x, y in zip(a, b, strict=True))


@given(episode_lists())
def test_unpacking_what_was_packed_gives_the_episodes_to_the_last_bit(eps):
    assert all_same(unpack(pack(eps)), eps)


@given(episode_lists())
def test_every_row_says_where_it_came_from(eps):
    batch = pack(eps)
    segments = naive_segments(eps)
    at = {key: g for g, key in enumerate(segments)}
    assert (len(naive_steps(eps)), len(segments), len(naive_tracks(eps))) == (batch.S, batch.G, batch.K)
    assert list(zip(batch.episode.tolist(), batch.place.tolist(), strict=True)) == segments
    assert batch.seg.tolist() == [at[e, i] for e, i, _ in naive_steps(eps)]
    for g, (e, i) in enumerate(segments):
        s = eps[e].segments[i]
        assert batch.roles[batch.role[g]] == s.role
        assert int(batch.parent[g]) == (at[e, s.parent] if s.parent >= 0 else -1)
        assert int(batch.version[g]) == s.version
        assert float(batch.temperature[g]) == s.sampling.temperature
        assert ENDS[batch.end[g]] == (End.FAILED if eps[e].failed else s.end)
    assert batch.ask_E.tolist() == naive_groups(eps, "ask")
    assert batch.task_E.tolist() == naive_groups(eps, "task")
    assert batch.ask.tolist() == [naive_groups(eps, "ask")[e] for e, _ in segments]


@given(episode_lists())
def test_tracks_are_the_leaves_of_same_role_trees(eps):
    batch = pack(eps)
    at = {key: g for g, key in enumerate(naive_segments(eps))}
    tracks = naive_tracks(eps)
    assert batch.leaf.tolist() == [at[e, path[-1]] for e, path in tracks]
    members = [(k, at[e, i]) for k, (e, path) in enumerate(tracks) for i in path]
    assert list(zip(batch.path_track.tolist(), batch.path_seg.tolist(), strict=True)) == members
    failed = [eps[e].failed or any(eps[e].segments[i].end is End.FAILED for i in path) for e, path in tracks]
    assert batch.failed_K.tolist() == failed


@given(episode_lists())
def test_weight_is_the_number_of_tracks_through_a_step_and_zero_where_given(eps):
    batch = pack(eps)
    through = Counter((e, i) for e, path in naive_tracks(eps) for i in path)
    want = [0.0 if t < eps[e].segments[i].given else float(through[e, i]) for e, i, t in naive_steps(eps)]
    assert batch.weight.tolist() == want
    assert batch.count.steps == sum(want)
    assert batch.count.tracks == len(naive_tracks(eps))


def test_a_tree_by_hand():
    #  0 ─┬─ 1 ── 3        policy
    #     ├─ 2             policy
    #     └─ 4             judge, below 0
    eps = [
        episode(
            segment([7, 7], given=1),
            segment([1], parent=0),
            segment([2], parent=0),
            segment([3], parent=1),
            segment([9, 9], role="judge", parent=0),
        )
    ]
    batch = pack(eps)
    assert batch.roles == ("judge", "policy")
    assert batch.action.tolist() == [7, 7, 1, 2, 3, 9, 9]
    assert batch.weight.tolist() == [0, 2, 1, 1, 1, 1, 1]
    assert batch.leaf.tolist() == [2, 3, 4]
    assert batch.path_seg.tolist() == [0, 2, 0, 1, 3, 4]
    assert batch.shared.tolist() == [2, 1, 1, 1, 1]
    assert batch.count == dataclasses.replace(batch.count, steps=7.0, tracks=3, pairs=0)
    assert batch.tracks_of(["judge"]).tolist() == [False, False, True]


def test_a_memory_broken_by_another_role_is_a_new_track():
    eps = [episode(segment([1]), segment([2], role="judge", parent=0), segment([3], parent=1))]
    assert pack(eps).path_seg.tolist() == [0, 1, 2]


def test_nothing_packs_to_nothing():
    batch = pack([])
    assert (batch.S, batch.G, batch.K, len(batch.episodes)) == (0, 0, 0, 0)
    assert unpack(batch) == []
    assert batch.same(pack([]))


def test_action_types_are_settled_when_a_segment_is_made():
    small = segment(np.array([1, 2], np.int32))
    wide = segment(np.array([[0.1, 0.2]], np.float64))
    assert small.actions.dtype == np.int64
    assert wide.actions.dtype == np.float32
    assert all_same(unpack(pack([episode(small)])), [episode(small)])
    assert all_same(unpack(pack([episode(wide)])), [episode(wide)])


def test_an_empty_segment_goes_with_any_kind_of_action():
    eps = [episode(segment(np.ones((2, 3), np.float32)), segment([], parent=0))]
    assert pack(eps).action.shape == (2, 3)
    assert all_same(unpack(pack(eps)), eps)


def test_tokens_and_continuous_actions_do_not_mix():
    with refusal(UserError):
        pack([episode(segment([1]), segment(np.ones((1, 2)), parent=0))])
    with refusal(UserError):
        pack([episode(segment(np.ones((1, 3))), segment(np.ones((1, 2)), parent=0))])


# --- cat ----------------------------------------------------------------------------------------------------------


@given(episode_lists(), st.data())
def test_a_batch_cut_in_two_and_put_together_keeps_every_row_and_column(eps, data):
    batch = data.draw(marked(eps, 0))
    mask = data.draw(masks(batch.K))
    a, b = batch.take(mask).without("step"), batch.take(~mask)
    whole = cat([a, b])
    assert torch.equal(whole.muted, torch.cat([a.muted, b.muted]))
    assert whole.cols["segment"].take(torch.arange(a.G)).same(a.cols["segment"])
    assert whole.cols["segment"].take(torch.arange(a.G, whole.G)).same(b.cols["segment"])
    assert torch.equal(whole.weight, torch.cat([a.weight, b.weight]))
    assert torch.equal(whole.action, torch.cat([a.action, b.action]))
    assert whole.count.tracks == batch.K
    assert whole.count.steps == a.count.steps + b.count.steps
    old, new = whole.cols["track"].take(torch.arange(a.K)), whole.cols["track"].take(torch.arange(a.K, whole.K))
    assert old.same(a.cols["track"])
    assert new.same(b.cols["track"])
    column = whole.cols["step"]
    assert (column.reason[: a.S] == Reason.NOT_APPLICABLE).all()
    assert column.take(torch.arange(a.S, whole.S)).same(b.cols["step"])


@given(episode_lists(), episode_lists(), st.data())
def test_putting_batches_together_packs_their_episodes(first, second, data):
    continuous = {s.actions.dtype.kind for ep in (*first, *second) for s in ep.segments if len(s.actions)}
    if len(continuous) > 1:
        first = []
    second = [ep.but(step=4) for ep in second]
    a, b = pack(first), pack(second)
    pairs = data.draw(pairs_of(b))
    b = dataclasses.replace(b, pairs=pairs)
    whole = cat([a, b])
    assert dataclasses.replace(whole, pairs=None).recount().same(pack([*first, *second]))
    if pairs is not None:
        assert whole.pairs.better.tolist() == [a.K + int(k) for k in pairs.better]
        assert whole.pairs.worse.tolist() == [a.K + int(k) for k in pairs.worse]
        assert whole.count.pairs == len(pairs)


def test_a_wide_column_that_one_batch_lacks_is_not_applicable_there():
    a, b = pack([episode(segment([0]))]), pack([episode(segment([1, 2]), attempt=1)])
    b = b.with_cols({"top": Column.full("step", torch.ones(2, 3, dtype=torch.float64))})
    top = cat([a, b]).cols["top"]
    assert (top.value.shape, top.value.dtype) == ((3, 3), torch.float64)
    assert top.reason.tolist() == [Reason.NOT_APPLICABLE, Reason.VALUE, Reason.VALUE]


def test_a_column_of_two_levels_is_refused():
    a, b = pack([episode(segment([0]))]), pack([episode(segment([1]), attempt=1)])
    a = a.with_cols({"x": Column.full("step", torch.ones(1))})
    b = b.with_cols({"x": Column.full("track", torch.ones(1))})
    with pytest.raises(ValueError, match="per step in one batch and per track in another"):
        cat([a, b])


def test_pairs_of_both_batches_are_kept():
    eps = [episode(segment([0]), attempt=i) for i in range(2)]
    two = dataclasses.replace(pack(eps), pairs=Pairs.of(torch.tensor([0]), torch.tensor([1])))
    pairs = cat([two, two]).pairs
    assert (pairs.better.tolist(), pairs.worse.tolist(), pairs.label.tolist()) == ([0, 2], [1, 3], [1.0, 1.0])


# --- attach -------------------------------------------------------------------------------------------------------


@given(episode_lists(continuous=False), st.data())
def test_what_is_hung_below_tracks_leaves_their_rows_columns_and_pairs_alone(eps, data):
    batch = data.draw(marked(eps))
    batch = dataclasses.replace(batch, pairs=data.draw(pairs_of(batch))).recount()
    called = torch.nonzero(data.draw(masks(batch.K))).flatten().tolist()
    calls = {k: [segment([0, 1], role="caller"), segment([2], role="caller", parent=0)] for k in called}
    made = attach(batch, calls)
    new = torch.tensor([made.roles[r] == "caller" for r in made.role], dtype=torch.bool)
    assert (int(new.sum()), made.K - batch.K) == (2 * len(called), len(called))
    rows = {"step": new[made.seg], "segment": new, "track": new[made.leaf]}
    for name, column in batch.cols.items():
        old = torch.nonzero(~rows[column.level]).flatten()
        assert made.cols[name].take(old).same(column)
        assert (made.cols[name].reason[rows[column.level]] == Reason.NOT_APPLICABLE).all()
    assert torch.equal(made.muted[~rows["step"]], batch.muted) and not made.muted[rows["step"]].any()
    assert torch.equal(made.weight[~rows["step"]], batch.weight)
    if batch.pairs is not None:
        track = torch.nonzero(~rows["track"]).flatten()
        assert torch.equal(made.pairs.better, track[batch.pairs.better])
