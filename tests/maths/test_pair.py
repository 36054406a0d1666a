"""Direct preference optimisation against its formula written again in numpy."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from scheduling import examples
from strategies import episode, segment

from guerdon.core.batch import Pairs
from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.losses.pair import aot, dpo


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


def three_pairs(**cols):
    """Pairs of tracks of one step each, 0 against 3, 1 against 4 and 2 against 5."""
    batch = pack([episode(segment([0]), attempt=i) for i in range(6)])
    batch = batch.with_cols({name: Column.full("step", torch.tensor(x)) for name, x in cols.items()})
    return dataclasses.replace(batch, pairs=Pairs.of(torch.arange(3), torch.arange(3) + 3)).recount()


LOGP, REFERENCE = [-1.0, -4.0, -2.0, -3.0, -1.0, -5.0], [-2.0, -2.0, -2.0, -4.0, -1.0, -3.0]


def softplus(x):
    return float(np.logaddexp(0, x))


def test_aot_compares_sorted_gains_and_sorted_differences():
    batch, live = three_pairs(**{"reference.logp": REFERENCE}), {"logp": torch.tensor(LOGP, dtype=torch.float64)}
    differences, theirs = sorted([2.0, -3.0, 3.0]), sorted([2.0, -1.0, 1.0])
    wanted = np.mean([softplus(-0.5 * (u - v)) for u, v in zip(differences, theirs, strict=True)])
    assert float(aot(0.5)(batch, live)[0]) == pytest.approx(wanted)
    better, worse = sorted([1.0, -2.0, 0.0]), sorted([1.0, 0.0, -2.0])
    wanted = np.mean([softplus(-0.5 * (u - v)) for u, v in zip(better, worse, strict=True)])
    loss, noted = aot(0.5, "unpaired")(batch, live)
    assert float(loss) == pytest.approx(wanted) and float(noted["margin"]) == pytest.approx(0.0)


def test_aot_is_refused_where_an_update_is_cut():
    batch = three_pairs(**{"reference.logp": REFERENCE})
    cut = dataclasses.replace(batch, pairs=Pairs.of(torch.arange(2), torch.arange(2) + 3))
    with refusal(UserError, "3", "2"):
        aot()(cut, {"logp": torch.tensor(LOGP)})


def test_a_curve_bends_the_gain_of_each_answer():
    batch, live = three_pairs(), {"logp": torch.tensor(LOGP, dtype=torch.float64)}
    bent = [(1 - np.exp(-0.25 * x)) / 0.25 for x in LOGP]
    wanted = np.mean([softplus(-2.0 * (bent[i] - bent[i + 3]) + 0.5) for i in range(3)])
    assert float(dpo(2.0, to="", margin=0.5, curve=0.25)(batch, live)[0]) == pytest.approx(wanted)
    near = dpo(2.0, to="", curve=1e-6)(batch, live)[0]
    assert float(near) == pytest.approx(float(dpo(2.0, to="")(batch, live)[0]), abs=1e-4)
