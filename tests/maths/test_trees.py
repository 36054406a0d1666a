"""A tree and the chains it stands for give the same losses and the same gradients, under every reduction."""

from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import episode, episode_lists, expanded, segment

from guerdon.core.pack import pack
from guerdon.losses.reduce import reduce
from guerdon.models.tabular import tabular

MEANS = ["step", "track", "constant"]


def model():
    made = tabular(vocab="abcd", rows=4096, spread=1.0)
    made.start(3, {})
    return made


def loss_and_gradient(batch, mean, per_track):
    """A loss linear in a number per track, with the model's own log-probs under it."""
    policy = model()
    x = -policy.read(batch, ["logp"])["logp"].double() * batch.down(per_track, "track")
    loss = reduce(x, batch, mean, constant=7.0)
    loss.backward()
    return loss.detach(), policy.weights.logits.grad


@pytest.mark.parametrize("mean", MEANS)
@settings(max_examples=40)
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


@pytest.mark.parametrize("mean", MEANS)
@given(eps=episode_lists(continuous=False), steps=st.integers(1, 8))
def test_reductions_of_micro_batches_add_up(mean, eps, steps):
    batch = pack(eps)
    x = torch.linspace(-1, 1, batch.S, dtype=torch.float64)
    batch = batch.put("x", "step", x)
    total = sum(reduce(m["x"], m, mean, 3.0) for m in batch.split(steps))
    assert torch.allclose(torch.as_tensor(total), reduce(x, batch, mean, 3.0), rtol=1e-12, atol=1e-12)
