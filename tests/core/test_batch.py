"""Rows of a batch: taken, split, shared out; columns put beside them; what counts as the same batch."""

from __future__ import annotations

import dataclasses

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from strategies import episode, episode_lists, marked, masks, naive_tracks, pairs_of, segment

from guerdon.core.batch import Count, Pairs
from guerdon.core.column import Column, Reason, same_numbers
from guerdon.core.errors import UserError
from guerdon.core.pack import pack, unpack

NAN = float("nan")
TENSORS = (
    "seg", "logp", "weight", "parent", "episode", "version", "temperature", "end", "context",
    "context_length", "leaf", "path_track", "path_seg", "ask_E", "task_E",
)  # fmt: skip


def only(episodes, keep):
    """The episodes with nothing but the segments of the kept tracks, parents renumbered."""
    tracks = [t for t, k in zip(naive_tracks(episodes), keep, strict=True) if k]
    made = []
    for e, ep in enumerate(episodes):
        left = sorted({i for other, path in tracks if other == e for i in path})
        renumber = {old: new for new, old in enumerate(left)}
        segments = [ep.segments[i].but(parent=renumber.get(ep.segments[i].parent, -1)) for i in left]
        made.append(ep.but(segments=tuple(segments)))
    return made


@given(episode_lists(), st.data())
def test_taking_tracks_is_packing_only_those_tracks(eps, data):
    batch = pack(eps)
    mask = data.draw(masks(batch.K))
    taken, want = batch.take(mask), pack(only(eps, mask.tolist()))
    for name in TENSORS:
        assert same_numbers(getattr(taken, name), getattr(want, name)), name
    assert same_numbers(taken.action, want.action) or taken.S == 0  # how wide no action is cannot be known
    assert [taken.roles[r] for r in taken.role] == [want.roles[r] for r in want.role]
    assert taken.count == want.count
    assert all(a.same(b) for a, b in zip(unpack(taken), want.episodes, strict=True))


@given(episode_lists(), st.data())
def test_columns_and_pairs_go_with_their_tracks(eps, data):
    batch = data.draw(marked(eps))
    batch = dataclasses.replace(batch, pairs=data.draw(pairs_of(batch)))
    mask = data.draw(masks(batch.K))
    taken = batch.take(mask)
    kept = torch.nonzero(mask).flatten().tolist()
    assert same_numbers(taken["track"], batch["track"][kept])
    assert taken.cols["track"].detail == {kept.index(i): d for i, d in batch.cols["track"].detail.items() if i in kept}
    at = {key: g for g, key in enumerate(zip(batch.episode.tolist(), batch.place.tolist(), strict=True))}
    old_g = torch.tensor([at[e, i] for e, i in zip(taken.episode.tolist(), taken.place.tolist(), strict=True)]).long()
    assert taken.cols["segment"].same(batch.cols["segment"].take(old_g))
    old_s = torch.isin(batch.seg, old_g).nonzero().flatten()
    assert taken.cols["step"].same(batch.cols["step"].take(old_s))
    assert torch.equal(taken.muted, batch.muted[old_s])
    sure = batch.up(torch.arange(batch.S, dtype=torch.float64), "track", by="min")[mask]
    again = batch.with_cols({"n": Column.full("step", torch.arange(batch.S, dtype=torch.float64))}).take(mask)
    assert same_numbers(again.up(again["n"], "track", by="min"), sure)
    if batch.pairs is not None:
        old = [(int(b), int(w)) for b, w in zip(batch.pairs.better, batch.pairs.worse, strict=True)]
        want = [(kept.index(b), kept.index(w)) for b, w in old if b in kept and w in kept]
        assert list(zip(taken.pairs.better.tolist(), taken.pairs.worse.tolist(), strict=True)) == want
        assert taken.count.pairs == len(want)


@given(episode_lists(), st.data())
def test_taking_twice_is_taking_once(eps, data):
    batch = data.draw(marked(eps))
    first = data.draw(masks(batch.K))
    second = data.draw(masks(int(first.sum())))
    both = first.clone()
    both[first] = second
    assert batch.take(first).take(second).same(batch.take(both))


@pytest.mark.parametrize("width", [7, 13, 49, 82])
def test_the_trunk_of_a_wide_tree_keeps_whole_weights(width):
    batch = pack([episode(segment([0, 1]), *(segment([2], parent=0) for _ in range(width)))])
    for left in range(1, width):
        assert batch.take(torch.arange(width) < left).weight[0] == left


def test_taking_a_judge_without_what_it_judged_leaves_it_without_a_parent():
    batch = pack([episode(segment([0]), segment([1], role="judge", parent=0))])
    taken = batch.take(batch.tracks_of(["judge"]))
    assert (taken.parent.tolist(), taken.action.tolist(), taken.role_K.tolist()) == ([-1], [1], [0])


def test_taking_nothing_leaves_the_episodes():
    batch = pack([episode(segment([0, 1]))]).take(torch.tensor([False]))
    assert (batch.S, batch.G, batch.K, len(batch.episodes)) == (0, 0, 0, 1)
    assert batch.count == Count(0.0, 0, 0)
    assert batch.up(torch.zeros(0), "episode").tolist() == [0.0]


# --- split and shares ---------------------------------------------------------------------------------------------


def leaves(batches):
    return [(int(b.episode[g]), int(b.place[g])) for b in batches for g in b.leaf]


TOGETHER = st.sampled_from(["episode", "ask", "task"])


def never_split(batches, together):
    """No episode, ask or task lies in two batches."""
    found = [set(b.group_of_track(together).tolist()) for b in batches]
    return sum(map(len, found)) == len(set().union(*found)) if found else True


@given(episode_lists(), st.integers(1, 9), TOGETHER, st.data())
def test_a_split_covers_every_track_once_keeps_the_count_and_pairs_together(eps, steps, together, data):
    batch = data.draw(marked(eps))
    batch = dataclasses.replace(batch, pairs=data.draw(pairs_of(batch))).recount()
    micros = batch.split(steps, together)
    assert never_split(micros, together)
    assert sum(int(m.muted.sum()) for m in micros) == int(batch.muted.sum())
    assert sorted(leaves(micros)) == sorted(leaves([batch]))
    assert all(m.count == batch.count for m in micros)
    assert sum(float(m.weight.sum()) for m in micros) == batch.count.steps
    assert sum(len(m.pairs) if m.pairs is not None else 0 for m in micros) == batch.count.pairs
    for m in micros:
        whole = len(set(m.group_of_track(together).tolist())) <= 1 or (m.pairs is not None and len(m.pairs) > 0)
        assert steps >= m.S or whole, "only what must stay together may be larger"


def test_micro_batches_are_filled():
    batch = pack([episode(segment([0, 1]), attempt=i) for i in range(7)])
    assert [m.S for m in batch.split(6)] == [4, 4, 4, 2]  # two steps each, and one token shown before them
    assert [m.S for m in batch.split(1)] == [2] * 7
    assert len(batch.split(21)) == 1


@given(episode_lists(), st.integers(1, 5), TOGETHER, st.data())
def test_shares_cover_every_track_once_each_with_its_own_count(eps, n, together, data):
    batch = pack(eps)
    batch = dataclasses.replace(batch, pairs=data.draw(pairs_of(batch))).recount()
    shares = batch.shares(n, torch.Generator().manual_seed(0), together)
    assert never_split(shares, together)
    assert sorted(leaves(shares)) == sorted(leaves([batch]))
    assert sum(len(s.pairs) if s.pairs is not None else 0 for s in shares) == batch.count.pairs
    assert all(s.count == s.recount().count for s in shares)
    assert len(shares) <= n
    assert all(s.K for s in shares) or batch.K == 0


def test_shares_are_even_and_drawn_by_the_generator():
    batch = pack([episode(segment([0]), attempt=i) for i in range(12)])
    shares = batch.shares(4, torch.Generator().manual_seed(1))
    assert [s.K for s in shares] == [3, 3, 3, 3]
    again = batch.shares(4, torch.Generator().manual_seed(1))
    other = batch.shares(4, torch.Generator().manual_seed(2))
    assert all(a.same(b) for a, b in zip(shares, again, strict=True))
    assert not all(a.same(b) for a, b in zip(shares, other, strict=True))


@given(episode_lists(), st.integers(1, 5), st.booleans(), st.data())
def test_shares_of_steps_cover_every_learned_step_once(eps, n, apart, data):
    batch = data.draw(marked(eps))
    batch = batch.with_cols({"n": Column.full("step", torch.arange(batch.S, dtype=torch.float64))})
    shares = batch.share_steps(n, torch.Generator().manual_seed(0), apart)
    found = torch.cat([s["n"][s.weight > 0] for s in shares]).long()
    assert sorted(found.tolist()) == torch.nonzero(batch.weight > 0).flatten().tolist()
    for share in shares:
        assert share.count == share.recount().count
        at = share["n"].long()
        live = share.weight > 0
        assert torch.equal(share.weight[live], batch.weight[at][live])  # a trunk's step keeps all of its tracks
        assert torch.equal(share.muted, batch.muted[at])
        assert share.cols["step"].same(batch.cols["step"].take(at))
        for name in ("episode", "place"):
            assert torch.equal(getattr(share, name)[share.seg], getattr(batch, name)[batch.seg[at]])
        if len(shares) > 1:
            assert int(live.sum()) == share.S or not apart
            assert (share.up(live.double(), "track") > 0).all()  # a track with nothing in the share is not in it
    assert len(shares) <= n


def test_steps_read_apart_are_shown_what_their_segments_were_and_no_more():
    eps = [episode(segment([0], context=[5, 6]), segment([1], parent=0, context=[7]), attempt=i) for i in range(2)]
    for share in pack(eps).share_steps(4, torch.Generator().manual_seed(0), apart=True):
        assert (share.S, share.K, share.count) == (1, 1, Count(1.0, 1, 0))
        assert share.context.tolist() == ([5, 6], [7])[int(share.action[0])]
        assert (share.context_seg == share.seg[0]).all()


def test_a_chain_of_pairs_stays_whole():
    batch = pack([episode(segment([0]), attempt=i) for i in range(5)])
    pairs = Pairs.of(torch.tensor([3, 1]), torch.tensor([1, 4]))  # 3-1-4
    sizes = sorted(m.K for m in dataclasses.replace(batch, pairs=pairs).split(1))
    assert sizes == [1, 1, 3]


# --- columns ------------------------------------------------------------------------------------------------------


def test_a_column_must_have_a_row_for_each_row():
    batch = pack([episode(segment([0, 1]))])
    with refusal(UserError):
        batch.with_cols({"x": Column.full("step", torch.ones(1))})


def tree_with(reasons):
    """A trunk of one step with a branch of one step for each reason, and their column."""
    batch = pack([episode(segment([0]), *(segment([1], parent=0) for _ in reasons))])
    reason = torch.tensor([int(r) for r in reasons], dtype=torch.int8)
    value = torch.where(reason == 0, 1.0, NAN)
    return batch, Column("track", value, reason)


def test_a_step_column_takes_its_reasons_from_the_tracks():
    batch, column = tree_with([Reason.NOT_APPLICABLE, Reason.TIMED_OUT])
    made = batch.put("a", "step", batch.down(column.value, "track"), because=column).cols["a"]
    assert made.reason.tolist() == [Reason.TIMED_OUT, Reason.NOT_APPLICABLE, Reason.TIMED_OUT]


def test_a_trunk_with_one_valued_track_has_a_value():
    batch, column = tree_with([Reason.FAILED, Reason.VALUE])
    made = batch.put("a", "step", batch.down(column.value, "track"), because=column).cols["a"]
    assert made.reason.tolist() == [Reason.VALUE, Reason.FAILED, Reason.VALUE]
    assert made.value[0] == 1.0


def test_a_track_column_takes_the_worst_reason_of_its_steps():
    batch = pack([episode(segment([0, 1, 2])), episode(segment([0]), attempt=1), episode(segment([]), attempt=2)])
    steps = Column("step", torch.tensor([1.0, NAN, NAN, 2.0]), torch.tensor([0, 1, 2, 0], dtype=torch.int8))
    total = batch.up(steps.value, "track")
    total[2] = NAN  # no step says why
    made = batch.put("sum", "track", total, because=steps).cols["sum"]
    assert made.reason.tolist() == [Reason.FAILED, Reason.VALUE, Reason.NOT_APPLICABLE]


def test_a_segment_column_takes_its_reasons_from_above_and_below():
    batch, column = tree_with([Reason.NOT_APPLICABLE, Reason.TIMED_OUT])
    made = batch.put("a", "segment", batch.down(column.value, "track", "segment"), because=column).cols["a"]
    assert made.reason.tolist() == [Reason.TIMED_OUT, Reason.NOT_APPLICABLE, Reason.TIMED_OUT]
    steps = Column("step", torch.tensor([1.0, NAN, NAN]), torch.tensor([0, 1, 2], dtype=torch.int8))
    made = batch.put("b", "segment", batch.up(steps.value, "segment"), because=steps).cols["b"]
    assert made.reason.tolist() == [Reason.VALUE, Reason.NOT_APPLICABLE, Reason.FAILED]


def test_a_step_or_track_takes_its_reason_from_its_segments():
    batch = pack([episode(segment([0, 1]), segment([], parent=0), segment([2], parent=1))])
    turns = Column("segment", torch.tensor([1.0, NAN, NAN]), torch.tensor([0, 2, 1], dtype=torch.int8))
    assert batch.down(turns.value, "segment").tolist()[:2] == [1.0, 1.0]
    steps = batch.put("a", "step", batch.down(turns.value, "segment"), because=turns).cols["a"]
    assert steps.reason.tolist() == [Reason.VALUE, Reason.VALUE, Reason.NOT_APPLICABLE]
    total = batch.put("b", "track", batch.up(turns.value, "track", of="segment"), because=turns).cols["b"]
    assert total.reason.tolist() == [Reason.FAILED]


def test_a_missing_number_without_a_reason_is_refused():
    batch = pack([episode(segment([0]))])
    with refusal(UserError):
        batch.put("x", "track", torch.tensor([NAN]))
    with refusal(UserError):
        batch.put("x", "track", torch.tensor([NAN]), because=Column.full("track", torch.ones(1)))


def test_infinities_in_a_wide_row_are_numbers():
    batch = pack([episode(segment([0]))])
    inf = float("inf")
    because = Column.empty("step", 1)
    made = batch.put("top", "step", torch.tensor([[inf, -inf]]), because=because)
    assert made.cols["top"].reason.tolist() == [Reason.VALUE]


def test_groups_never_mix_roles():
    eps = [episode(segment([0]), segment([1], role="judge", parent=0), name=n, number=i) for i, n in enumerate("aab")]
    batch = pack(eps)
    by_task, n = batch.group("task")
    assert n == 4
    assert by_task[0] == by_task[2]
    assert len({int(by_task[0]), int(by_task[1]), int(by_task[4]), int(by_task[5])}) == 4
    assert batch.group("ask")[1] == 6
    assert pack([]).group("task")[1] == 0


# --- the same -----------------------------------------------------------------------------------------------------


def test_any_change_makes_another_batch():
    batch, column = tree_with([Reason.VALUE, Reason.FAILED])
    batch = dataclasses.replace(batch.with_cols({"r": column}), pairs=Pairs.of(torch.tensor([0]), torch.tensor([1])))
    assert batch.same(dataclasses.replace(batch))
    changed = [
        dataclasses.replace(batch, weight=batch.weight * 2),
        dataclasses.replace(batch, logp=batch.logp.double()),
        dataclasses.replace(batch, muted=~batch.muted),
        dataclasses.replace(batch, count=Count(1.0, 1)),
        dataclasses.replace(batch, pairs=None),
        dataclasses.replace(batch, pairs=Pairs.of(torch.tensor([1]), torch.tensor([0]))),
        batch.without("r"),
        batch.with_cols({"r": dataclasses.replace(column, detail={0: "why"})}),
        dataclasses.replace(batch, episodes=(batch.episodes[0].but(info={"x": 1}),)),
    ]
    assert not any(batch.same(other) or other.same(batch) for other in changed)


def test_moving_to_a_device_keeps_everything():
    batch, column = tree_with([Reason.VALUE, Reason.FAILED])
    none = torch.zeros(0, dtype=torch.long)
    batch = dataclasses.replace(batch.with_cols({"r": column}), pairs=Pairs.of(none, none))
    assert batch.to("cpu").same(batch)
    far = batch.without("r").to("meta")
    assert {far.seg.device.type, far.leaf.device.type, far.pairs.better.device.type} == {"meta"}


def test_a_batch_elsewhere_knows_what_follows_from_its_rows():
    batch = pack([episode(segment([1, 2]), segment([3], parent=0), segment([4, 5], parent=0))])
    assert batch.to("cpu") is batch
    there = batch.to("meta")  # where nothing can be worked out
    step, track = there.track_steps
    assert (there.length.shape, there.shared.shape, step.shape, track.shape) == ((3,), (3,), (7,), (7,))
    assert {x.device.type for x in (there.action, there.length, there.shared, step, track)} == {"meta"}
