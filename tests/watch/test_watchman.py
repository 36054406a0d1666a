"""The watchman: an alarm once, again after a while, and when it is worse; the rollouts that show it; rules in a run.json."""

from __future__ import annotations

import json

import pytest
import torch
from refusals import refusal
from test_batch_signs import tries

import guerdon as gd
from guerdon.core.part import knobs, label
from guerdon.runs.event_types import StepDone, from_json
from guerdon.watch.gap_rules import proxy_gap
from guerdon.watch.policy_rules import off_policy
from guerdon.watch.rule_alarms import RuleAlarm, Scene
from guerdon.watch.watchman import QUIET, RULES, Watchman, rules_of_config, rules_to_config


class Told:
    """A rule that finds what it is told at each step."""

    __part__ = ("told",)

    def __init__(self, *severities):
        self.severities, self.at = severities, -1

    def __call__(self, past):
        self.at += 1
        word = self.severities[self.at] if self.at < len(self.severities) else ""
        return [RuleAlarm(word, "it happened", "fix it", {"x": 1.0})] if word else []

    def clearest(self, scene, finding):
        return torch.arange(scene.batch.K).double()


def steps_raised(*severities):
    watchman = Watchman([Told(*severities)])
    return [(step, alarm.severity) for step in range(len(severities)) for alarm in watchman.take(step, {})]


def test_an_alarm_is_raised_once():
    assert steps_raised("", "warn", "warn", "warn") == [(1, "warn")]


def test_a_pause_is_no_new_alarm_and_a_long_one_is():
    assert steps_raised("warn", *[""] * (QUIET - 1), "warn") == [(0, "warn")]
    assert steps_raised("warn", *[""] * QUIET, "warn") == [(0, "warn"), (QUIET + 1, "warn")]


def test_what_becomes_worse_is_told_again_and_what_becomes_better_is_not():
    assert steps_raised("note", "warn", "bad", "warn", "bad") == [(0, "note"), (1, "warn"), (2, "bad")]


def test_a_watchman_that_heard_the_past_goes_on_as_one_who_was_there():
    severities = ("", "warn", "warn", "", "bad", "", "warn")
    for first in range(len(severities)):
        watchman = Watchman([Told(*severities)])
        watchman.hear([StepDone(step) for step in range(len(severities))], first)
        after = [(s, a.severity) for s in range(first, len(severities)) for a in watchman.take(s, {})]
        assert after == [each for each in steps_raised(*severities) if each[0] >= first]


def test_the_rollouts_are_the_clearest_and_differ():
    same, other = [*range(12)], [*range(1, 13)]
    batch = tries([[other, same, same, same]], reward=[0.0, 1.0, 1.0, 1.0], truth=[1.0, 0.0, 0.0, 0.0])
    (alarm,) = Watchman([Told("bad")]).take(0, {}, batch)
    assert [each["episode"] for each in alarm.rollouts] == ["0.0.3", "0.0.0", "0.0.2"], "the same twice comes last"
    assert alarm.rollouts[0]["numbers"] == {"reward": 1.0, "truth": 0.0, "length": 12.0}
    assert alarm.rollouts[0]["prompt"] == "problem 0" and alarm.rollouts[0]["said"].startswith("0 1 2")
    assert from_json(json.loads(json.dumps(alarm.to_json()))) == alarm


def test_what_is_paid_for_nothing_shows_the_gap():
    batch = tries([[[1], [2], [3]]], reward=[1.0, 0.0, 0.9], truth=[1.0, 0.0, 0.0])
    clear = proxy_gap().clearest(Scene(batch), RuleAlarm("bad", "", ""))
    assert int(clear.argmax()) == 2


@pytest.mark.parametrize("rule", RULES.values(), ids=[*RULES])
def test_every_rule_shows_rollouts_of_any_batch(rule):
    """Whatever columns are there: an alarm must not break a run."""
    nan = float("nan")
    bare, empty = tries([[[1, 2], [3]]]), gd.pack([])
    rich = tries(
        [[[1] * 12, [1] * 12], [[2], []]], reward=[1.0, nan, 0.5, 0.5], truth=[nan, 0.0, 1.0, 1.0], reward__a=[1.0] * 4
    )
    for batch in (bare, rich):
        assert len(rule().clearest(Scene(batch), RuleAlarm("warn", "", "", about="a"))) == batch.K
    assert len(rule().clearest(Scene(empty), RuleAlarm("warn", "", ""))) == 0


def test_rules_in_a_run_json():
    rules = [proxy_gap(alpha=0.01, full=5.0), off_policy()]
    again = rules_of_config(json.loads(json.dumps(rules_to_config(rules))))
    assert [(label(r), knobs(r)) for r in again] == [(label(r), knobs(r)) for r in rules]
    with refusal(gd.UserError, "proxi_gap", "proxy_gap"):
        rules_of_config([{"rule": "proxi_gap"}])


def test_what_is_no_rule_is_refused():
    with refusal(gd.UserError):
        gd.Options(watch=["proxy_gap"])
