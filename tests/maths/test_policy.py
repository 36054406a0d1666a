"""The clipped policy loss on numbers done by hand."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from refusals import refusal
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.errors import UserError
from guerdon.core.pack import pack
from guerdon.core.schedule import linear, settled
from guerdon.losses.imitation import sft
from guerdon.losses.penalties import entropy, k3, kl
from guerdon.losses.policy import clipped

NAN = float("nan")
RATIOS = [1.5, 1.0, 0.5, 0.9]
ADVANTAGES = [1.0, 1.0, -1.0, 2.0]
# -min(ratio A, clip(ratio, 0.8, 1.2) A)
SURROGATE = [-1.2, -1.0, 0.8, -1.8]


def three_tracks():
    """Tracks of 2, 1 and 1 steps, sampled with log-prob -1."""
    batch = pack([episode(segment([0] * n), attempt=i) for i, n in enumerate([2, 1, 1])])
    return batch.with_cols({"advantage": Column.full("step", torch.tensor(ADVANTAGES))})


def live(ratios=RATIOS, entropy=0.5):
    logp = torch.tensor([math.log(r) - 1.0 for r in ratios], requires_grad=True)
    return {"logp": logp, "entropy": torch.full((len(ratios),), entropy)}


@pytest.mark.parametrize(
    ("mean", "want"),
    [
        ("step", (-1.2 - 1.0 + 0.8 - 1.8) / 4),
        ("track", ((-1.2 - 1.0) / 2 + 0.8 - 1.8) / 3),
        ("constant", (-1.2 - 1.0 + 0.8 - 1.8) / (3 * 5.0)),
    ],
)
def test_three_tracks_by_hand(mean, want):
    loss, metrics = clipped(mean=mean, constant=5.0)(three_tracks(), live())
    assert float(loss.detach()) == pytest.approx(want, rel=1e-6)
    assert float(metrics["clipped"]) == pytest.approx(2 / 4)
    assert float(metrics["entropy"]) == pytest.approx(0.5)


def test_clipped_steps_pull_no_more():
    now = live()
    loss, _ = clipped(mean="step")(three_tracks(), now)
    loss.backward()
    # d/dlogp of -ratio A / 4 where it is not clipped
    assert now["logp"].grad.tolist() == pytest.approx([0.0, -1.0 / 4, 0.0, -0.9 * 2 / 4], rel=1e-5)


@pytest.mark.parametrize(("ratio", "advantage", "pulls"), [(1.5, -1.0, True), (0.5, 1.0, True), (1.1, 1.0, True)])
def test_moves_back_towards_the_old_policy_are_never_clipped(ratio, advantage, pulls):
    batch = pack([episode(segment([0]))]).with_cols({"advantage": Column.full("step", torch.tensor([advantage]))})
    now = live([ratio])
    clipped()(batch, now)[0].backward()
    assert bool(now["logp"].grad.any()) == pulls


def test_low_and_high_are_two_bounds():
    batch, now = three_tracks(), live()
    loose, _ = clipped(mean="step", low=0.5, high=0.4)(batch, now)
    assert float(loose.detach()) == pytest.approx((-1.4 - 1.0 + 0.5 - 1.8) / 4, rel=1e-6)


def test_the_entropy_bonus_is_taken_off_the_loss():
    plain, _ = clipped(mean="step")(three_tracks(), live())
    rich, _ = (clipped(mean="step") + entropy(0.1, mean="step"))(three_tracks(), live(entropy=0.5))
    assert float((plain - rich).detach()) == pytest.approx(0.1 * 0.5, rel=1e-5)


def test_the_kl_term_is_k3_to_the_reference():
    batch = three_tracks().with_cols({"reference.logp": Column.full("step", torch.full((4,), -1.5))})
    now = live()
    term = kl(0.7, mean="step")
    loss, metrics = (clipped(mean="step") + term)(batch, now)
    gap = [-1.5 - (math.log(r) - 1.0) for r in RATIOS]
    want = sum(math.exp(g) - 1 - g for g in gap) / 4
    assert float(metrics["kl_reference"]) == pytest.approx(want, rel=1e-5)
    assert float(loss.detach()) == pytest.approx(sum(SURROGATE) / 4 + 0.7 * want, rel=1e-5)
    assert (clipped() + term).needs == ("advantage", "reference.logp")
    assert clipped().needs == ("advantage",)


@pytest.mark.parametrize(("kind", "of_gap"), [("k1", lambda g: -g), ("k2", lambda g: g * g / 2)])
def test_other_estimates_of_the_kl(kind, of_gap):
    batch = three_tracks().with_cols({"reference.logp": Column.full("step", torch.full((4,), -1.5))})
    loss, _ = kl(2.0, kind=kind, mean="step")(batch, live())
    gap = [-1.5 - (math.log(r) - 1.0) for r in RATIOS]
    assert float(loss.detach()) == pytest.approx(2.0 * sum(map(of_gap, gap)) / 4, rel=1e-5)


def test_a_sum_of_losses_is_silent_only_where_all_its_terms_are():
    batch = three_tracks().put("advantage", "step", torch.tensor([0.0, 0.0, 1.0, 0.0]))
    assert clipped().silent(batch).tolist() == [True, False, True]
    assert (clipped() + kl(0.0)).silent(batch).tolist() == [True, False, True]
    assert not (clipped() + kl(0.1)).silent(batch).any()
    assert not (clipped() + entropy(0.1)).silent(batch).any()
    assert not (clipped() + sft()).silent(batch).any()  # it does not say


@given(st.floats(-20, 0), st.floats(-20, 0))
def test_k3_is_never_negative_and_zero_when_equal(a, b):
    x, y = torch.tensor(a, dtype=torch.float64), torch.tensor(b, dtype=torch.float64)
    assert k3(x, y) >= -1e-15
    assert k3(x, x) == 0


def test_k3_is_unbiased_for_the_kl():
    p, q = torch.tensor([[0.5, 0.3, 0.2], [0.2, 0.2, 0.6]], dtype=torch.float64)
    assert float((p * k3(p.log(), q.log())).sum()) == pytest.approx(float((p * (p / q).log()).sum()), rel=1e-12)


def test_steps_of_weight_zero_change_nothing():
    batch = pack([episode(segment([0, 0, 0], given=1))])
    batch = batch.with_cols({"advantage": Column.full("step", torch.tensor([100.0, 1.0, 1.0]))})
    for mean in ("step", "track"):
        assert float(clipped(mean=mean)(batch, live([9.0, 1.0, 1.0]))[0].detach()) == pytest.approx(-1.0)


def test_given_steps_without_a_log_prob_change_nothing():
    batch = pack([episode(segment([0, 0], given=1, logp=[NAN, -1.0]))])
    batch = batch.with_cols({"advantage": Column.full("step", torch.tensor([1.0, 1.0]))})
    now = live([1.0, 1.0])
    loss, metrics = clipped(mean="track")(batch, now)
    loss.backward()
    assert float(loss.detach()) == pytest.approx(-1.0)
    assert now["logp"].grad.tolist() == pytest.approx([0.0, -1.0])
    assert all(torch.isfinite(v) for v in metrics.values())


def test_the_clip_takes_a_schedule():
    loss = clipped(low=linear(0.2, 0.1))
    assert [settled(loss, step, 11).low for step in (0, 5, 10)] == pytest.approx([0.2, 0.15, 0.1])
    assert torch.isfinite(settled(loss, 0, 11)(three_tracks(), live())[0])
    assert loss.low is not settled(loss, 0, 11).low  # the part itself keeps its schedule


def test_bad_knobs_are_refused():
    with refusal(UserError, "1.0"):
        clipped(low=1.5)
    with refusal(UserError):
        clipped(mean="steps")
