"""Direct preference optimisation against its formula written again in numpy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scheduling import examples
from strategies import episode, segment

from guerdon.core.batch import Pairs
from guerdon.core.column import Column
from guerdon.core.pack import pack
from guerdon.losses.pair import dpo


def numpy_dpo(logp, reference, tracks, better, worse, label, beta):
    """-label log sigma(m) - (1 - label) log sigma(-m), mean over pairs."""
    gain = np.array([np.sum(logp[list(t)] - reference[list(t)]) for t in tracks])
    m = beta * (gain[better] - gain[worse])
    return np.mean(label * np.logaddexp(0, -m) + (1 - label) * np.logaddexp(0, m)), m.mean()


@examples(0.6)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.1, 2.0]), st.booleans())
def test_the_loss_is_the_formula(seed, beta, soft):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 4, 4)
    batch = pack([episode(segment([0] * n), attempt=i) for i, n in enumerate(lengths)])
    ends = np.cumsum(lengths)
    tracks = [range(e - n, e) for e, n in zip(ends, lengths, strict=True)]
    logp, reference = -rng.random(batch.S) * 5, -rng.random(batch.S) * 5
    better, worse = np.array([0, 1, 3]), np.array([2, 0, 1])
    label = rng.random(3) if soft else np.ones(3)
    pairs = Pairs(*map(torch.from_numpy, (better, worse, np.zeros(3), label)))
    batch = dataclasses.replace(batch, pairs=pairs).recount()
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.from_numpy(reference))})
    loss, metrics = dpo(beta=beta)(batch, {"logp": torch.from_numpy(logp)})
    want, margin = numpy_dpo(logp, reference, tracks, better, worse, label, beta)
    assert float(loss) == pytest.approx(want, rel=1e-10)
    assert float(metrics["margin"]) == pytest.approx(margin, rel=1e-10)


def two(logp, label=None):
    batch = pack([episode(segment([0]), attempt=i) for i in range(2)])
    pairs = Pairs.of(torch.tensor([0]), torch.tensor([1]), label=label)
    batch = dataclasses.replace(batch, pairs=pairs).recount()
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.tensor([-1.0, -1.0]))})
    now = torch.tensor(logp, requires_grad=True)
    loss, _ = dpo(beta=0.5)(batch, {"logp": now})
    loss.backward()
    return float(loss.detach()), now.grad.tolist()


def test_at_the_reference_the_loss_is_log_two_and_pulls_by_half_beta():
    loss, grad = two([-1.0, -1.0])
    assert loss == pytest.approx(np.log(2))
    assert grad == pytest.approx([-0.25, 0.25])


def test_a_label_of_one_half_pulls_the_margin_to_zero():
    assert two([-1.0, -1.0], torch.tensor([0.5]))[1] == pytest.approx([0.0, 0.0])
    grad = two([-0.5, -1.5], torch.tensor([0.5]))[1]
    assert grad[0] > 0 > grad[1]


def test_a_pair_turned_round_with_its_label_is_the_same_pair():
    batch = pack([episode(segment([0]), attempt=i) for i in range(2)])
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.tensor([-1.0, -2.0]))})
    live = {"logp": torch.tensor([-0.3, -0.7])}
    losses = []
    for better, worse, label in ((0, 1, 0.8), (1, 0, 0.2)):
        pairs = Pairs.of(torch.tensor([better]), torch.tensor([worse]), label=torch.tensor([label]))
        losses.append(float(dpo()(dataclasses.replace(batch, pairs=pairs).recount(), live)[0]))
    assert losses[0] == pytest.approx(losses[1], rel=1e-6)


def test_given_steps_are_not_learned():
    batch = pack([episode(segment([0, 0], given=1)), episode(segment([0]), attempt=1)])
    batch = dataclasses.replace(batch, pairs=Pairs.of(torch.tensor([0]), torch.tensor([1]))).recount()
    batch = batch.with_cols({"reference.logp": Column.full("step", torch.full((3,), -1.0))})
    now = torch.tensor([-1.0, -1.0, -1.0], requires_grad=True)
    dpo()(batch, {"logp": now})[0].backward()
    assert now.grad[0] == 0


def test_pairs_are_needed():
    assert "pairs" in dpo().needs
    assert dpo(to="old").needs[-1] == "old.logp"
