"""Verdicts by hand, against scipy and by enumeration: words, looks, signs, collapses, what claims come to."""

from __future__ import annotations

import dataclasses
import itertools
import json
import math
import random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from guerdon.loop.proof.verdict import (
    ERROR,
    LOOKS,
    SPENT,
    Comparison,
    Look,
    collapses,
    compare,
    compare_values,
    p_no_worse,
    sign_flip,
    stands,
    stands_cheaper,
)

EFFECT = 0.02
NOISE = [-0.007, -0.005, -0.003, -0.001, 0.001, 0.003, 0.005, 0.007]  # of mean 0: eight seeds
draws = st.builds(
    lambda mean, scale, values: [mean + scale * v for v in values],
    st.sampled_from([-0.04, -0.02, 0.0, 0.01, 0.025, 0.04]),
    st.sampled_from([0.003, 0.01, 0.03]),
    st.lists(st.floats(-1, 1), min_size=8, max_size=40),
)


def around(mean: float, scale: float = 1.0, times: int = 1) -> list[float]:
    return [mean + scale * each for each in NOISE] * times


def p_values(values: list[float]) -> dict[str, float]:
    """As scipy has them."""
    at = {
        (side, bound): stats.ttest_1samp(values, bound, alternative=side).pvalue
        for side in ("greater", "less")
        for bound in (EFFECT, -EFFECT)
    }
    return {
        "p_better": at["greater", EFFECT],
        "p_worse": at["less", -EFFECT],
        "p_equal": max(at["greater", -EFFECT], at["less", EFFECT]),
        "p_no_worse": at["greater", -EFFECT],
    }


def test_the_error_is_spent_once():
    assert sum(SPENT) == pytest.approx(1.0) and len(SPENT) == len(LOOKS)


def test_a_look_by_hand():
    # The squares of 1, 3, 5, 7 twice are 168; over 7 they are 24: s = 0.001 sqrt(24), error = 0.001 sqrt(3).
    # From 0.026 it is 0.006 to the effect, t = 6 / sqrt(3) = 3.4641 of 7 degrees; 99 % takes 3.4995, so the look says nothing;
    # from 0.0262 t = 3.5796, and it does.
    below, above = compare_values(around(0.026), EFFECT), compare_values(around(0.0262), EFFECT)
    assert below.sd == pytest.approx(0.001 * math.sqrt(24)) and below.mean == pytest.approx(0.026)
    assert below.looks[0]["p_better"] == pytest.approx(stats.t.sf(math.sqrt(12), 7))
    assert below.looks[0]["level"] == pytest.approx(0.01) and below.looks[0]["seeds"] == 8
    assert (below.alone, above.alone) == ("not known", "better")
    assert above.p == pytest.approx(10 * stats.t.sf(6.2 / math.sqrt(3), 7)) and below.p > 0.05 > above.p


@pytest.mark.parametrize("seed", range(6))
def test_looks_as_scipy_has_them(seed):
    draw = random.Random(seed)
    values = [draw.gauss(0.01 * seed - 0.02, 0.03) for _ in range(32)]
    comparison = compare_values(values, EFFECT)
    for look, seeds, share in zip(comparison.looks, LOOKS, SPENT, strict=True):
        assert look["seeds"] == seeds and look["level"] == pytest.approx(0.05 * share)
        assert {name: look[name] for name in p_values(values[:seeds])} == pytest.approx(p_values(values[:seeds]))


@pytest.mark.parametrize(
    ("mean", "word"),
    [
        (0.03, "better"),
        (0.022, "not known"),
        (0.018, "not known"),
        (0.01, "equal"),
        (0.0, "equal"),
        (-0.01, "equal"),
        (-0.018, "not known"),
        (-0.03, "worse"),
    ],
)
def test_words(mean, word):
    assert compare_values(around(mean), EFFECT).alone == word


def word_of_interval(values: list[float], confidence: float) -> str:
    n = len(values)
    low, high = stats.t.interval(confidence, n - 1, loc=sum(values) / n, scale=stats.sem(values))
    says = {"better": low > EFFECT, "worse": high < -EFFECT, "equal": low > -EFFECT and high < EFFECT}
    return next((word for word, is_so in says.items() if is_so), "")


@given(draws)
def test_words_are_read_off_the_intervals(values):
    """The first interval, of 99, 98.5 and 97.5 %, that lies above, below or within the effect."""
    assume(max(values[:8]) - min(values[:8]) > 1e-6)
    looks = [(n, 1 - 0.05 * share) for n, share in zip(LOOKS, SPENT, strict=True) if n <= len(values)]
    words = [word_of_interval(values[:n], confidence) for n, confidence in looks]
    assert compare_values(values, EFFECT).alone == next(filter(None, words), "not known")


def test_the_first_look_that_says_a_word_wins():
    """Equal after 8, and then 24 seeds so much better that all 32 alone would say so."""
    turned = compare_values(around(0.0) + around(0.1, times=3), EFFECT)
    assert compare_values(around(0.0), EFFECT).alone == turned.alone == "equal"
    assert turned.looks[-1]["p_better"] < 1e-6
    assert turned.p == pytest.approx(
        10 * turned.looks[0]["p_equal"]
    )  # the p of the word that was said, and of no other


def test_a_later_look_can_say_what_the_first_could_not():
    wide = around(0.03, 3.0)
    first, second = compare_values(wide, EFFECT), compare_values(wide * 2, EFFECT)
    assert (first.alone, second.alone) == ("not known", "better")
    assert second.p == pytest.approx(2 * second.looks[1]["p_better"] / 0.3)


@given(draws)
def test_a_p_falls_with_every_look_and_is_small_where_there_is_a_word(values):
    parts = [compare_values(values[:n], EFFECT) for n in LOOKS if n <= len(values)]
    for before, after in itertools.pairwise(parts):
        assert after.p <= before.p
        assert before.alone in ("not known", after.alone)
    assert all((part.p <= ERROR) == (part.alone != "not known") for part in parts)


def test_seeds_between_looks_are_shown_and_wait():
    ten = compare_values([*around(0.0, 4.0), 0.5, 0.5], EFFECT)
    assert [look["seeds"] for look in ten.looks] == [8]
    assert ten.mean == pytest.approx(0.1) and ten.needs == 16
    few = compare_values([0.1, 0.2], EFFECT)
    assert (few.looks, few.alone, few.p, few.needs) == ([], "not known", 1.0, 8)


@pytest.mark.parametrize(
    ("values", "needs"),
    [
        (around(0.0), 0),  # equal
        (around(0.0, 9.0), 16),
        (around(0.0, 9.0, times=2), 0),  # open, and a difference has become unlikely
        (around(0.021, 9.0, times=2), 32),
        (around(-0.021, 9.0, times=2), 32),
        (around(0.02, 9.0, times=2), 32),  # the effect itself counts
        (around(0.021, 9.0, times=4), 0),  # open still, and the end
    ],
)
def test_when_there_is_another_look(values, needs):
    assert compare_values(values, EFFECT).needs == needs


def test_looks_may_be_others():
    two = compare_values([0.05, 0.051], EFFECT, looks=(2,))
    assert two.looks[0]["level"] == pytest.approx(0.01) and two.needs == 0
    with pytest.raises(ValueError):
        compare_values([0.05, 0.051], EFFECT, looks=(2, 3, 4, 5))


@pytest.mark.parametrize(
    ("value", "word"),
    [(0.03, "better"), (0.02, "not known"), (0.01, "equal"), (0.0, "equal"), (-0.02, "not known"), (-0.03, "worse")],
)
def test_without_spread_the_value_decides(value, word):
    """And rounding is no spread: 0.5 + value - 0.5 is value only nearly."""
    same = compare_values([value] * 8, EFFECT)
    rounded = compare([0.1 * i + value for i in range(8)], [0.1 * i for i in range(8)], EFFECT)
    assert same.alone == rounded.alone == word
    assert same.p == rounded.p == (1.0 if word == "not known" else 0.0)
    assert (same.sd, same.low, same.high) == (0.0, value, value)


def test_seeds_are_paired():
    """Seeds differ much, the method is better by about 0.03 in each: only pairing sees it."""
    theirs = [0.1 * i for i in range(8)]
    ours = [b + d for b, d in zip(theirs, around(0.03), strict=True)]
    comparison = compare(ours, theirs, EFFECT)
    interval = stats.ttest_rel(ours, theirs).confidence_interval(0.95)
    assert comparison.alone == "better" and comparison.mean == pytest.approx(0.03)
    assert (comparison.low, comparison.high) == pytest.approx((interval.low, interval.high))
    assert compare(ours, theirs, EFFECT, better="lower").alone == "worse"
    assert compare(theirs, ours, EFFECT, better="lower").differences == pytest.approx(comparison.differences)
    with pytest.raises(ValueError):
        compare(ours, theirs[:7], EFFECT)


def test_a_comparison_comes_back_from_a_file():
    comparison = compare(around(0.5), around(0.4), EFFECT)
    assert Comparison(**json.loads(json.dumps(dataclasses.asdict(comparison)))) == comparison


@pytest.mark.parametrize("values", [[0.1, math.nan], [0.1, math.inf]])
def test_what_is_no_number_is_refused(values):
    with pytest.raises(ValueError, match="not a number"):
        compare_values(values, EFFECT)


def test_an_effect_is_above_0():
    with pytest.raises(ValueError, match="above 0"):
        compare_values(NOISE, 0.0)


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=8))
def test_signs_by_enumeration(values):
    """Whole numbers, so that ties are ties."""
    sums = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    assert sign_flip(values) == sum(s >= abs(sum(values)) for s in sums) / len(sums)


def test_signs_as_scipy_turns_them():
    draw = random.Random(3)
    values = [draw.gauss(0.01, 0.03) for _ in range(12)]
    done = stats.permutation_test(
        (values,),
        lambda x: abs(sum(x)),
        permutation_type="samples",
        alternative="greater",
        n_resamples=10_000,
        vectorized=False,
    )
    assert sign_flip(values) == done.pvalue


def test_rounding_breaks_no_ties():
    """As far out as 0.9 are 0.5 + 0.4 + 0.2 + 0.2, and that with either 0.2 turned, to both sides: 6 ways of 16."""
    assert sign_flip([-0.5, -0.4, -0.2, 0.2]) == 6 / 16


def test_many_signs_are_drawn():
    """Of 20 equal values, as many as 15 point to one side in 2 * 21,700 of 2**20 ways."""
    values = [0.1] * 15 + [-0.1] * 5
    exact = 2 * sum(math.comb(20, k) for k in range(6)) / 2**20
    assert sign_flip(values) == pytest.approx(exact, abs=3 * math.sqrt(exact / 2**16))
    assert sign_flip(values) == sign_flip(values)
    assert 1 / (2**16 + 1) <= sign_flip([0.1] * 32) < 1e-4  # never 0
    assert sign_flip([0.0] * 32) == sign_flip([0.0] * 8) == 1.0


def test_collapses_by_hand():
    # median 0.49, deviations 0, 0.01, 0.01, 0.02, 0.03, 0.1, 0.39: four times 1.4826 times 0.02 are 0.1186
    arm = [0.5, 0.51, 0.49, 0.52, 0.48, 0.1, 0.39]
    assert collapses(arm, 0.01) == 1  # five effects are less; 0.39 is not far enough
    assert collapses(arm, 0.1) == 0  # five effects are more
    assert collapses(arm, EFFECT, better="lower") == 0
    assert collapses([1 - s for s in arm], EFFECT, better="lower") == 1
    assert collapses([0.5] * 7 + [0.375], 0.025) == 0  # as far as five effects, and no further
    assert compare(arm, [0.5] * 7, EFFECT).collapses == [1, 0]


@pytest.mark.parametrize(
    ("kind", "better", "equal", "worse"),
    [
        ("better", "supported", "refuted", "refuted"),
        ("at least as good", "supported", "supported", "refuted"),
        ("equal", "refuted", "supported", "refuted"),
    ],
)
def test_what_claims_come_to(kind, better, equal, worse):
    comparison = compare_values(around(0.0, 20.0), EFFECT)  # says nothing by itself
    assert [stands(kind, comparison, word) for word in ("better", "equal", "worse")] == [better, equal, worse]
    assert stands(kind, comparison, "not known") == stands(kind, comparison, "not testable here") == "open"


def test_at_least_as_good_can_be_known_where_nothing_else_is():
    comparison = compare_values(around(0.018), EFFECT)
    want = 2 * stats.ttest_1samp(around(0.018), -EFFECT, alternative="greater").pvalue / 0.2
    assert comparison.alone == "not known" and p_no_worse(comparison) == pytest.approx(want) and want < 0.05
    assert stands("at least as good", comparison, "not known") == "supported"
    assert stands("better", comparison, "not known") == stands("equal", comparison, "not known") == "open"


def test_cheaper_is_two_things():
    cheap, dear, unclear = (compare_values(v, EFFECT) for v in (around(0.1), around(0.0), around(0.0, 20.0)))
    good, bad = compare_values(around(0.018), EFFECT), compare_values(around(-0.1), EFFECT)
    assert stands_cheaper(cheap, cheap.alone, good, good.alone) == "supported"
    assert stands_cheaper(cheap, cheap.alone, bad, bad.alone) == "refuted"
    assert stands_cheaper(dear, dear.alone, good, good.alone) == "refuted"
    assert stands_cheaper(dear, dear.alone, unclear, unclear.alone) == "refuted"
    assert stands_cheaper(cheap, cheap.alone, unclear, unclear.alone) == "open"


def test_looks_have_the_names_that_are_written():
    assert set(compare_values(NOISE, EFFECT).looks[0]) == set(Look.__annotations__)
