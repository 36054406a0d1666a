"""The rule as numbers: estimates, what they can detect, words, the grid of rates and the gates, by hand and against scipy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from guerdon.prove.claim_gates import (
    above_chance,
    differing,
    enough_gain,
    enough_updates,
    failed,
    not_cut,
    problem,
    rates_inside,
)
from guerdon.prove.estimate import detectable, estimate, p_above, paired
from guerdon.prove.tuning import MOST, best, grid, is_inside, wider
from guerdon.prove.verdict import EACH, MORE, is_confirmed, seeds_of_each, word_of, word_of_cheaper

SWING = (0.01, -0.01, 0.02, -0.02, 0.005, -0.005, 0.015, -0.015)
TIGHT = tuple(0.1 * s for s in SWING)


def sample(mean: float, swing: tuple[float, ...] = TIGHT) -> list[float]:
    return [mean + s for s in swing]


def test_an_estimate_is_scipys_paired_t_interval():
    ours, theirs = [0.53, 0.58, 0.49, 0.61], [0.50, 0.51, 0.50, 0.52]
    found = paired(ours, theirs, effect=0.02)
    test = stats.ttest_rel(ours, theirs)
    ends = test.confidence_interval(0.95)
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), rel=1e-9)
    assert p_above(found.differences, 0.0, 0.02) == pytest.approx(test.pvalue / 2, rel=1e-9)
    assert found.mean == pytest.approx(0.045) and paired(ours, theirs, 0.02, "lower").mean == pytest.approx(-0.045)


@pytest.mark.parametrize("pairs", [8, 12, 16, 24])
def test_what_is_detectable_has_a_power_of_eighty_percent(pairs):
    """By the noncentral t; two quantiles of the central one come within a hundredth of it."""
    shift = detectable(1.0, pairs) * math.sqrt(pairs)
    power = stats.nct.sf(stats.t.ppf(0.975, pairs - 1), pairs - 1, shift)
    assert power == pytest.approx(0.8, abs=0.01)


def test_numbers_that_are_none_are_refused():
    with pytest.raises(ValueError, match="cannot be compared"):
        estimate([0.1, math.nan], 0.02)
    with pytest.raises(ValueError, match="above 0"):
        estimate([0.1, 0.2], 0.0)


# --- words --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "fresh", "kind", "word"),
    [
        (0.05, 0.04, "better", "ahead"),
        (-0.05, -0.04, "better", "behind"),
        (0.005, 0.005, "better", "ahead"),  # small, and confirmed
        (0.005, 0.005, "equal", "no difference"),
        (0.005, 0.005, "at least as good", "no difference"),
        (0.05, 0.05, "equal", "ahead"),
        (0.0, 0.0, "better", "no difference"),
        (0.05, 0.0, "better", "inconclusive"),  # fresh seeds do not confirm it
        (0.05, -0.05, "better", "inconclusive"),
    ],
)
def test_words(first, fresh, kind, word):
    assert word_of(estimate([*sample(first), *sample(fresh)], 0.02, first=8), kind) == word


def test_a_word_needs_fresh_seeds_and_a_narrow_interval():
    alone = estimate(sample(0.05), 0.02)
    assert not is_confirmed(alone, 1.0) and word_of(alone) == "inconclusive"
    wide = estimate([*sample(0.0, SWING), *sample(0.0, SWING)], 0.002, first=8)
    assert word_of(wide) == "inconclusive"
    same = estimate([0.01] * 16, 0.02, first=8)  # no spread: the value itself decides
    assert word_of(same) == "ahead" and word_of(estimate([0.0] * 16, 0.02, first=8)) == "no difference"


def test_each_sample_is_asked_at_five_percent():
    """Mean m and s = 0.01464 of eight: t = m sqrt(8) / s is 1.8946, the 5 % point of 7 degrees, at m = 0.009805."""
    s = np.std(SWING, ddof=1)
    edge = stats.t.ppf(0.95, 7) * s / math.sqrt(8)
    assert edge == pytest.approx(0.009805, abs=1e-6)
    for mean, ahead in ((1.001 * edge, True), (0.999 * edge, False)):
        assert is_confirmed(estimate([*sample(0.05, SWING), *sample(mean, SWING)], 0.02, first=8), 1.0) is ahead


@pytest.mark.parametrize(
    ("cost", "kept", "word"),
    [
        (0.5, 0.0, "ahead"),
        (0.5, 0.05, "ahead"),
        (0.5, -0.05, "behind"),  # it costs less, and accuracy with it
        (-0.5, 0.05, "behind"),
        (0.0, 0.0, "no difference"),
    ],
)
def test_cheaper(cost, kept, word):
    of_cost = estimate([*sample(cost), *sample(cost)], 0.1, first=8)
    assert word_of_cheaper(of_cost, estimate([*sample(kept), *sample(kept)], 0.02, first=8)) == word


def test_a_cost_is_nothing_while_it_is_open_what_is_kept():
    of_cost = estimate([*sample(0.5), *sample(0.5)], 0.1, first=8)
    open_one = estimate([*sample(-0.015, SWING), *sample(0.01, SWING)], 0.005, first=8)
    assert word_of_cheaper(of_cost, open_one) == "inconclusive"


def test_more_seeds_where_eight_and_eight_see_too_little():
    """At 16 pairs (2.1314 + 0.8662) s / 4 = 0.7494 s is detected: 15 % of a gain of 0.12 is 0.018, so s may be 0.02402."""
    assert seeds_of_each(0.0240, 0.12) == EACH and seeds_of_each(0.0241, 0.12) == MORE
    assert seeds_of_each(9.9, None) == EACH


# --- learning rates -----------------------------------------------------------------------------------------------


def tried(optimum: int) -> list[float]:
    """The rates of an arm whose best is so many steps from its default, in the order in which they are tried."""
    factors = grid((-1, 0, 1))
    score = {3.0**power: -abs(power - optimum) for power in range(-9, 10)}
    while (more := wider({factor: score[factor] for factor in factors})) is not None:
        factors.append(more)
    return factors


def test_a_grid_is_extended_until_the_best_is_inside():
    assert tried(0) == [1 / 3, 1.0, 3.0]
    assert tried(1) == [1 / 3, 1.0, 3.0, 9.0]
    assert tried(-3) == [1 / 3, 1.0, 3.0, 1 / 9, 1 / 27, 3.0**-4]
    assert len(tried(-9)) == MOST == len(tried(9)), "and no further than seven rates"
    scores = {3.0**power: -abs(power + 3) for power in (-4, -3, -2, -1, 0, 1)}
    assert is_inside(scores) and best(scores) == 3.0**-3


def test_lower_may_be_better():
    scores = {1 / 3: 5.0, 1.0: 4.0, 3.0: 3.0}
    assert wider(scores, "lower") == 9.0 and wider(scores) == 1 / 9


# --- gates --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passes", "fails"),
    [
        (problem("share", [0.6, 0.5], 0.5, 1.0), problem("share", [0.5, 0.4], 0.5, 1.0)),
        (above_chance([0.6, 0.62, 0.61], 0.5), above_chance([0.4, 0.6, 0.55], 0.5)),
        (enough_updates({"method": 150, "baseline": 151}), enough_updates({"method": 149, "baseline": 500})),
        (not_cut([0.04, 0.05]), not_cut([0.04, 0.07])),
        (enough_gain([0.13, 0.12]), enough_gain([0.13, 0.10])),
        (
            rates_inside({"method": {1 / 3: 0.1, 1.0: 0.3, 3.0: 0.2}}),
            rates_inside({"method": {1 / 3: 0.3, 1.0: 0.2, 3.0: 0.1}}),
        ),
        (
            differing({"method": {0: ("a", 1), 1: ("b", 2)}, "ablation": {0: ("c", 1), 1: ("d", 3)}}),
            differing({"method": {0: ("a", 1), 1: ("b", 2)}, "ablation": {0: ("c", 1), 1: ("d", 2)}}),
        ),
    ],
)
def test_every_gate_can_fail(passes, fails):
    assert failed([passes, fails]) == [fails] and fails["why"]


def test_arms_that_are_one_experiment_are_no_failure():
    assert differing({"baseline": {0: ("a", 1), 1: ("b", 2)}, "ablation": {0: ("a", 1), 1: ("b", 2)}})["open"]
