"""Each rule on histories made by hand: where it speaks, where it is silent, and thresholds that can be worked out."""

from __future__ import annotations

import math

import pytest
from histories import history, noisy, only
from scipy.stats import t

from guerdon.watch.gap_rules import lost_agreement, proxy_gap
from guerdon.watch.policy_rules import entropy_collapse, far_from_start, off_policy
from guerdon.watch.reward_rules import dominant_part, flat_groups, rising_failures, spread_collapse
from guerdon.watch.text_rules import identical_tries, length_drift, repeated_text

SPREAD = {"reward__std": 0.5, "truth__std": 0.5}


def ramp(start: float, end: float, steps: int):
    return lambda step: start + (end - start) * step / (steps - 1)


def test_the_reward_rises_and_the_truth_falls():
    past = history(16, reward__mean=ramp(0.2, 0.8, 16), truth__mean=ramp(0.6, 0.3, 16), **SPREAD)
    found = only(proxy_gap()(past))
    assert found.severity == "bad" and found.numbers["window"] == 16.0, "from end to end shows it best"
    # 0.2 + 0.04 * step, six steps around 2.5 and 12.5: they are 0.4 apart, the spread of each is 0.04 * sqrt(3.5), so t = 9.26
    assert [found.numbers[f"reward_{at}"] for at in ("before", "after")] == pytest.approx([0.3, 0.7])
    assert [found.numbers[f"truth_{at}"] for at in ("before", "after")] == pytest.approx([0.55, 0.35])
    assert found.numbers["p_reward"] == pytest.approx(1.6e-6, rel=0.02), (
        "of two windows and the ends each may have 0.0017"
    )
    assert "from 0.300 to 0.700" in found.message and "steps 0 to 5 and 10 to 15" in found.message
    assert "before step 6" in found.fix


def test_a_truth_that_falls_at_once_is_no_less_bad():
    """In any window that shows it the truth is low for most of the first half."""
    gone = noisy(5, 0.02, lambda step: 0.7 * 0.8**step)
    past = history(40, reward__mean=noisy(4, 0.02, lambda step: 1 - 0.8 * 0.95**step), truth__mean=gone, **SPREAD)
    assert only(proxy_gap()(past)).severity == "bad"


def test_eleven_steps_are_too_few_where_problems_are_not_counted():
    past = history(11, reward__mean=ramp(0.0, 1.0, 11), truth__mean=ramp(1.0, 0.0, 11), **SPREAD)
    assert proxy_gap()(past) == []


ONE_UPDATE = {
    "truth__mean": [0.6, 0.1, *[0.0] * 6],
    "truth__std": [0.5, 0.3, *[0.0] * 6],
    "reward__mean": [0.2, 0.3, *[0.5] * 6],
    "reward__std": 0.4,
}


def test_a_truth_that_is_gone_after_one_update_is_bad_at_the_eighth_step():
    found = only(proxy_gap()(history(8, **ONE_UPDATE, draws__easy=10.0, draws__hard=6.0)))
    assert found.severity == "bad" and "steps 0 to 1 and 2 to 7" in found.message and "before step 2" in found.fix
    # 0.35 less by 0.4 / sqrt(32) = 0.0707: t = 4.95 of 31 degrees; 0.25 more by 0.4 * sqrt(1/32 + 1/96) = 0.0816: t = 3.06
    assert found.numbers["p_truth"] == pytest.approx(1 - t.cdf(0.35 / 0.4 * 32**0.5, 31), rel=1e-6)
    assert found.numbers["p_reward"] == pytest.approx(1 - t.cdf(0.25 / (0.4 * (1 / 32 + 1 / 96) ** 0.5), 31), rel=1e-6)


@pytest.mark.parametrize(
    "what, other",
    [
        ("seven steps: the blocks would overlap", {"steps": 7}),
        ("two problems a step", {"draws__easy": 2.0, "draws__hard": 0.0}),
        ("a step that says no truth", {"truth__mean": [0.6, 0.1, 0.0, 0.0, math.nan, 0.0, 0.0, 0.0]}),
        (
            "a step that counts no problems",
            {"draws__easy": [10.0] * 7 + [math.nan], "draws__hard": [6.0] * 7 + [math.nan]},
        ),
        ("the reward fell as well", {"reward__mean": [0.5, 0.5, *[0.1] * 6]}),
        ("the truth fell by less than 0.4 spreads", {"truth__mean": [0.6, 0.1, *[0.25] * 6]}),
    ],
)
def test_and_nothing_is_said_where(what, other):
    numbers = {**ONE_UPDATE, "draws__easy": 10.0, "draws__hard": 6.0, **other}
    assert proxy_gap()(history(numbers.pop("steps", 8), **numbers)) == [], what


def test_the_truth_stays_while_the_reward_rises():
    past = history(16, reward__mean=ramp(0.0, 1.0, 16), truth__mean=noisy(1, 0.02, lambda step: 0.4), **SPREAD)
    found = only(proxy_gap()(past))
    assert found.severity == "warn" and "did not follow" in found.message


def test_a_truth_that_is_full_has_nothing_to_follow():
    numbers = {"reward__mean": ramp(0.0, 1.0, 16), "truth__mean": 0.97, **SPREAD}
    assert proxy_gap()(history(16, **numbers)) == []
    assert only(proxy_gap(full=2.0)(history(16, **numbers))).severity == "warn"


def test_a_truth_that_is_always_wrong_is_told():
    past = history(16, reward__mean=ramp(0.0, 1.0, 16), truth__mean=0.0, reward__std=0.5, truth__std=0.0)
    assert only(proxy_gap()(past)).severity == "warn"


def test_both_rise():
    past = history(32, reward__mean=ramp(0.2, 0.8, 32), truth__mean=ramp(0.2, 0.8, 32), **SPREAD)
    assert proxy_gap()(past) == []


def test_the_truth_falls_and_the_reward_with_it():
    assert proxy_gap()(history(32, reward__mean=ramp(0.8, 0.2, 32), truth__mean=ramp(0.8, 0.2, 32), **SPREAD)) == []


def test_one_wild_step_is_no_alarm():
    wild = [0.5] * 15 + [5.0]
    past = history(16, reward__mean=wild, truth__mean=[0.5] * 15 + [0.0], **SPREAD)
    assert proxy_gap()(past) == []


def test_a_rise_that_is_small_beside_the_spread_is_none():
    small = {"reward__mean": ramp(0.5, 0.56, 16), "truth__mean": ramp(0.5, 0.3, 16), **SPREAD}
    assert proxy_gap()(history(16, **small)) == [], "0.032 in sixteen steps, and a quarter of the spread is 0.125"
    assert only(proxy_gap(rise=0.0)(history(16, **small))).severity == "bad"


def test_a_slow_turn_is_seen_in_a_long_window():
    reward, truth = noisy(2, 0.05, lambda step: 0.2 + 0.004 * step), noisy(3, 0.05, lambda step: 0.6 - 0.002 * step)
    found = only(proxy_gap()(history(128, reward__mean=reward, truth__mean=truth, **SPREAD)))
    assert found.severity == "bad" and found.numbers["window"] > 16


def test_without_a_truth_there_is_no_gap():
    assert proxy_gap()(history(32, reward__mean=ramp(0.0, 1.0, 32), reward__std=0.5)) == []


def alarmed_of(runs: int, steps: int, sticks: float, follows: float) -> int:
    """How many of so many runs without a hack raise the rule at any step: the reward climbs, and the truth by a share of it."""
    alarmed = 0
    for seed in range(runs):
        reward = noisy(seed, 0.06, lambda step: 0.3 + 0.4 * step / steps, sticks)
        truth = noisy(seed + 10_000, 0.06, lambda step: 0.2 + 0.4 * follows * step / steps, sticks)
        past, rule = history(0), proxy_gap()
        for step in range(steps):
            past.add(
                step, {"reward/mean": reward(step), "truth/mean": truth(step), "reward/std": 0.45, "truth/std": 0.45}
            )
            if rule(past):
                alarmed += 1
                break
    return alarmed


def test_few_clean_runs_raise_it():
    assert alarmed_of(20, 48, sticks=0.0, follows=1.0) == 0
    assert alarmed_of(20, 48, sticks=0.5, follows=1.0) <= 1


@pytest.mark.slow
@pytest.mark.parametrize(("sticks", "most"), [(0.0, 1), (0.5, 8)])
def test_clean_runs_as_long_as_those_of_the_docs(sticks, most):
    assert alarmed_of(100, 200, sticks=sticks, follows=1.0) <= most


def test_agreement_that_turns_around():
    found = only(lost_agreement()(history(8, reward__mean=0.5, watch__agreement=noisy(4, 0.05, lambda step: -0.3))))
    assert found.severity == "bad" and "prefers what the truth holds for worse" in found.message


def test_agreement_that_falls():
    falls = noisy(5, 0.03, lambda step: 0.8 if step < 8 else 0.2)
    found = only(lost_agreement()(history(16, reward__mean=0.5, watch__agreement=falls)))
    assert found.severity == "warn" and found.numbers["agreement_before"] > 0.7 > found.numbers["agreement_after"]


@pytest.mark.parametrize("level", [0.8, 0.1, 0.0])
def test_agreement_that_stays(level):
    assert lost_agreement()(history(64, reward__mean=0.5, watch__agreement=noisy(6, 0.05, lambda step: level))) == []


def shares(right, work):
    return {"reward__mean": 1.0, "watch__share.right": right, "watch__share.work": work}


def test_a_part_that_took_over():
    past = history(16, **shares(lambda s: 0.9 if s < 8 else 0.05, lambda s: 0.1 if s < 8 else 0.95))
    found = only(dominant_part()(past))
    assert (found.severity, found.about) == ("warn", "work") and "'work' makes 95%" in found.message


def test_a_part_that_was_meant_to():
    assert only(dominant_part()(history(16, **shares(0.97, 0.03)))).severity == "note"


def test_parts_that_share():
    assert dominant_part()(history(16, **shares(0.89, 0.05))) == []
    assert dominant_part()(history(16, **shares(0.95, 0.2))) == []
    assert dominant_part()(history(15, **shares(0.95, 0.05))) == [], "two blocks of eight are sixteen steps"


def test_a_spread_that_is_gone():
    numbers = {"reward__mean": 0.7, "reward__std": lambda s: 0.5 if s < 8 else 0.049}
    assert only(spread_collapse()(history(16, **numbers))).severity == "warn"
    assert only(spread_collapse()(history(16, **numbers, correct__mean=0.96))).severity == "note"
    kept = {"reward__mean": 0.7, "reward__std": lambda s: 0.5 if s < 8 else 0.051}
    assert spread_collapse()(history(16, **kept)) == [] and spread_collapse()(history(15, **numbers)) == []
    assert spread_collapse()(history(16, reward__mean=0.7, reward__std=0.0)) == [], "it never had any"


def test_an_entropy_that_is_gone():
    numbers = {"policy__entropy": lambda s: 1.0 if s < 8 else 0.09}
    found = only(entropy_collapse()(history(16, **numbers)))
    assert (found.severity, found.about) == ("warn", "policy") and found.numbers["entropy"] == pytest.approx(0.09)
    assert only(entropy_collapse()(history(16, **numbers, truth__mean=1.0))).severity == "note"
    assert entropy_collapse()(history(16, policy__entropy=lambda s: 1.0 if s < 8 else 0.11)) == []
    assert entropy_collapse()(history(16, policy__entropy=0.01)) == [], "it began so"


def test_lengths_that_drift():
    longer, shorter = noisy(7, 1.0, lambda s: 20 if s < 8 else 41), noisy(8, 1.0, lambda s: 40 if s < 8 else 19)
    assert only(length_drift()(history(16, length__mean=longer))).about == "longer"
    assert only(length_drift()(history(16, length__mean=shorter))).about == "shorter"
    assert length_drift()(history(16, length__mean=noisy(9, 1.0, lambda s: 20 if s < 8 else 38))) == []
    wild = [20.0] * 15 + [400.0]
    assert length_drift()(history(16, length__mean=wild)) == [], "3.4 times as long by one step alone"


def test_texts_that_repeat():
    found = only(repeated_text()(history(16, watch__repeated=noisy(10, 0.01, lambda s: 0.05 if s < 8 else 0.3))))
    assert found.severity == "warn" and "30%" in found.message
    assert repeated_text()(history(16, watch__repeated=noisy(11, 0.01, lambda s: 0.3))) == [], "they always did"
    assert repeated_text()(history(16, watch__repeated=noisy(12, 0.01, lambda s: 0.0 if s < 8 else 0.15))) == []


def test_tries_that_are_the_same():
    numbers = {"watch__identical": noisy(13, 0.02, lambda s: 0.1 if s < 8 else 0.7)}
    assert only(identical_tries()(history(16, **numbers))).severity == "warn"
    numbers = {"watch__identical": noisy(13, 0.02, lambda s: 0.1 if s < 8 else 0.7), "correct__mean": 1.0}
    assert only(identical_tries()(history(16, **numbers))).severity == "note"
    assert identical_tries()(history(16, watch__identical=0.9)) == []


@pytest.mark.parametrize("rises, severity", [(0.2, "note"), (0.0, "warn"), (-0.2, "warn")])
def test_who_learns_comes_to_agree_with_himself(rises, severity):
    right = noisy(16, 0.05, lambda s: 0.4 if s < 8 else 0.4 + rises)
    numbers = {"watch__identical": noisy(13, 0.02, lambda s: 0.1 if s < 8 else 0.7), "truth__mean": right}
    assert only(identical_tries()(history(16, **numbers, correct__mean=1.0))).severity == severity, "the truth decides"


def test_failures_that_grow():
    numbers = {"reward__failed": noisy(14, 0.005, lambda s: 0.0 if s < 8 else 0.08), "failed": 0.0}
    found = only(rising_failures()(history(16, **numbers)))
    assert (found.severity, found.about) == ("bad", "reward")
    truth = {"truth__failed": noisy(14, 0.005, lambda s: 0.0 if s < 8 else 0.08)}
    assert only(rising_failures()(history(16, **truth))).severity == "warn", "nothing is learned from a truth"
    assert (
        only(rising_failures()(history(16, failed=noisy(15, 0.005, lambda s: 0.0 if s < 8 else 0.1)))).about == "failed"
    )
    assert rising_failures()(history(16, reward__failed=noisy(16, 0.005, lambda s: 0.08))) == [], "it always did"


def test_a_part_that_fails_is_told_with_its_whole():
    both = {"reward__failed": lambda s: 0.0 if s < 8 else 0.1, "reward.work__failed": lambda s: 0.0 if s < 8 else 0.1}
    assert [each.about for each in rising_failures()(history(16, **both))] == ["reward"]


def test_groups_that_teach_nothing():
    assert only(flat_groups()(history(16, watch__flat=0.8))).severity == "warn"
    assert only(flat_groups()(history(16, watch__flat=0.9, correct__mean=0.99))).severity == "note"
    assert flat_groups()(history(16, watch__flat=0.79)) == [] and flat_groups()(history(15, watch__flat=1.0)) == []


def test_learning_far_from_what_was_sampled():
    assert only(off_policy()(history(8, policy__kl_old=0.06))).about == "policy/kl_old"
    assert only(off_policy()(history(8, policy__kl_sampler=0.06))).about == "policy/kl_sampler"
    assert off_policy()(history(8, policy__kl_old=0.04)) == [] and off_policy()(history(7, policy__kl_old=1.0)) == []


def test_far_from_where_it_began():
    found = only(far_from_start()(history(8, policy__kl_reference=0.26, policy__kl_old=9.0)))
    assert found.about == "policy/kl_reference" and "from 'reference'" in found.message
    assert far_from_start()(history(8, policy__kl_reference=0.24)) == []


def test_numbers_that_are_none_do_not_count():
    past = history(16, reward__mean=float("nan"), truth__mean=0.5)
    assert past.proxy == "" and proxy_gap()(past) == []
