"""Statistics by hand, against brute force, and against scipy and scikit-learn."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats
from scipy.stats import binomtest
from sklearn.metrics import roc_auc_score

from guerdon.core.statistics import (
    auc,
    auc_interval,
    bootstrap_intervals,
    bootstrap_weights,
    even_mean,
    interval,
    mean_and_spread,
    newcombe,
    paired_bootstrap,
    pass_at_k,
    pearson,
    ranks,
    spearman,
    stratified_auc,
    t_above,
    t_interval,
    t_quantile,
    t_tail,
    weighted_means,
    weighted_pearson,
    weighted_ranks,
    welch,
)


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


def test_means_of_kinds_weigh_the_same():
    # means 1 and 1/2; the second has variance 1/3 of 4 values, so the error is sqrt(1/12) / 2
    assert even_mean({"a": [1.0, 1.0], "b": [0.0, 1.0, 0.0, 1.0]}) == pytest.approx((0.75, math.sqrt(1 / 12) / 2))


def test_two_rates_and_two_means_by_hand():
    a, b = (0.6, 0.5, 0.7), (0.4, 0.25, 0.55)
    assert newcombe(a, b) == pytest.approx((0.2, 0.2 - math.sqrt(0.0325), 0.2 + math.sqrt(0.0325)))
    # variances 1 and 4 of three each: error sqrt(5/3), 2.94 degrees rounded down to 2, of which t is 4.3027
    value, low, high = welch([1.0, 2.0, 3.0], [2.0, 4.0, 6.0])
    half = 4.302653 * math.sqrt(5 / 3)
    assert (value, low, high) == pytest.approx((-2.0, -2.0 - half, -2.0 + half), rel=1e-6)
    assert welch([1.0, 1.0], [0.5, 0.5]) == (0.5, 0.5, 0.5)


def test_welchs_error_and_degrees_are_scipys():
    a, b = [0.2, 0.5, 0.9, 0.4], [0.1, 0.8, 0.7, 0.6, 0.3, 0.2]
    want = stats.ttest_ind(a, b, equal_var=False)
    value, low, high = welch(a, b)
    assert (low + high) / 2 == pytest.approx(value) == pytest.approx(np.mean(a) - np.mean(b))
    error = value / want.statistic
    assert (high - low) / 2 == pytest.approx(stats.t.ppf(0.975, math.floor(want.df)) * error)


# --- the bootstrap ----------------------------------------------------------------------------------------------------


def test_the_paired_bootstrap_by_hand():
    # of two problems the mean of two draws is 0, 1/2 or 1, one time in four, in two and in four
    assert paired_bootstrap([[0.0, 1.0]]) == (0.5, 0.0, 1.0)
    # of 100 problems it is close to the normal interval of the mean
    value, low, high = paired_bootstrap([[1.0] * 30 + [0.0] * 70])
    error = math.sqrt(0.3 * 0.7 / 100)
    assert value == 0.3 and abs(low - (0.3 - 1.96 * error)) < 0.011 and abs(high - (0.3 + 1.96 * error)) < 0.011
    # groups weigh the same, however many problems they have
    assert paired_bootstrap([[1.0] * 9, [0.0, 0.0, 0.0]])[0] == 0.5
    # all equal: 3 in 30 may be otherwise
    assert paired_bootstrap([[1.0] * 30]) == (1.0, pytest.approx(0.8), 1.0)


def test_bootstrap_samples_keep_the_size_of_every_stratum_and_follow_the_seed():
    strata = ["a"] * 5 + ["b"] * 3
    drawn = np.concatenate([*bootstrap_weights(strata, 250, 1, "x")])
    assert drawn.shape == (250, 8) and (drawn[:, :5].sum(axis=1) == 5).all() and (drawn[:, 5:].sum(axis=1) == 3).all()
    assert (drawn == np.concatenate([*bootstrap_weights(strata, 250, 1, "x")])).all()
    assert (drawn != np.concatenate([*bootstrap_weights(strata, 250, 2, "x")])).any()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(8), abs=0.25)


def test_bootstrap_intervals_agree_with_scipys():
    values = np.random.default_rng(0).random((200, 1))
    ours = bootstrap_intervals(lambda w: {"mean": weighted_means(w, values)[:, 0]}, [""] * 200, 4000, 0, "x")["mean"]
    theirs = stats.bootstrap((values[:, 0],), np.mean, n_resamples=4000, method="percentile", rng=0)
    assert ours.value == pytest.approx(values.mean())
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.004)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.004)


# --- ranks and correlation --------------------------------------------------------------------------------------------


def test_correlations_by_hand():
    x = np.array([1.0, 2.0, 3.0, 10.0])
    assert pearson(x, x**3) < 1.0 and spearman(x, x**3) == pytest.approx(1.0)
    assert ranks([5.0, 1.0, 5.0, 7.0]).tolist() == [2.5, 1.0, 2.5, 4.0]
    assert pearson(x, -x) == -1.0
    # deviations -1, 0, 1 and -1, 1, 0: 1 over sqrt(2 * 2)
    assert pearson([1.0, 2.0, 3.0], [0.0, 2.0, 1.0]) == pytest.approx(0.5)
    assert math.isnan(pearson(x, np.ones(4))) and math.isnan(pearson(x[:1], x[:1]))


ROWS = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4), st.integers(0, 3)), min_size=3, max_size=12)


@given(ROWS)
def test_correlations_are_scipys_and_whole_weights_are_repeated_rows(rows):
    x, y, weight = (np.array(column, float) for column in zip(*rows, strict=True))
    if weight.sum() == 0:
        return
    again = [np.repeat(each, weight.astype(int)) for each in (x, y)]
    rank = weighted_pearson(weight[None], weighted_ranks(weight[None], x), weighted_ranks(weight[None], y))[0]
    plain = weighted_pearson(weight[None], x, y)[0]
    if min(np.ptp(each) for each in again) == 0 or len(again[0]) < 2:
        assert np.isnan(plain) and np.isnan(rank) and np.isnan(pearson(*again)) and np.isnan(spearman(*again))
    else:
        want = stats.pearsonr(*again).statistic, stats.spearmanr(*again).statistic
        assert (plain, rank) == pytest.approx(want, abs=1e-9)
        assert (pearson(*again), spearman(*again)) == pytest.approx(want, abs=1e-9)


# --- how well scores distinguish --------------------------------------------------------------------------------------


def test_areas_are_those_of_scikit_learn():
    draw = np.random.default_rng(0)
    for _ in range(10):
        scores, positive = draw.integers(0, 6, 50).astype(float), draw.random(50) < 0.4
        assert auc(scores[positive], scores[~positive]) == pytest.approx(roc_auc_score(positive, scores))
    assert math.isnan(auc([1.0, 2.0], []))


def test_only_pairs_of_one_stratum_count():
    """Members are mostly right and right answers score high: within right and within wrong there is nothing to distinguish."""
    right = [True] * 4 + [False] + [True] + [False] * 4
    members = [True] * 5 + [False] * 5
    scores = [1.0 if each else 0.0 for each in right]
    assert auc_interval(scores, members, draws=0).value == pytest.approx(0.5 + 0.5 * (16 - 1) / 25)
    assert auc_interval(scores, members, right, draws=0).value == 0.5
    assert stratified_auc([([1.0], [0.0]), ([0.0, 0.0], [1.0])]) == pytest.approx(1 / 3)
