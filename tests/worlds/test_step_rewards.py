"""Rewards of env steps: numbers by hand, components, failures with env, step and component; and in runs."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from command_line import command_line, refused
from killing import killed_at
from own_gyms import Counting, Moving, counting, cut_off

import guerdon as gd
from guerdon.core.column import Reason
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.engine.player import Player
from guerdon.runs.run import Run
from guerdon.training.catalog import find_recipe
from guerdon.worlds.step_rewards import Steps, as_step_reward

SMALL = {
    "env": counting,
    "worlds": 2,
    "horizon": 32,
    "minibatch": 16,
    "epochs": 2,
    "hidden": (8,),
    "exam": 2,
    "steps": 4,
}


def led(observation, action, next_observation, reward, terminated, truncated, info):
    """Of `Counting`: 100 t', 10 t, the action, and 1000 at an end."""
    return {
        "after": 100.0 * next_observation[1],
        "before": 10.0 * observation[1],
        "act": float(action),
        "end": 1000.0 * terminated + 5000.0 * truncated,
    }


@gd.worlds.step_reward(batched=True)
def led_batched(observation, action, next_observation, terminated, truncated):
    return {
        "after": 100.0 * next_observation[:, 1],
        "before": 10.0 * observation[:, 1],
        "act": np.asarray(action, float),
        "end": 1000.0 * terminated + 5000.0 * truncated,
    }


def by_hand(actions, end=1000.0):
    return [100.0 * (t + 1) + 10.0 * t + a + end * (t == 2) for t, a in enumerate(actions)]


def played(env, reward, tries=2, seed=3, asks=None, **how):
    model = gd.models.mlp(3, (2,), hidden=(8,))
    model.start(1, {})
    place = gd.worlds.gym(env, reward=reward, **how)
    play = Player({"policy": model}, {"policy": "policy"}, place, gd.Sampling(), seed, 1)
    return play(asks or [gd.Ask(gd.Task("0", "", family="counting"), tries)])


@pytest.mark.parametrize("reward", [led, led_batched], ids=["each", "batched"])
@pytest.mark.parametrize(("env", "end"), [(counting, 1000.0), (cut_off, 5000.0)])
def test_a_step_is_paid_for_what_it_did(env, end, reward):
    for episode in played(env, reward):
        (segment,) = episode.segments
        hand = by_hand(segment.actions, end)
        assert segment.rewards.tolist() == hand
        parts = {"after": 600.0, "before": 30.0, "act": float(segment.actions.sum()), "end": end}
        assert episode.info == {"return": sum(hand), "steps": 3, "env_return": 6.0, "parts": parts}


def test_an_array_that_the_environment_shows_again_and_again_is_copied():
    class Reused(Counting):
        def seen(self):
            self.array = getattr(self, "array", np.zeros(3, np.float32))
            self.array[:] = super().seen()
            return self.array

    (episode,) = played(Reused, led, 1)
    assert episode.segments[0].rewards.tolist() == by_hand(episode.segments[0].actions)


def test_a_stream_keeps_what_was_paid_before():
    ask = gd.worlds.streams("counting", steps=2).draw(1, ExamplePlay())
    env = gd.worlds.gym(counting, reward=led)
    model = gd.models.mlp(3, (2,), hidden=(8,))
    model.start(1, {})
    play = Player({"policy": model}, {"policy": "policy"}, env, gd.Sampling(), 3, 1)
    first, play2 = play(ask), None
    again = gd.worlds.gym(counting, reward=led)
    again.streams = env.streams  # as a checkpoint holds them
    ends = []
    for each in (env, again):
        play2 = Player({"policy": model}, {"policy": "policy"}, each, gd.Sampling(), 3, 1)
        play2.begin(1)
        ends.append(play2(ask)[0])
    actions = [*first[0].segments[0].actions, ends[0].segments[0].actions[0]]
    assert ends[0].info["return"] == sum(by_hand(actions))
    assert ends[0].same(ends[1])


def test_a_component_that_a_step_does_not_have_is_left_out():
    def goal(reward, terminated):
        return {"own": reward, "goal": 7.0} if terminated else {"own": reward}

    steps = Steps(
        *[np.zeros((2, 3))] * 3, np.array([1.0, 2.0]), np.array([False, True]), np.array([False] * 2), [{}, {}]
    )
    paid = as_step_reward(goal).pay(steps)
    assert paid.total.tolist() == [1.0, 9.0]
    assert paid.each() == [{"own": 1.0}, {"own": 2.0, "goal": 7.0}]


def nan(next_observation):
    return {"speed": 1.0, "heat": float("nan") if next_observation[1] == 2 else 0.0}


def infinite(next_observation):
    return float("inf") if next_observation[1] == 2 else 0.0


def raises(next_observation):
    return 1.0 / (next_observation[1] - 2) if next_observation[1] != 2 else {}["gear"]


@gd.worlds.step_reward(batched=True)
def nan_batched(next_observation):
    return {"speed": np.ones(len(next_observation)), "heat": np.where(next_observation[:, 1] == 2, np.nan, 0.0)}


@gd.worlds.step_reward(batched=True)
def raises_batched(next_observation):
    if (next_observation[:, 1] == 2).any():
        raise KeyError("gear")
    return np.ones(len(next_observation))


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (nan, "counting: the reward is nan at step 2 of seed SEED, component 'heat'"),
        (nan_batched, "counting: the reward is nan at step 2 of seed SEED, component 'heat'"),
        (infinite, "counting: the reward is inf at step 2 of seed SEED, component 'infinite'"),
        (raises, "counting: the reward raises raised KeyError: 'gear' at step 2 of seed SEED"),
        (raises_batched, "counting: the reward raises_batched raised KeyError: 'gear' at step 2 of seed SEED"),
    ],
)
def test_a_reward_that_fails_is_failed_and_never_0(reward, told):
    batch = pack(played(counting, reward))
    for episode in batch.episodes:
        assert told.replace("SEED", str(episode.seed)) in episode.info["error"]
        assert np.isnan(episode.segments[0].rewards[1])
    assert (gd.rewards.paid()(batch, ExamplePlay()).cols["reward"].reason == Reason.FAILED).all()


def test_a_batch_that_breaks_fails_only_the_steps_that_break_it():
    steps = Steps(*[np.array([[0.0, t, 0.0] for t in (1, 2, 3)])] * 3, *[np.zeros(3)] * 3, [{}] * 3)
    paid = as_step_reward(raises_batched).pay(steps)
    assert paid.total[[0, 2]].tolist() == [1.0, 1.0] and list(paid.why) == [1]


@pytest.mark.parametrize(
    ("reward", "told"),
    [
        (lambda next_obs: 1.0, "unknown argument of reward <lambda> 'next_obs': did you mean 'next_observation'?"),
        (gd.exact(), "exact() is a reward of text; one of env steps is a function of observation, action, next_obser"),
        ("exact", "a reward of env steps is FILE.py:NAME of a function, not 'exact'"),
        (7, "a reward of env steps is a function of observation, action, next_observation, reward, termin"),
        (lambda reward: None, "reward <lambda> returned None: it returns a number, or numbers by name"),
        (lambda reward: {"a": "much"}, "reward <lambda> returned 'much' as component 'a': it returns a number"),
        (lambda reward: {}, "reward <lambda> returned no component: it returns a number, or numbers by name"),
        (
            gd.worlds.step_reward(batched=True)(lambda reward: 1.0),
            "reward <lambda> returned an array of shape () for 2 steps: its shape is (2,)",
        ),
    ],
)
def test_what_is_no_reward_of_env_steps_is_one_line(reward, told):
    with pytest.raises(gd.UserError) as refused_:
        played(counting, reward)
    assert str(refused_.value).startswith(told)


def test_an_action_is_what_the_environment_took():
    seen = []

    def effort(action):
        seen.append(action)
        return -float((action**2).sum())

    actor = gd.models.mlp(3, moves=2, hidden=(8,))
    actor.start(1, {})
    play = Player({"policy": actor}, {"policy": "policy"}, gd.worlds.gym(Moving, reward=effort), gd.Sampling(), 3, 1)
    play([gd.Ask(gd.Task("0", ""), 4)])
    assert np.abs(seen).max() == 1.0  # clipped to the space, where 40 normal numbers are not


def test_a_killed_run_ends_with_the_same_weights(tmp_path):
    recipe = find_recipe("ppo_control")(**SMALL, reward=led)
    options = gd.Options(eval_tasks=2, save_every=2)
    whole = gd.train(recipe, out=tmp_path / "whole", options=options, seed=1)
    with killed_at(3):
        gd.train(recipe, out=tmp_path / "run", options=options, seed=1)
    run = gd.train(recipe, resume=tmp_path / "run")
    assert run.weights == whole.weights
    assert run.metrics["episode_return"].to_pylist() == whole.metrics["episode_return"].to_pylist()
    assert run.metrics["episode_env_return"].to_pylist() == [6.0] * 4
    assert run.metrics["episode_part/after"].to_pylist() == [600.0] * 4
    plain = gd.train(find_recipe("ppo_control")(**SMALL), out=tmp_path / "plain", options=options, seed=1)
    assert plain.config["hash"] != run.config["hash"]


def test_an_edited_reward_is_another_recipe():
    def twice(reward):
        return 2.0 * reward

    def thrice(reward):
        return 3.0 * reward

    from guerdon.core.part import fingerprint

    made = [fingerprint(gd.worlds.gym(counting, reward=each)) for each in (twice, thrice, twice)]
    assert made[0] == made[2] != made[1]


def test_it_is_one_command(tmp_path, monkeypatch, capsys):
    cli = command_line(tmp_path, monkeypatch, capsys)
    (tmp_path / "own.py").write_text("from own_gyms import Counting\ndef make():\n    return Counting()\n")
    (tmp_path / "pay.py").write_text("def r(reward, action):\n    return {'own': reward, 'act': float(action)}\n")
    small = [f"--set={name}={value}" for name, value in SMALL.items() if name not in ("hidden", "steps", "env")]
    said = cli(
        "train", "ppo_control", "--env", "own.py:make", "--reward", "pay.py:r", *small, "--steps", "2", "--out", "run"
    )
    assert said.code == 0, said.err
    run = Run("run")
    assert run.metrics["episode_env_return"].to_pylist() == [6.0, 6.0]
    assert torch.equal(
        run.batch(0)["reward_steps"] - run.batch(0).action, run.batch(0)["reward_steps"].floor() - run.batch(0).action
    )
    refused(cli("train", "ppo_control", "--env", "own.py:make", "--reward", "pay.py:s"), "pay.py", "'s'")
    refused(cli("train", "ppo_control", "--env", "own.py:make", "--reward", "exact"), "FILE.py:NAME of a function")
