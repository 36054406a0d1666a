"""`guerdon check --env`: each planted fault is found, in its line; a sound environment has none."""

from __future__ import annotations

import numpy as np
import pytest
from command_line import command_line, refused
from own_gyms import Broken, Counting, Goal, Leaking, Limited, Moving, Restless, counting

import guerdon as gd


def severe(report):
    return [finding.message for finding in report.findings if finding.harm == "severe"]


def named(make, name):
    make.__name__ = name
    return make


@pytest.mark.parametrize("env", ["CartPole-v1", "Pendulum-v1", "Blackjack-v1", "FrozenLake-v1", counting, Moving, Goal])
def test_a_sound_environment_has_no_fault(env):
    assert severe(gd.worlds.check(env, episodes=3)) == []


@pytest.mark.parametrize(
    ("make", "told"),
    [
        (lambda: Restless(9), "mine does not repeat under its seed: seed SEED begins otherwise; draw all that is random"),
        (Leaking, "mine does not repeat under its seed: seed SEED begins otherwise; draw all that is random"),
        (lambda: Limited(), "mine: all 9 episodes are `terminated` at step 4, whatever is done, and no view shows the"),
        (lambda: Goal(cut=True), "mine: no episode is `terminated`, and 12 are `truncated` after "),
        (lambda: Broken("nan"), "mine: the reward is nan at step 2 of seed SEED, component 'reward_ctrl'"),
        (lambda: Broken("infinite"), "mine: the reward is inf at step 2 of seed SEED, component 'reward'"),
        (lambda: Broken("blind"), "mine: the view is nan at step 2 of seed SEED, number 0"),
        (lambda: Broken("raises"), "mine: step 2 of seed SEED raised ValueError: the motor is off"),
        (lambda: Broken("number"), "mine: step returned truncated=1: it is True or False, not of type int"),
        (lambda: Broken("four"), "mine: step returned 4 values: Gymnasium's returns an observation"),
        (lambda: Goal(for_still=0.5), "mine: the player 'always 0' earns 15, the gold player 1: it pays as much"),
    ],
)  # fmt: skip
def test_each_fault_is_one_line(make, told):
    report = gd.worlds.check(named(lambda: make(), "mine"), episodes=3)
    (message, *others) = severe(report)
    words = told.split("SEED")
    assert message.startswith(words[0]) and all(word in message for word in words) and "\n" not in message
    assert not others and not report.ok


def test_a_time_limit_that_is_truncated_or_shown_is_no_fault():
    assert severe(gd.worlds.check(lambda: Limited(cut=True), episodes=3)) == []
    assert severe(gd.worlds.check(lambda: Counting(4), episodes=3)) == []  # its second number is the time


def test_what_players_earn_is_counted_by_hand():
    report = gd.worlds.check(named(lambda: Goal(), "mine"), episodes=4, seed=1)
    by_name = {player["player"]: player for player in report.players}
    assert list(by_name) == ["random", "always 0", "always 1", "gold"]
    assert (by_name["always 0"]["return"], by_name["always 0"]["success"], by_name["always 0"]["steps"]) == (
        0.0,
        0.0,
        30,
    )
    assert (by_name["gold"]["return"], by_name["gold"]["success"]) == (1.0, 1.0)
    assert by_name["gold"]["steps"] == by_name["always 1"]["steps"] <= 6


def test_players_that_reach_the_goal_too_may_earn_as_much():
    """In `Goal` one constant action is all that it takes: it earns what gold does, and is no hack."""
    report = gd.worlds.check(named(lambda: Goal(), "mine"), episodes=3)
    assert report.ok


def against(next_observation, reward):
    return {"own": 0.1 * reward, "away": -float(next_observation[0])}


def rich(next_observation, reward):
    return {"own": reward, "near": -0.01 * (3.0 - float(next_observation[0]))}


def test_a_reward_is_held_against_the_environments_own():
    make = named(lambda: Goal(), "mine")
    report = gd.worlds.check(make, rich, episodes=4)
    assert report.ok and report.agreement > 0.5
    gold = next(player for player in report.players if player["player"] == "gold")
    assert gold["env_return"] == 1.0
    assert gold["return"] == pytest.approx(sum(gold["parts"].values()))
    messages = severe(gd.worlds.check(make, against, episodes=4))
    assert any("against ranks episodes against the environment: rank correlation -" in each for each in messages)
    assert any("against: the player" in each for each in messages)


def test_a_reward_that_does_not_repeat_or_has_no_value():
    dice = np.random.default_rng(0)

    def noisy(reward):
        return reward + dice.random()

    def broken(next_observation):
        return {"a": 1.0, "b": float("inf")}

    (message,) = severe(gd.worlds.check(counting, noisy, episodes=2))
    assert message.startswith("noisy does not repeat: asked twice about step 1 of seed ")
    (message,) = severe(gd.worlds.check(counting, broken, episodes=2))
    assert message.startswith("counting: the reward is inf at step 1 of seed ") and message.endswith("component 'b'")


def test_notes_are_no_faults():
    report = gd.worlds.check("MountainCar-v0", episodes=2)
    assert report.ok
    assert [f.message for f in report.findings] == [
        "MountainCar-v0: every episode of every player earns -200: nothing is learned until a policy meets what is paid"
        " otherwise"
    ]
    report = gd.worlds.check(lambda: Counting(10**9), episodes=2, limit=5)
    assert "6 of 6 episodes did not end in 5 steps" in report.findings[0].message


def test_the_command(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    (tmp_path / "own.py").write_text(
        "from own_gyms import Goal\ndef make():\n    return Goal()\ndef still():\n    return Goal(for_still=0.5)\n"
    )
    (tmp_path / "pay.py").write_text(
        "def r(reward, action):\n    return {'own': reward, 'act': 0.01 * float(action)}\n"
    )
    said = cli("check", "--env", "own.py:make", "--reward", "pay.py:r", "--episodes", "3")
    assert said.code == 0, said.err
    assert "rank correlation of r with the environment's return: " in said.out
    assert "own.py:make with r: nothing severe found in 3 episodes of each player" in said.out
    assert cli("check", "pay.py:r", "--env", "own.py:make", "--episodes", "3").out == said.out
    found = cli("check", "--env", "own.py:still", "--episodes", "3", "--json")
    assert (found.code, found.json["ok"], found.json["findings"][0]["kind"]) == (1, False, "hack")
    refused(cli("check", "--env", "CartPoole-v1"), "did you mean 'CartPole-v1'?")
    refused(
        cli("check", "--env", "CartPole-v1", "--task", "chain:1"), "--task is for rewards of text: remove it or --env"
    )
    refused(cli("check"), "check needs a reward", "or an environment (--env ID)")
    refused(
        cli("check", "a.py:b", "--env", "CartPole-v1", "--reward", "c.py:d"), "two rewards, a.py:b and --reward c.py:d"
    )
