"""The decayed sum and the moments of ragged groups, against plain Python, and over a million entries."""

from __future__ import annotations

import math
import statistics

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from guerdon.core.levels import moments
from guerdon.credit.returns import decayed_sum, later_sum

NAN = float("nan")


def slow(groups, keep):
    found = []
    for values, factors in zip(groups, keep, strict=True):
        after, made = 0.0, []
        for x, k in zip(reversed(values), reversed(factors), strict=True):
            after = x + (k * after if made else 0.0)
            made.insert(0, after)
        found += made
    return found


numbers = st.lists(st.lists(st.floats(-10, 10) | st.just(NAN), max_size=9), max_size=6)


@given(numbers, st.floats(0, 1))
def test_it_is_the_loop_from_the_end(groups, keep):
    x = torch.tensor([v for g in groups for v in g], dtype=torch.float64)
    group = torch.tensor([i for i, g in enumerate(groups) for _ in g], dtype=torch.long)
    want = torch.tensor(slow(groups, [[keep] * len(g) for g in groups]), dtype=torch.float64)
    missing = later_sum(torch.isnan(x).double(), group) > 0
    want[missing] = NAN
    assert torch.allclose(decayed_sum(x, keep, group), want, atol=1e-9, equal_nan=True)


def test_a_factor_for_each_entry():
    x, group = torch.tensor([1.0, 2.0, 4.0, 8.0]), torch.tensor([0, 0, 0, 1])
    keep = torch.tensor([0.5, 0.25, 99.0, 99.0])  # what comes after a group's last is never used
    assert decayed_sum(x, keep, group).tolist() == [1 + 0.5 * (2 + 0.25 * 4), 2 + 0.25 * 4, 4.0, 8.0]


def test_nothing_is_nothing():
    assert decayed_sum(torch.zeros(0), 0.9, torch.zeros(0, dtype=torch.long)).shape == (0,)


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 15, 16, 17, 1000, 1023])
def test_rows_of_any_length_meet(size):
    x = torch.randn(size, generator=torch.Generator().manual_seed(size), dtype=torch.float64)
    want = torch.tensor(slow([x.tolist()], [[0.9] * size]), dtype=torch.float64)
    assert torch.allclose(decayed_sum(x, 0.9, torch.zeros(size, dtype=torch.long)), want, atol=1e-12)


def test_a_missing_entry_stays_in_its_group():
    x, group = torch.tensor([1.0, NAN, 2.0, 5.0]), torch.tensor([0, 0, 0, 1])
    assert [math.isnan(v) for v in decayed_sum(x, 0.5, group).tolist()] == [True, True, False, False]


@pytest.mark.parametrize("keep", [1.0, 0.9999])
def test_a_million_steps_in_one_group_keep_their_digits(keep):
    n = 1_000_000
    x = torch.full((n,), 0.1)
    one = float(x[0])
    want = one * n if keep == 1.0 else one * (1 - keep**n) / (1 - keep)
    assert decayed_sum(x, keep, torch.zeros(n, dtype=torch.long))[0].item() == pytest.approx(want, rel=1e-6)
    exact = decayed_sum(x.double(), keep, torch.zeros(n, dtype=torch.long))[0].item()
    assert exact == pytest.approx(want, rel=1e-11)


@given(numbers)
def test_moments_are_those_of_the_statistics_module(groups):
    x = torch.tensor([v for g in groups for v in g], dtype=torch.float64)
    group = torch.tensor([i for i, g in enumerate(groups) for _ in g], dtype=torch.long)
    valued = [[v for v in g if v == v] for g in groups]
    count, mean, spread = moments(x, group, len(groups))
    assert count.tolist() == [len(g) for g in valued]
    want_mean = [statistics.fmean(g) if g else NAN for g in valued]
    want_spread = [NAN if not g else statistics.stdev(g) if len(g) > 1 else 0.0 for g in valued]
    assert torch.allclose(mean, torch.tensor(want_mean, dtype=torch.float64), equal_nan=True)
    assert torch.allclose(spread, torch.tensor(want_spread, dtype=torch.float64), atol=1e-7, equal_nan=True)
