"""Pass rates against brute force, intervals and Student's t against scipy and against what they promise."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest

from guerdon.exams.statistics import interval, mean_and_spread, pass_at_k, t_above, t_interval, t_quantile, t_tail


@pytest.mark.parametrize("n", range(1, 8))
def test_pass_at_k_is_the_share_of_draws_with_a_right_one(n):
    for right, k in itertools.product(range(n + 1), range(1, n + 1)):
        draws = list(itertools.combinations([1] * right + [0] * (n - right), k))
        assert pass_at_k(n, right, k) == pytest.approx(sum(any(d) for d in draws) / len(draws), abs=1e-12)


def test_pass_at_k_is_unbiased():
    p, n, k = 0.3, 6, 3
    mean = sum(math.comb(n, c) * p**c * (1 - p) ** (n - c) * pass_at_k(n, c, k) for c in range(n + 1))
    assert mean == pytest.approx(1 - (1 - p) ** k, rel=1e-12)


@pytest.mark.parametrize(("n", "right", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 4), (3, 1, 0)])
def test_impossible_counts_are_refused(n, right, k):
    with pytest.raises(ValueError, match=f"pass@{k} from {right} right of {n}"):
        pass_at_k(n, right, k)


@given(st.integers(1, 200), st.data())
def test_one_try_a_task_gives_wilsons_interval(n, data):
    right = data.draw(st.integers(0, n))
    mean, low, high = interval([1.0] * right + [0.0] * (n - right))
    want = binomtest(right, n).proportion_ci(method="wilson")
    assert mean == pytest.approx(right / n)
    assert (low, high) == pytest.approx((want.low, want.high), abs=1e-9)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=30))
def test_an_interval_holds_its_mean_and_stays_a_rate(rates):
    mean, low, high = interval(rates)
    assert 0.0 <= low <= mean + 1e-12
    assert mean - 1e-12 <= high <= 1.0


@given(st.lists(st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0]), min_size=2, max_size=30))
def test_several_tries_a_task_never_widen_the_interval_beyond_one_try_a_task(rates):
    m, (mean, low, high) = len(rates), interval(rates)
    z2 = 1.959963984540054**2
    widest = 2 * math.sqrt(z2) / (1 + z2 / m) * math.sqrt(mean * (1 - mean) / m + z2 / (4 * m * m))
    assert high - low <= widest + 1e-9


def test_no_task_has_no_rate():
    assert all(math.isnan(x) for x in interval([]))


@pytest.mark.parametrize(("spread", "tries"), [("one try", 1), ("equal tasks", 4), ("uneven tasks", 4)])
def test_the_interval_holds_the_truth_about_as_often_as_it_says(spread, tries):
    rng = np.random.default_rng(7)
    held = []
    for _ in range(600):
        truth = rng.beta(0.8, 1.2, size=60) if spread == "uneven tasks" else np.full(60, 0.3)
        rates = rng.binomial(tries, truth) / tries
        _, low, high = interval(rates.tolist())
        centre = 0.4 if spread == "uneven tasks" else 0.3
        held.append(low <= centre <= high)
    assert 0.925 <= np.mean(held) <= 0.999


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 8, 39, 100])
@pytest.mark.parametrize("t", [0.0, 0.3, 1.0, -2.5, 7.0])
def test_tails_of_students_t(freedom, t):
    assert t_tail(t, freedom) == pytest.approx(2 * stats.t.sf(abs(t), freedom), abs=1e-13)


@pytest.mark.parametrize("freedom", [1, 2, 7, 31])
@pytest.mark.parametrize("t", [0.0, 0.4, -0.4, 3.0, -3.0])
def test_one_tail_of_students_t(freedom, t):
    assert t_above(t, freedom) == pytest.approx(stats.t.sf(t, freedom), abs=1e-13)


def test_a_spread_by_hand():
    # 1, 2, 3, 6: mean 3, squares 4 + 1 + 0 + 9 = 14, over 3
    assert mean_and_spread([1.0, 2.0, 3.0, 6.0]) == pytest.approx((3.0, (14 / 3) ** 0.5))
    with pytest.raises(ValueError, match="two values"):
        mean_and_spread([1.0])


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
