"""Quantiles of ratios from counts that add up: by hand, against the quantiles of all of them, however they are split."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guerdon.core.column import Column
from guerdon.core.episode import Episode, Segment
from guerdon.core.pack import pack
from guerdon.core.task import Ask, Task
from guerdon.losses.policy import BINS, FINE, MOST, REACH, WIDTH, clipped, counted, quantiles, reweighted, sampled


def read(log_ratio, weight=None):
    """The quantiles of logarithms, back as logarithms."""
    x = torch.as_tensor(log_ratio, dtype=torch.float32)
    noted = counted(x, torch.ones(len(x)) if weight is None else torch.as_tensor(weight))
    return {name: math.log(value) for name, value in quantiles({n: float(v) for n, v in noted.items()}).items()}


def test_what_did_not_move_is_one_to_the_last_bit():
    assert read([0.0] * 5) == {"ratio_p01": 0.0, "ratio_p50": 0.0, "ratio_p99": 0.0}
    assert read([1e-4, -1e-4])["ratio_p50"] == 0.0  # within half a bin
    assert read([2e-4] * 3)["ratio_p50"] > 0


def test_a_hundred_ratios_by_hand():
    """One at 1/2, two at 2, one at e, the rest at 1: 1 % lies at 1/2 or below, 99 % at 2 or below."""
    found = read([math.log(0.5), *[0.0] * 96, *[math.log(2.0)] * 2, 1.0])
    assert found["ratio_p50"] == 0.0
    assert found["ratio_p01"] == pytest.approx(math.log(0.5), rel=0.33)
    assert found["ratio_p99"] == pytest.approx(math.log(2.0), rel=0.33)


def test_the_edges_of_a_bin_by_hand():
    """All in one bin: 1 % and 99 % of the way through it."""
    i = BINS // 2 + 10
    low, high = (FINE * math.sinh(WIDTH * (i + part) - REACH) for part in (0.01, 0.99))
    found = read([FINE * math.sinh(WIDTH * (i + 0.5) - REACH)] * 4)
    assert found["ratio_p01"] == pytest.approx(low, rel=1e-9)
    assert found["ratio_p99"] == pytest.approx(high, rel=1e-9)
    assert high / low < 1.33


def test_weights_count_and_what_weighs_nothing_does_not():
    assert read([1.0, -1.0], [3.0, 1.0])["ratio_p50"] == pytest.approx(1.0, rel=0.33)
    assert read([1.0, -1.0], [1.0, 0.0])["ratio_p01"] == pytest.approx(1.0, rel=0.33)
    assert quantiles({}) == {} and quantiles({"loss": 1.0}) == {"loss": 1.0}


def test_ratios_out_of_reach_lie_at_its_edge():
    found = read([50.0, -50.0, math.inf, -math.inf])
    assert (found["ratio_p01"], found["ratio_p99"]) == pytest.approx((-MOST, MOST), rel=0.33)


def test_a_ratio_that_is_no_number_is_left_to_the_loss_to_find():
    assert sum(float(v) for v in counted(torch.tensor([math.nan, 0.0]), torch.ones(2)).values()) == 2.0


@pytest.mark.parametrize("scale", [3e-4, 0.02, 0.5])  # GSPO's, a rounding sampler's, a policy that has moved
def test_of_many_ratios_they_are_close_to_the_quantiles_of_all(scale):
    x = torch.randn(20_000, generator=torch.Generator().manual_seed(0)) * scale + scale / 10
    found = read(x)
    exact = {name: float(torch.quantile(x, q)) for name, q in (("ratio_p01", 0.01), ("ratio_p99", 0.99))}
    assert {n: found[n] for n in exact} == pytest.approx(exact, rel=0.1)
    assert found["ratio_p50"] == pytest.approx(scale / 10, abs=0.05 * scale + FINE * WIDTH / 2)


@given(st.lists(st.floats(-4, 4, width=32), min_size=2, max_size=30), st.data())
def test_how_ratios_are_split_changes_nothing(x, data):
    at = data.draw(st.integers(1, len(x) - 1))
    weight = torch.tensor(data.draw(st.lists(st.integers(1, 4), min_size=len(x), max_size=len(x)))).float()
    whole = counted(torch.tensor(x), weight)
    parts = [counted(torch.tensor(x[:at]), weight[:at]), counted(torch.tensor(x[at:]), weight[at:])]
    added = {name: sum(float(p[name]) for p in parts) for name in whole}
    assert added == {name: float(v) for name, v in whole.items()}
    assert quantiles(added) == quantiles({name: float(v) for name, v in whole.items()})


def batch_of(tries, steps):
    said = Segment("policy", "", [1], [0] * steps, [-1.0] * steps)
    batch = pack([Episode(Ask(Task(id="t", prompt="p", answer="a")), (said,), attempt=n) for n in range(tries)])
    return batch.with_cols({"advantage": Column.full("step", torch.ones(batch.S))})


@pytest.mark.parametrize("loss", [clipped(), clipped(ratio="track"), reweighted()])
def test_a_loss_notes_the_same_quantiles_however_it_is_split(loss):
    batch = batch_of(6, 5)
    logp = torch.randn(batch.S, generator=torch.Generator().manual_seed(1)) * 0.3 - 1

    def noted(x, at):
        live = {"logp": logp[at], "entropy": torch.zeros(len(logp[at]))}
        return {n: float(v) for n, v in loss(x, live)[1].items()}

    whole, total, start = noted(batch, slice(None)), {}, 0
    for micro in batch.split(12):
        for name, value in noted(micro, slice(start, start + micro.S)).items():
            total[name] = total.get(name, 0.0) + value
        start += micro.S
    assert start == batch.S
    names = ("ratio_p01", "ratio_p50", "ratio_p99")
    assert [loss.derive(total)[n] for n in names] == [loss.derive(whole)[n] for n in names]


def test_a_bound_holds_the_quantiles_too():
    batch = batch_of(2, 3)
    live = {"logp": torch.full((6,), 2.0), "entropy": torch.zeros(6)}  # sampled with -1: a logarithm of 3
    free, held = (clipped(old=old) for old in (None, sampled(bound=0.5)))
    found = [x.derive({n: float(v) for n, v in x(batch, live)[1].items()})["ratio_p50"] for x in (free, held)]
    assert [math.log(x) for x in found] == pytest.approx([MOST, 0.5], rel=0.33)
