"""Verdicts by hand: intervals, the four words, false discoveries, calibration."""

from __future__ import annotations

import random

import pytest
from scipy import stats

from guerdon.exams.statistics import t_interval, t_quantile, t_tail
from guerdon.loop.proof.null import calibration
from guerdon.loop.proof.verdict import among, compare, decide, discoveries


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 8, 39, 100])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, -2.5, 7.0])
def test_tails_of_students_t(freedom, t):
    assert t_tail(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), abs=1e-13)


@pytest.mark.parametrize("freedom", [1, 7, 30])
@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_quantiles_of_students_t(freedom, confidence):
    assert t_quantile(confidence, freedom) == pytest.approx(stats.t.ppf((1 + confidence) / 2, freedom), rel=1e-9)


def test_an_interval_by_hand():
    # 1, 2, 3: mean 2, deviation 1, error 1/sqrt(3), t(2 degrees, 95 %) = 4.3027
    mean, low, high, p = t_interval([1.0, 2.0, 3.0])
    assert (mean, low, high) == pytest.approx((2.0, 2 - 4.302653 / 3**0.5, 2 + 4.302653 / 3**0.5), abs=1e-5)
    assert p == pytest.approx(stats.ttest_1samp([1.0, 2.0, 3.0], 0.0).pvalue)


def test_an_interval_without_spread():
    assert t_interval([0.0, 0.0]) == (0.0, 0.0, 0.0, 1.0)
    assert t_interval([0.5, 0.5, 0.5]) == (0.5, 0.5, 0.5, 0.0)
    with pytest.raises(ValueError, match="two values"):
        t_interval([1.0])


@pytest.mark.parametrize(
    ("mean", "low", "high", "word"),
    [
        (0.05, 0.01, 0.09, "holds"),
        (0.02, 0.001, 0.039, "holds"),  # the smallest effect itself counts
        (-0.05, -0.09, -0.01, "reversed"),
        (0.01, 0.005, 0.015, "no difference"),  # there, but too small to count
        (0.0, -0.019, 0.019, "no difference"),
        (0.01, 0.001, 0.03, "inconclusive"),  # there, and perhaps large enough
        (0.05, -0.01, 0.11, "inconclusive"),
        (0.0, -0.02, 0.02, "inconclusive"),  # the interval reaches the effect
    ],
)
def test_four_words(mean, low, high, word):
    assert decide(mean, low, high, effect=0.02) == word


def test_seeds_are_paired():
    """Seeds differ much, the method is better by about 0.03 in each: only pairing sees it."""
    theirs = [0.2, 0.4, 0.6, 0.8]
    ours = [0.23, 0.431, 0.629, 0.83]
    found = compare(ours, theirs, effect=0.02)
    assert found.verdict == "holds" and found.mean == pytest.approx(0.03)
    assert found.p == pytest.approx(stats.ttest_rel(ours, theirs).pvalue)
    assert compare(ours, theirs, effect=0.02, better="lower").verdict == "reversed"


def test_false_discoveries_by_hand():
    # m = 5 at 5 %: thresholds 0.01, 0.02, 0.03, 0.04, 0.05. 0.021 fails its own (0.02), but 0.03 passes the third
    assert discoveries([0.5, 0.03, 0.001, 0.021, 0.2]) == [False, True, True, True, False]
    assert discoveries([0.02, 0.9, 0.9, 0.9, 0.9]) == [False] * 5
    assert discoveries([]) == []


def test_false_discoveries_as_scipy_finds_them():
    draw = random.Random(1)
    for _ in range(50):
        p = [draw.random() ** 3 for _ in range(draw.randint(1, 30))]
        assert discoveries(p) == [bool(q <= 0.05) for q in stats.false_discovery_control(p)]


def test_only_discoveries_keep_their_word():
    assert among("holds", True) == "holds"
    assert among("reversed", False) == "inconclusive"
    assert among("no difference", False) == "no difference"


@pytest.mark.slow
def test_calibration_of_noise_and_of_a_difference():
    draw = random.Random(0)
    noise = [draw.gauss(0, 0.02) for _ in range(40)]
    found = calibration(noise, effect=0.01)
    assert sum(found["verdicts"].values()) == pytest.approx(1.0)
    assert 0.02 < found["wrong"] < 0.08  # the level of the test is 5 %
    assert calibration([0.001 * n for n in noise], effect=0.01)["verdicts"] == {"no difference": 1.0}
