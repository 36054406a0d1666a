"""Comparisons in phases (`bench/phases.py`): what foretells a collapse, computed by hand, and what is told of runs."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from refusals import refusal

import guerdon as gd
from bench import compare, compare_losses, compare_rewards
from bench.collapse_signs import Rule, Watched, changes, chosen, deserves, judged, warning_step
from bench.compare_rewards import ARMS, GATE, SIGNS, StartArms, best_of, passes, tell
from bench.noisy import NOISES, distinct_right
from bench.phases import COMPARED, TUNED_BY, TUNING
from bench.unlabelled import near_missed
from guerdon.exams.example_sitting import example_sitting
from guerdon.prove.known import Known
from guerdon.studies.collapse import collapse_step, gain_at_best, model_collapse_step

FALLING = [4.0, 4.0, 4.0, 4.0, 4.0, 2.0, 0.0, 0.0, 0.0, 0.0]  # blocks of four: 4, 4, 3.5, 2.5, 1.5, 0.5, 0
STILL = [4.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0, 3.0, 4.0, 3.0]


# --- signs of a collapse --------------------------------------------------------------------------------------------


def test_a_sign_warns_once_its_late_steps_are_far_from_its_first():
    assert changes(FALLING, rises=False) == [(4, 0.0), (5, 0.5), (6, 1.5), (7, 2.5), (8, 3.5), (9, 4.0)]
    assert warning_step(FALLING, False, 1.5) == 6 and warning_step(FALLING, True, 0.1) is None
    assert changes(STILL) == [(step, 0.0) for step in range(4, 10)]
    assert changes([1.0, 2.0]) == [] == changes([])


def test_a_rule_is_judged_by_collapses_warned_of_in_time_and_runs_warned_of_for_nothing():
    runs = [
        Watched({"entropy": FALLING}, 11),  # warned 5 steps before
        Watched({"entropy": FALLING}, 10),  # 4 before: too late
        Watched({"entropy": STILL}, 20),  # not at all
        Watched({}, 20),  # without the sign
        Watched({"entropy": STILL}, None),
        Watched({"entropy": FALLING}, None),  # for nothing
    ]
    found = judged(runs, Rule("entropy", False, 1.5))
    assert found == {
        "collapses": 4,
        "calm": 2,
        "warned": 0.25,
        "warned_late": 0.25,
        "false": 0.5,
        "lead": 4.5,
    }
    early = judged(
        [*runs, Watched({"entropy": STILL}, 8)], Rule("entropy", False, 1.5)
    )  # before any warning can be in time
    assert (early["warned"], early["warned_late"]) == (0.2, 0.25)
    assert judged([], Rule("entropy", False, 1.5)) == {
        "collapses": 0,
        "calm": 0,
        "warned": None,
        "warned_late": None,
        "false": None,
        "lead": None,
    }
    assert str(Rule("entropy", False, 1.5)) == "entropy down by 1.5"


def test_direction_and_threshold_are_chosen_on_some_runs():
    falls, drifts = (
        Watched({"x": FALLING}, 13),
        Watched({"x": [v / 4 for v in FALLING]}, None),
    )  # the latter by 1 at most
    assert chosen([falls, drifts], "x") == Rule("x", False, 3.5)  # at step 8; higher ones come too late, or are equals
    assert chosen([falls, Watched({"x": FALLING}, None)], "x") is None  # every rule would warn for nothing
    assert chosen([drifts], "x") is None and chosen([falls], "y") is None
    rises = Watched({"x": [-v for v in FALLING]}, 13)
    assert chosen([rises, drifts], "x") == Rule("x", True, 3.5)


@pytest.mark.parametrize(
    ("warned", "false", "good"),
    [(0.8, 0.1, True), (0.79, 0.0, False), (1.0, 0.11, False), (None, 0.0, False), (1.0, None, True)],
)
def test_a_sign_deserves_to_be_a_rule(warned, false, good):
    assert deserves({"warned": warned, "false": false}) is good


def test_two_steps_of_a_collapse_and_the_gain_before():
    curve = [(0, 0.30), (4, 0.50), (8, 0.40), (12, 0.45), (16, 0.40), (20, 0.35), (24, 0.1)]
    assert collapse_step(curve) == 16 and collapse_step(curve[:5]) is None and gain_at_best(curve) == pytest.approx(0.2)
    assert collapse_step(curve, fall=0.3, running=1) == 24
    assert model_collapse_step(curve) == 24 and model_collapse_step(curve, under=0.4) == 0
    assert model_collapse_step(curve, under=0.36, block=2) == 24  # (0.35 + 0.1) / 2


# --- telling ------------------------------------------------------------------------------------------------------


def record(reward, seed, curve, phase=COMPARED, start="weak", **changes):
    """A run as a ledger has it: exams every four steps, and an entropy that falls if it ends low."""
    points = [{"spent": {"steps": 4 * i}, "result": {"pass@1": a}} for i, a in enumerate(curve)]
    series = {"policy/entropy": FALLING * 2 if curve[-1] < 0.2 else STILL * 2, "correct/mean": [0.3] * 10}
    facts = {
        "comparison": compare_rewards.NAME,
        "task": "trace:3",
        "rate": 3e-5,
        "steps": 20,
        "versions": {"device": "abacus"},
    }
    return {
        **facts,
        "reward": reward,
        "seed": seed,
        "points": points,
        "phase": phase,
        "start": start,
        "series": series,
        **changes,
    }


GOOD, BAD = [0.3, 0.35, 0.4, 0.45, 0.5, 0.5], [0.3, 0.4, 0.35, 0.2, 0.1, 0.1]


def by_hand():
    runs = [record(arm, seed, GOOD if arm == "truth" else BAD) for arm in ("truth", "entropy") for seed in range(4)]
    runs += [
        {**record("self-judge", seed, [0.3]), "stopped": "25 % of the scores in 'reward' failed"} for seed in range(4)
    ]
    runs += [record("truth", TUNED_BY, GOOD, phase=TUNING), record("truth", 0, GOOD, steps=6), {"comparison": "other"}]
    return [run for run in runs if run["comparison"] == compare_rewards.NAME]


def test_what_is_told_of_rewards_without_labels():
    told = tell(by_hand())
    arms = told["starts"]["weak"]["arms"]
    assert [*told["starts"]] == ["weak"] and [*arms] == ["truth", "entropy", "self-judge"]
    assert arms["entropy"][0]["collapse_step"] == 12 and arms["truth"][0]["collapse_step"] is None
    assert arms["truth"][0]["gain_at_best"] == pytest.approx(0.2) and passes(told["starts"]["weak"])
    assert not passes({"arms": {"truth": [{"start": 0.3, "end": 0.3 + GATE - 0.01}]}}) and not passes({"arms": {}})
    assert (told["chosen_on"], told["judged_on"]) == ([0, 1], [2, 3])
    best = told["signs"][0]
    assert best["sign"] == "entropy" and best["judged"] == {
        "collapses": 2,
        "calm": 2,
        "warned": 1.0,
        "warned_late": 1.0,
        "false": 0.0,
        "lead": 5,
    }
    shown = compare_rewards.table(told)
    assert "| entropy | 10.0 (10.0 to 10.0) | +10.0 | 4 of 4 | 12 |" in shown and "| self-judge | *stopped* |" in shown
    assert (
        "Of these signs warn 5 steps before in 80 % of the collapses with at most 10 % false alarms: entropy down by"
        in shown
    )
    ET.fromstring(compare_rewards.draw(told))


def test_a_gate_that_fails_voids_a_start_and_no_collapse_judges_no_sign():
    told = tell([record("truth", seed, [0.3, 0.3]) for seed in range(2)])
    shown = compare_rewards.table(told)
    assert "these figures say nothing" in shown and "No rule could be judged" in shown


def test_rates_are_chosen_by_the_truth():
    runs = [record("truth", TUNED_BY, [0.3, end], rate=rate, task=task) for task, rate, end in (
        ("a", 1e-5, 0.4), ("a", 3e-5, 0.5), ("b", 1e-5, 0.5), ("b", 3e-5, 0.2),
    )]  # fmt: skip
    assert best_of(runs) == ("b", 1e-5)  # of equals the lower rate


def loss_record(loss, noise, seed, value, **changes):
    result = {"pass@1": value, "pass@16": 2 * value, "distinct_right": 3 * value}
    points = [{"spent": {}, "result": dict.fromkeys(result, 0.1)}, {"spent": {}, "result": result}]
    series = {"policy/entropy": [9.0] * 8 + [0.5, 0.7]}
    facts = {
        "comparison": compare_losses.NAME,
        "rate": 3e-5,
        "tokens": 5,
        "phase": COMPARED,
        "versions": {"device": "abacus"},
    }
    return {**facts, "loss": loss, "noise": noise, "seed": seed, "points": points, "series": series, **changes}


def test_what_is_told_of_losses_under_noise():
    runs = [loss_record("grpo", "clean", seed, 0.25 + 0.1 * seed) for seed in (0, 1)] + [
        loss_record("nft", "hackable", 0, 0.2)
    ]
    told = compare_losses.tell([*runs, loss_record("nft", "hackable", 1, 0.2, stopped="why")])
    assert told["noises"]["clean"]["grpo"][1] | {"pass@1": 0} == {
        "seed": 1, "start pass@1": 0.1, "start pass@16": 0.1, "start distinct_right": 0.1, "pass@1": 0,
        "pass@16": pytest.approx(0.7), "distinct_right": pytest.approx(1.05), "entropy": pytest.approx(0.6),
    }  # fmt: skip
    shown = compare_losses.table(told)
    assert "| `grpo` | 3e-05 | 30.0 (" in shown and "| 60.0 % | 0.90 | 0.600 |" in shown
    assert "20.0 (20.0 to 20.0), 1 *stopped* |" in shown and "Before training: pass@1 10.0 %, pass@16 10.0 %" in shown
    ET.fromstring(compare_losses.draw(told))
    tuned = [
        loss_record("grpo", "clean", 9, value, rate=rate) for rate, value in ((1e-5, 0.2), (3e-5, 0.3), (1e-4, 0.3))
    ]
    assert compare_losses.best_rate(tuned) == 3e-5
    assert compare_losses.best_rate([{**tuned[2], "stopped": "why"}, tuned[0]]) == 1e-5


def test_different_right_answers_are_counted():
    sitting = example_sitting([["= 4", "2+2\n= 4", "= 4 ", "= 5"], ["= 5"] * 4], answer="4")
    assert distinct_right()(sitting) == {"distinct_right": 1.0}


def test_a_misled_start_is_told_the_same_mistake():
    source = near_missed(gd.tasks.load("chain:3"), share=1.0)
    tasks = [source.get("train", n) for n in range(8)]
    said = [source.solution(task) for task in tasks]
    assert [source.check(task, text) for task, text in zip(tasks, said, strict=True)] == [0.0] * 8
    assert all(
        len(text.splitlines()) == len(source.source.solution(t).splitlines()) - 1
        for t, text in zip(tasks, said, strict=True)
    )
    assert near_missed(source.source, share=0.0).solution(tasks[0]) == source.source.solution(tasks[0])


# --- running ------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_every_arm_can_be_built(tmp_path: Path):
    known = Known(tmp_path / "none")
    part = StartArms({}, "misled", compare_rewards.STARTS["misled"].cut(), compare_rewards.PILOT)
    assert {part.arm(reward, "chain:3", 3e-5).hash for reward in ARMS} and len(part.wanted(known)) == 1
    hashes = {part.arm(reward, "chain:3", 3e-5).hash for reward in ARMS}
    assert len(hashes) == len(ARMS)
    (arms,) = [each for each in compare_losses.parts(pilot=True) if each.loss == "by_sign"]
    assert len({arms.arm(noise, 3e-5).hash for noise in NOISES}) == len(NOISES)
    assert {"sign/votes", "sign/answers", "sign/kl", "sign/disagreement"} <= {*SIGNS.values()}


def test_marks_of_a_page():
    page = "a\n<!-- it -->\nold\n<!-- end of it -->\nb\n"
    assert compare.between_marks(page, "it", "new") == "a\n<!-- it -->\nnew\n<!-- end of it -->\nb\n"
    with refusal(gd.UserError):
        compare.between_marks("a\n", "it", "new")
