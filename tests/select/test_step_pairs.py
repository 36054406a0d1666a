"""Pairs of a tree's siblings: who is compared, what is left of the tree, and that the trunk cancels."""

from __future__ import annotations

import math

import pytest
import torch
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.losses.pair import dpo
from guerdon.select.filters import unlikely
from guerdon.select.pairs import step_pairs


def tree():
    """A trunk of two steps; a and b go on from it; two leaves on from a (1 and 0), b (0) ends there; and a lone answer."""
    first = episode(
        segment([0, 1]),
        segment([2], parent=0),
        segment([3, 4], parent=0),
        segment([5], parent=1),
        segment([6], parent=1),
    )
    batch = pack([first, episode(segment([7]), number=1)])
    return batch.with_cols({
        "reward": Column.full("track", torch.tensor([0.0, 1.0, 0.0, 1.0])),  # b, a's first and second leaf, the lone one
        "reference.logp": Column.full("step", torch.arange(8.0)),
    })  # fmt: skip


def test_siblings_that_differ_are_a_pair_that_ends_at_them():
    play = ExamplePlay()
    made = step_pairs()(tree(), play)
    assert play.metrics == {"step_pairs": 2.0, "unpaired_siblings": 0.0}
    assert made.action.tolist() == [0, 1, 2, 3, 4, 0, 1, 2, 5, 6]  # trunk, a, b; trunk, a, and its two leaves
    assert made.pairs.better.tolist() == [0, 2] and made.pairs.worse.tolist() == [1, 3]
    assert made.pairs.margin.tolist() == [0.5, 1.0]  # a is worth the mean of 1 and 0
    assert made["reward"].tolist() == [0.5, 0.0, 1.0, 0.0]
    assert made["reference.logp"].tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 0.0, 1.0, 2.0, 5.0, 6.0]
    assert made.weight.tolist() == [2, 2, 1, 1, 1, 2, 2, 2, 1, 1]
    assert made.count.pairs == 2 and made.K == 4


def test_a_difference_that_is_too_small_makes_no_pair():
    play = ExamplePlay()
    made = step_pairs(least=0.75)(tree(), play)
    assert (len(made.pairs), made.K, made["reward"].tolist()) == (1, 2, [1.0, 0.0])
    assert play.metrics["unpaired_siblings"] == 0.5
    none = step_pairs(least=2.0)(tree(), play)
    assert (none.K, none.S, len(none.pairs)) == (0, 0, 0)


def test_the_trunk_cancels():
    """The loss and its gradient are those of the siblings alone, whatever the trunk's log-probs are."""
    made = step_pairs(least=0.75)(tree(), ExamplePlay())
    for trunk in (0.0, 3.0):
        logp = torch.tensor([trunk, -trunk, trunk, 4.0, 9.0], requires_grad=True)
        loss, _ = dpo(beta=0.1)(made, {"logp": logp})
        loss.backward()
        z = 0.1 * ((4.0 - 5.0) - (9.0 - 6.0))
        assert float(loss.detach()) == pytest.approx(math.log1p(math.exp(-z)), abs=1e-6)
        assert logp.grad[:3].tolist() == [0.0, 0.0, 0.0] and logp.grad[3] == -logp.grad[4] != 0


def test_the_best_against_the_worst_leaves_the_others_out():
    three = pack([episode(*(segment([i]) for i in range(3)))])
    three = three.with_cols({"worth": Column.full("segment", torch.tensor([0.5, 0.0, 1.0]))})
    made = step_pairs("worth", which="extremes")(three, ExamplePlay())
    assert made.action.tolist() == [1, 2] and made["worth"].tolist() == [0.0, 1.0]
    assert (made.pairs.better.tolist(), made.pairs.worse.tolist()) == ([1], [0])
    assert len(step_pairs("worth")(three, ExamplePlay()).pairs) == 3


def test_what_has_no_value_is_compared_with_nothing():
    three = pack([episode(*(segment([i]) for i in range(3)))])
    value = Column("track", torch.tensor([1.0, float("nan"), 0.0]), torch.tensor([0, 2, 0], dtype=torch.int8))
    made = step_pairs("reward")(three.with_cols({"reward": value}), ExamplePlay())
    assert made.action.tolist() == [0, 2] and made.pairs.margin.tolist() == [1.0]


def test_siblings_that_did_the_same_are_one():
    """0 (1) and 0 (0) are one, worth 1/2; 1 goes on to 1 and 1: worth 1."""
    batch = pack([
        episode(segment([0]), segment([0]), segment([1]), segment([2], parent=2), segment([3], parent=2)),
        episode(segment([5]), segment([5]), number=1),
    ])  # fmt: skip
    rewards = torch.tensor([1.0, 0.0, 1.0, 1.0, 1.0, 0.0])
    made = step_pairs()(batch.with_cols({"reward": Column.full("track", rewards)}), ExamplePlay())
    assert made.action.tolist() == [0, 1] and made["reward"].tolist() == [0.5, 1.0]
    assert (made.pairs.better.tolist(), made.pairs.margin.tolist()) == ([1], [0.5])


def test_given_and_muted_steps_stay_so():
    batch = pack([episode(segment([0, 1], given=1), segment([2], parent=0), segment([3], parent=0))])
    batch.muted[2] = True
    batch = batch.with_cols({"reward": Column.full("track", torch.tensor([1.0, 0.0]))})
    made = step_pairs()(batch, ExamplePlay())
    assert made.weight.tolist() == [0.0, 2.0, 1.0, 1.0] and made.muted.tolist() == [False, False, True, False]


def test_likely_steps_are_muted_and_recited_ones_kept():
    logp = [math.log(0.95), math.log(0.89), float("nan"), math.log(0.1)]
    play = ExamplePlay()
    made = unlikely(0.9)(pack([episode(segment([0, 1, 2, 3], logp=logp))]), play)
    assert made.muted.tolist() == [True, False, False, False]
    assert play.metrics["unlikely_share"] == 0.75
