"""A tree and the chains it stands for give the same losses and the same gradients, under every reduction."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from scheduling import examples
from strategies import episode, episode_lists, expanded, segment

from guerdon.core.column import Column, Reason
from guerdon.core.learn import Learn
from guerdon.core.pack import pack
from guerdon.core.task import Sampling
from guerdon.credit.track_steps import track_steps
from guerdon.engine.player import Player
from guerdon.losses.imitation import advantage_weighted, sft, weighed
from guerdon.losses.policy import clipped, reweighted
from guerdon.losses.reduce import Members, reduce
from guerdon.models.tables import tabular

MEANS = ["step", "track", "constant"]


def model():
    made = tabular(vocab="abcd", rows=4096, spread=1.0)
    made.start(3, {})
    return made


def loss_and_gradient(batch, mean, per_track):
    """A loss linear in a number per track, with the model's own log-probs under it."""
    policy = model()
    x = -policy.read(batch, ["logp"])["logp"].double()
    if (
        mean == "track"
    ):  # tracks of unequal lengths: a trunk's mean over them, taken before, is not what the chains give
        members = Members.of(batch)
        loss = reduce(x[members.step] * per_track[members.track], batch, mean, members=members)
    else:
        loss = reduce(x * batch.down(per_track, "track"), batch, mean, constant=7.0)
    loss.backward()
    return loss.detach(), policy.weights.logits.grad


@pytest.mark.parametrize("mean", MEANS)
@examples(0.6)
@given(eps=episode_lists(continuous=False), seed=st.integers(0, 99))
def test_a_tree_is_the_chains_it_stands_for(mean, eps, seed):
    tree, chains = pack(eps), pack(expanded(eps))
    assert tree.K == chains.K
    assert tree.count == chains.count
    per_track = torch.randn(tree.K, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    loss_tree, grad_tree = loss_and_gradient(tree, mean, per_track)
    loss_chains, grad_chains = loss_and_gradient(chains, mean, per_track)
    assert torch.allclose(loss_tree, loss_chains, rtol=1e-6, atol=1e-9)
    assert torch.allclose(grad_tree, grad_chains, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("mean", MEANS)
def test_a_tree_of_width_one_is_a_chain_to_the_last_bit(mean):
    parts = [[0, 1], [2], [3, 0, 1]]
    tree = pack([episode(*(segment(a, parent=i - 1, context=[5] if i == 0 else []) for i, a in enumerate(parts)))])
    assert tree.weight.tolist() == [1.0] * 6
    read = model().read(tree, ["logp", "entropy"])
    x = torch.arange(6.0)
    assert reduce(x, tree, mean, 2.0) == reduce(x, pack([episode(segment([0] * 6))]), mean, 2.0)
    assert read["logp"].shape == (6,)


def test_reductions_of_a_tree_by_hand():
    # trunk [1, 2] shared by branches [3] and [4, 5, 6]
    batch = pack([episode(segment([0, 0]), segment([0], parent=0), segment([0, 0, 0], parent=0))])
    x = torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0])
    assert reduce(x, batch, "step") == pytest.approx((2 * 1 + 2 * 2 + 3 + 4 + 5 + 6) / 8)
    assert reduce(x, batch, "track") == pytest.approx(((1 + 2 + 3) / 3 + (1 + 2 + 4 + 5 + 6) / 5) / 2)
    assert reduce(x, batch, "constant", 10.0) == pytest.approx((2 * 1 + 2 * 2 + 3 + 4 + 5 + 6) / 20)


def test_given_steps_are_in_no_sum_and_no_denominator():
    batch = pack([episode(segment([0, 0, 0], given=2)), episode(segment([0]), attempt=1)])
    x = torch.tensor([100.0, 100.0, 1.0, 5.0])
    assert reduce(x, batch, "step") == pytest.approx(3.0)
    assert reduce(x, batch, "track") == pytest.approx(3.0)
    assert reduce(x, batch, "constant", 2.0) == pytest.approx(1.5)


@pytest.mark.sampled(1, "mean")
@pytest.mark.parametrize("mean", MEANS)
@given(eps=episode_lists(continuous=False), steps=st.integers(1, 8))
def test_reductions_of_micro_batches_add_up(mean, eps, steps):
    batch = pack(eps)
    x = torch.linspace(-1, 1, batch.S, dtype=torch.float64)
    batch = batch.put("x", "step", x)
    total = sum(reduce(m["x"], m, mean, 3.0) for m in batch.split(steps))
    assert torch.allclose(torch.as_tensor(total), reduce(x, batch, mean, 3.0), rtol=1e-12, atol=1e-12)


# --- columns of every level ---------------------------------------------------------------------------------------

LOSSES = {
    "bounds by track": clipped(low="track", high="track", advantage="track", mean="step"),
    "bounds by turn": clipped(high="segment", advantage="track", mean="constant"),
    "weights bounded by step": reweighted(high="step", advantage="segment"),
    "advantages by track": advantage_weighted(advantage="track"),
    "weighed by step": weighed(sft(mean="track"), by="step"),
    "weighed by turn": weighed(sft(), by="segment"),
    "weighed by track": weighed(sft(mean="constant"), by="track"),
    "weighed and averaged by track": weighed(clipped(mean="track", advantage="track", high="track"), by="track"),
    "weighed with a ratio by track": weighed(clipped(ratio="track", advantage="track"), by="track"),
}


def as_chains(tree, eps):
    """The chains that a tree stands for, with its columns, and its marks on steps."""
    index = {"step": track_steps(tree).step, "segment": tree.path_seg, "track": torch.arange(tree.K)}
    chains = pack(expanded(eps)).with_cols({n: c.take(index[c.level]) for n, c in tree.cols.items()})
    return dataclasses.replace(chains, muted=tree.muted[index["step"]])


def with_columns(eps, seed):
    batch, dice = pack(eps), torch.Generator().manual_seed(seed)
    levels = ("step", "segment", "track")
    cols = {n: Column.full(n, torch.rand(batch.size(n), generator=dice, dtype=torch.float64)) for n in levels}
    return batch.with_cols(cols)


def sampled(eps):
    """The same, with log-probs for everything: what was recited has no ratio."""
    return [e.but(segments=tuple(s.but(logp=np.nan_to_num(s.logp, nan=-1.0)) for s in e.segments)) for e in eps]


def learned(loss, batch):
    policy = model()
    found = loss(batch, {n: x.double() for n, x in policy.read(batch, ["logp", "entropy"]).items()})[0]
    found.backward()
    return found.detach(), policy.weights.logits.grad


@pytest.mark.sampled(4, "name")
@pytest.mark.parametrize("name", LOSSES)
@examples(0.3)
@given(eps=episode_lists(continuous=False), seed=st.integers(0, 99))
def test_a_tree_is_its_chains_with_columns_of_every_level(name, eps, seed):
    eps = sampled(eps)
    tree = with_columns(eps, seed)
    assume(tree.S)
    (one, grad_one), (other, grad_other) = learned(LOSSES[name], tree), learned(LOSSES[name], as_chains(tree, eps))
    assert torch.allclose(one, other, rtol=1e-6, atol=1e-9)
    assert torch.allclose(grad_one, grad_other, rtol=1e-5, atol=1e-7)


# --- what Learn learns from ---------------------------------------------------------------------------------------


def rows_of(batch, loss):
    roles = dict.fromkeys(batch.roles, "policy")
    return Learn("policy", loss).rows(batch, Player({"policy": model()}, roles, None, Sampling(), 0, 1))


@pytest.mark.sampled(1, "mean")
@pytest.mark.parametrize("mean", ["step", "constant"])
@examples(0.6)
@given(eps=episode_lists(continuous=False), seed=st.integers(0, 99), data=st.data())
def test_a_tree_is_its_chains_where_scores_failed_and_steps_are_muted(mean, eps, seed, data):
    """Tracks without a score are left out, whatever the steps they share have; the steps of others that have no value, and
    those that a stage muted, are in no sum and no denominator."""
    eps = sampled(eps)
    tree = with_columns(eps, seed)
    own = (tree.shared == 1)[tree.seg]
    # a track without a step of its own that counts cannot be told from those it shares with
    assume(tree.S and bool((tree.up(own.double(), "track") > 0).all()))
    first = torch.ones(tree.S, dtype=torch.bool)
    first[1:] = tree.seg[1:] != tree.seg[:-1]
    dice = torch.Generator().manual_seed(seed)
    hole = ~first & (torch.rand(tree.S, generator=dice) < 0.3)  # a tail, or anything but where a segment begins
    failed = (
        torch.rand(tree.K, generator=dice) < 0.3
    ) | tree.failed_K  # of what the world broke no stage gives a score
    muted = torch.rand(tree.S, generator=dice) < data.draw(st.sampled_from([0.0, 0.3]))
    silenced = tree.up((own & ~muted).double(), "track") == 0
    tree = dataclasses.replace(tree, muted=muted & ~(own & (tree.down(silenced.double(), "track") > 0)))

    def credited(batch, hole):
        """What a stage of credit gives: the mean over a step's tracks that have a value, and none in the holes."""
        value = batch["track"].masked_fill(failed, float("nan"))
        score = Column("track", value, torch.where(failed, int(Reason.FAILED), 0).to(torch.int8))
        made = batch.put("advantage", "step", batch.down(value, "track"), because=score).cols["advantage"]
        reason = torch.where(hole & ~made.missing, int(Reason.NOT_APPLICABLE), made.reason).to(torch.int8)
        return batch.with_cols({"advantage": Column("step", made.value.masked_fill(hole, float("nan")), reason)})

    chains = as_chains(tree, eps)
    loss = reweighted(low=0.0, high=0.0, mean=mean)  # linear in the advantage, as a mean over tracks must be
    one = rows_of(credited(tree, hole), loss)
    other = rows_of(credited(chains, hole[track_steps(tree).step]), loss)
    assert one.K == other.K == int((~failed).sum())
    assert one.count == other.count
    (value_one, grad_one), (value_other, grad_other) = learned(loss, one), learned(loss, other)
    assert torch.allclose(value_one, value_other, rtol=1e-5, atol=1e-8)
    assert torch.allclose(grad_one, grad_other, rtol=1e-5, atol=1e-7)
