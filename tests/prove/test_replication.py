"""Where fresh seeds should come out: the formula against scipy, and how often it is right."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from guerdon.loop.proof.replication import prediction, replicated


@pytest.mark.parametrize(("n", "fresh", "confidence"), [(8, 8, 0.95), (16, 8, 0.95), (32, 4, 0.9)])
def test_the_interval_as_scipy_gives_it(n, fresh, confidence):
    values = np.random.default_rng(n).normal(0.03, 0.02, n).tolist()
    scale = stats.tstd(values) * math.sqrt(1 / n + 1 / fresh)
    want = stats.t.interval(confidence, n - 1, loc=np.mean(values), scale=scale)
    assert prediction(values, fresh, confidence) == pytest.approx(want)


def test_of_equal_sizes_it_is_by_hand():
    # 1, 2, 3: mean 2, s = 1, t = 4.302653; sqrt(1/3 + 1/6) = sqrt(1/2)
    half = 4.302653 / math.sqrt(2)
    assert prediction([1.0, 2.0, 3.0], fresh=6) == pytest.approx((2 - half, 2 + half), abs=1e-5)


@pytest.mark.parametrize(("n", "fresh"), [(8, 8), pytest.param(32, 8, marks=pytest.mark.slow)])
def test_it_holds_the_fresh_mean_as_often_as_it_says(n, fresh):
    generator = np.random.default_rng(11)
    inside = [
        replicated(generator.normal(0.01, 0.05, n).tolist(), generator.normal(0.01, 0.05, fresh).tolist())["inside"]
        for _ in range(1500)
    ]
    assert np.mean(inside) == pytest.approx(0.95, abs=0.017)  # three standard errors


def test_what_comes_out_again_and_what_does_not():
    old = [0.04, 0.05, 0.06, 0.05, 0.04, 0.06, 0.05, 0.05]
    again, gone = replicated(old, [0.05, 0.04, 0.06, 0.055]), replicated(old, [0.0, 0.01, -0.01, 0.0])
    assert again["inside"] and again["mean"] == pytest.approx(0.05125)
    assert not gone["inside"] and gone["mean"] < gone["low"] < gone["high"]
    assert (again["low"], again["high"]) == pytest.approx(prediction(old, fresh=4))


def test_without_spread_it_is_one_number():
    """Nine times 0.03 over nine, and eleven over eleven, are not 0.03 to the last digit, and lie either side of it."""
    assert replicated([0.03] * 8, [0.03] * 9)["inside"] and replicated([0.03] * 8, [0.03] * 11)["inside"]
    assert not replicated([0.1] * 7, [0.1, 0.1, 0.11])["inside"]
