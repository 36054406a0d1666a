"""Error rates and power: all rows at once as one after the other, and what the rule promises."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from guerdon.loop.proof.power import collapse_table, drawn, error_rates, outcomes, planted_collapse, power
from guerdon.loop.proof.verdict import LOOKS, compare_values

EFFECT = 0.02


def one_by_one(row: list[float]) -> tuple[str, int]:
    """Seeds are run until nothing more is needed."""
    comparison = compare_values(row[: LOOKS[0]], EFFECT)
    while comparison.needs:
        comparison = compare_values(row[: comparison.needs], EFFECT)
    return comparison.alone, len(comparison.differences)


@pytest.mark.slow
def test_all_rows_at_once_are_as_one_after_the_other():
    generator = np.random.default_rng(5)
    means = generator.choice([-0.04, -0.02, 0.0, 0.01, 0.02, 0.03, 0.05], (300, 1))
    rows = means + generator.normal(0.0, 1.0, (300, 32)) * generator.choice([0.0, 0.005, 0.02, 0.04], (300, 1))
    words, seeds = outcomes(rows, EFFECT)
    each = [one_by_one(row) for row in rows.tolist()]
    assert each == [(str(word), int(n)) for word, n in zip(words, seeds, strict=True)]
    assert {word for word, _ in each} == {"better", "worse", "equal", "not known"} and {n for _, n in each} == set(
        LOOKS
    )


@pytest.mark.parametrize("spread", [0.01, 0.02, 0.04, 0.08])
@pytest.mark.parametrize(
    ("truth", "wrong"),
    [
        (EFFECT, ["better", "worse", "equal"]),  # just at the effect no word is true
        (-EFFECT, ["better", "worse", "equal"]),
        (0.0, ["better", "worse"]),
        (1.5 * EFFECT, ["worse", "equal"]),
    ],
)
def test_a_word_is_wrong_5_times_in_100_at_most(truth, wrong, spread):
    words, _ = outcomes(np.random.default_rng(6).normal(truth, spread, (20_000, 32)), EFFECT)
    assert np.isin(words, wrong).mean() <= 0.05


def test_at_the_effect_better_takes_what_it_may():
    """2.5 % to one side over three looks that hang together: a little less, and not nearly nothing."""
    words, _ = outcomes(np.random.default_rng(7).normal(EFFECT, 0.02, (20_000, 32)), EFFECT)
    assert 0.015 < np.mean(words == "better") <= 0.025


def test_an_arm_with_itself():
    noise = np.random.default_rng(8).normal(0.0, 0.02, 40)
    rates = error_rates(noise.tolist(), EFFECT)
    assert sum(rates[w] for w in ("better", "worse", "equal", "not known")) == pytest.approx(1.0)
    assert rates["wrong"] == rates["better"] + rates["worse"] < 0.05
    assert 8 <= rates["seeds"] <= 32
    assert error_rates((0.001 * noise).tolist(), EFFECT)["equal"] == 1.0


def test_signs_stay_as_they_are():
    """A lean to one side that coins would have hidden."""
    rates = error_rates([0.05, 0.06, 0.07, 0.05], EFFECT)
    assert rates["better"] == rates["wrong"] == 1.0 and rates["worse"] == 0.0
    assert (drawn([0.05, 0.06], draws=10) > 0).all()


def test_power_rises_with_the_difference():
    noise = (0.5 + np.random.default_rng(9).normal(0.0, 0.02, 40)).tolist()  # centred, so that 0.5 does not matter
    none, some, more = power(noise, EFFECT, times=(1.0, 1.5, 2.0))
    assert [none["times"], some["times"], more["times"]] == [1.0, 1.5, 2.0]
    assert none["better"] < 0.05 < some["better"] < more["better"] and more["better"] > 0.95
    assert more["seeds"] < some["seeds"]


def test_power_at_one_look_is_that_of_the_noncentral_t():
    """With a difference so large that 8 seeds say it or no seeds do, against scipy."""
    draws, spread, shift = 20_000, 0.03, 0.055
    proofs = np.random.default_rng(10).normal(EFFECT + shift, spread, (draws, 32))
    words, seeds = outcomes(proofs, EFFECT)
    at_first = np.mean((words == "better") & (seeds == 8))
    want = stats.nct.sf(stats.t.ppf(0.995, 7), 7, shift / (spread / np.sqrt(8)))
    assert at_first == pytest.approx(want, abs=3 * np.sqrt(want * (1 - want) / draws))


def test_a_collapse_misled_the_first_edition_most():
    """A tenth of the baseline's runs lose 0.25: eight seeds have none of those in 0.9**8 = 43 % of proofs."""
    at = planted_collapse(sd=0.02, effect=EFFECT)
    assert at["first edition"] > 0.25 and at["at 8"] < 0.02 and at["all looks"] < 0.05
    assert at["at 8"] <= at["all looks"]


def test_a_collapse_that_hides_in_a_small_spread_misleads_still():
    """The healthy runs differ by 0.025, which is more than an effect of 0.01: no interval can know of runs that it has not
    seen."""
    assert planted_collapse(sd=0.01, effect=0.01)["at 8"] > 0.2


def test_without_a_collapse_rules_keep_their_level():
    at = planted_collapse(sd=0.02, effect=1e-6, share=0.0, draws=20_000)
    assert at["first edition"] == pytest.approx(0.05, abs=0.005)  # two-sided 5 % of 0 itself
    assert at["at 8"] == pytest.approx(0.01, abs=0.0025) and at["at 8"] < at["all looks"] < 0.05


def test_a_table_has_every_spread_and_effect():
    table = collapse_table(sds=[0.01, 0.02], effects=[0.02, 0.05], draws=500)
    assert [(row["sd"], row["effect"]) for row in table] == [(0.01, 0.02), (0.01, 0.05), (0.02, 0.02), (0.02, 0.05)]
    assert table[0] == planted_collapse(0.01, 0.02, draws=500)
