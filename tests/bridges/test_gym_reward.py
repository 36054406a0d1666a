"""`gd.gym_reward`: the same pay in Gymnasium's environments, one or vectorised, in stable-baselines3's, and in a run."""

from __future__ import annotations

import builtins

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from own_gyms import Counting

import guerdon as gd

ACTIONS = [1, 0, 1, 1, 0, 0, 1, 1, 0, 1]


def told(observation, action, next_observation, reward, terminated, truncated):
    """Of `Counting`: what it was shown, what it did, and where that led: each has a digit of its own."""
    return {
        "after": 1000.0 * next_observation[1],
        "before": 100.0 * observation[1],
        "own": 10.0 * reward,
        "act": float(action),
        "end": 0.25 * terminated + 0.5 * truncated,
    }


@gd.worlds.step_reward(batched=True)
def told_batched(observation, action, next_observation, reward, terminated, truncated):
    return {
        "after": 1000.0 * next_observation[:, 1],
        "before": 100.0 * observation[:, 1],
        "own": 10.0 * reward,
        "act": np.asarray(action, float),
        "end": 0.25 * terminated + 0.5 * truncated,
    }


def by_hand(t, action, length=3, end=0.25):
    """What step `t` of an episode is paid, counted from 1."""
    return 1000.0 * t + 100.0 * (t - 1) + 10.0 * t + action + end * (t == length)


BOTH = pytest.mark.parametrize("reward", [told, told_batched], ids=["each", "batched"])


@BOTH
@pytest.mark.parametrize("cut", [False, True])
def test_one_environment(reward, cut):
    env = gd.gym_reward(Counting(cut=cut), reward)
    env.reset(seed=4)
    for t, action in enumerate([1, 0, 1], 1):
        _, pay, over, ended, info = env.step(action)
        assert pay == by_hand(t, action, end=0.5 if cut else 0.25)
        assert info["env_reward"] == t
        assert sum(info["reward_parts"].values()) == pay
    assert (over, ended) == (not cut, cut)


def stepped(mode, reward, lengths=(3, 4)):
    """Rewards [T, N] and infos of ten steps of two worlds, whose episodes have these lengths."""
    made = [lambda length=length: Counting(length) for length in lengths]
    env = gd.gym_reward(SyncVectorEnv(made, autoreset_mode=mode), reward)
    env.reset(seed=4)
    pays, infos = [], []
    for action in ACTIONS:
        _, pay, over, _, info = env.step(np.array([action, 1 - action]))
        if mode is AutoresetMode.DISABLED and over.any():
            env.reset(options={"reset_mask": over})
        pays.append(pay.tolist())
        infos.append(info)
    return pays, infos


@BOTH
@pytest.mark.parametrize("mode", [AutoresetMode.SAME_STEP, AutoresetMode.DISABLED, AutoresetMode.NEXT_STEP])
def test_several_environments_in_each_way_to_begin_again(mode, reward):
    pays, infos = stepped(mode, reward)
    for world, length in enumerate((3, 4)):
        t = 0
        for row, info, action in zip(pays, infos, ACTIONS, strict=True):
            if mode is AutoresetMode.NEXT_STEP and t == length:  # this step only begins an episode
                assert row[world] == 0.0
                assert not info["_reward_parts"][world] and not info["reward_parts"]["_after"][world]
                t = 0
                continue
            t = t % length + 1
            assert row[world] == by_hand(t, [action, 1 - action][world], length)
            assert info["reward_parts"]["before"][world] == 100.0 * (t - 1)
            assert info["env_reward"][world] == t


def test_info_is_of_the_world_and_of_the_episode_that_ended():
    class Telling(Counting):
        def step(self, action):
            return *super().step(action)[:4], {"t": self.t, "deep": {"t": 2 * self.t}}

        def reset(self, **how):
            return super().reset(**how)[0], {"t": 99, "deep": {"t": 99}}

    def says(info):
        return float(info["t"] + 100 * info["deep"]["t"])

    for mode in (AutoresetMode.SAME_STEP, AutoresetMode.DISABLED):
        env = gd.gym_reward(SyncVectorEnv([Telling, lambda: Telling(5)], autoreset_mode=mode), says)
        env.reset(seed=1)
        assert [env.step(np.array([0, 0]))[1].tolist() for _ in range(3)] == [[201.0] * 2, [402.0] * 2, [603.0] * 2]


def test_an_observation_in_a_dict_and_one_that_is_shown_again_and_again():
    class Named(Counting):
        def __init__(self):
            super().__init__()
            self.observation_space = spaces.Dict({"t": spaces.Box(-9, 9, (1,), np.float32)})
            self.array = np.zeros(1, np.float32)

        def seen(self):
            self.array[:] = self.t
            return {"t": self.array}

    def moved(observation, next_observation):
        return float(next_observation["t"][0] - observation["t"][0])

    @gd.worlds.step_reward(batched=True)
    def all_moved(observation, next_observation):
        return (next_observation["t"] - observation["t"])[:, 0]

    for reward in (moved, all_moved):
        env = gd.gym_reward(Named(), reward)
        env.reset(seed=1)
        assert [env.step(0)[1] for _ in range(3)] == [1.0] * 3
        several = gd.gym_reward(SyncVectorEnv([Named] * 2, copy=False), reward)
        several.reset(seed=1)
        assert [several.step(np.array([0, 0]))[1].tolist() for _ in range(3)] == [[1.0, 1.0]] * 3


def test_a_reward_without_value_stops_in_a_line():
    def heats(next_observation):
        return {"run": 1.0, "heat": float("nan") if next_observation[1] == 2 else 0.0}

    env = gd.gym_reward(Counting(), heats)
    env.reset(seed=5)
    env.step(0)
    with pytest.raises(gd.RunStopped) as stopped:
        env.step(0)
    assert str(stopped.value) == "Counting: the reward is nan at step 2 of seed 5, component 'heat'"
    several = gd.gym_reward(SyncVectorEnv([lambda: Counting(9), lambda: Counting(9)]), heats)
    several.reset(seed=5)
    several.step(np.array([0, 0]))
    with pytest.raises(gd.RunStopped, match="Counting: the reward is nan at step 2 of world 0, component 'heat'"):
        several.step(np.array([0, 0]))


@pytest.mark.parametrize(
    ("env", "reward", "line"),
    [
        ("CartPoole-v1", told, "unknown environment 'CartPoole-v1': did you mean 'CartPole-v1'?"),
        (7, told, "gym_reward takes an environment of Gymnasium, its id, or a VecEnv of stable-baselines3, not 7"),
        ("CartPole-v1", None, "gym_reward needs a reward: a function of observation, action, next_observation"),
        ("CartPole-v1", gd.exact(), "exact() is a reward of text; one of env steps is a function of observation"),
    ],
)
def test_what_cannot_be_is_one_line(env, reward, line):
    with pytest.raises(gd.UserError) as refused:
        gd.gym_reward(env, reward)
    assert str(refused.value).startswith(line)


def test_a_missing_extra_is_one_line(monkeypatch):
    real = builtins.__import__

    def without(name, *rest, **how):
        if name == "gymnasium":
            raise ImportError(name)
        return real(name, *rest, **how)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(gd.UserError) as refused:
        gd.gym_reward("CartPole-v1", told)
    assert str(refused.value) == "gymnasium is not installed: pip install 'guerdon[control]'"


def test_a_run_pays_what_the_wrapper_pays(tmp_path):
    """A run under `reward=` and one in the wrapped environment have the same numbers."""

    def make():
        return gd.gym_reward(gymnasium.make("CartPole-v1"), leans)

    def leans(observation, next_observation, terminated):
        return {"lean": -abs(next_observation[2]), "gain": abs(observation[2]), "fell": -2.0 * terminated}

    small = {"worlds": 2, "horizon": 32, "minibatch": 16, "epochs": 1, "hidden": (8,), "steps": 2}
    options = gd.Options(eval_tasks=0)
    runs = [
        gd.train(
            "ppo_control", reward=reward, settings={**small, "env": env}, options=options, seed=1, out=tmp_path / str(i)
        )
        for i, (env, reward) in enumerate([("CartPole-v1", leans), (make, None)])
    ]
    one, other = (run.batch(1) for run in runs)
    assert one["reward_steps"].tolist() == other["reward_steps"].tolist()
    assert runs[0].weights == runs[1].weights


@pytest.mark.peers("stable-baselines3")
@BOTH
@pytest.mark.parametrize("cut", [False, True])
def test_stable_baselines3(reward, cut):
    from stable_baselines3.common.vec_env import DummyVecEnv, VecMonitor

    env = VecMonitor(gd.gym_reward(DummyVecEnv([lambda: Counting(3, cut), lambda: Counting(4, cut)]), reward))
    env.reset()
    returns = {0: 0.0, 1: 0.0}
    for number, action in enumerate(ACTIONS):
        _, pays, ended, infos = env.step(np.array([action, 1 - action]))
        for world, length in enumerate((3, 4)):
            t = number % length + 1
            assert pays[world] == by_hand(t, [action, 1 - action][world], length, 0.5 if cut else 0.25)
            assert infos[world]["env_reward"] == t
            assert infos[world]["reward_parts"]["before"] == 100.0 * (t - 1)
            returns[world] += float(pays[world])
            if ended[world]:
                assert infos[world]["episode"]["r"] == pytest.approx(returns[world])
                returns[world] = 0.0


@pytest.mark.peers("stable-baselines3")
def test_stable_baselines3_learns_from_it_and_stops_where_it_has_no_value():
    from stable_baselines3 import PPO
    from stable_baselines3.common.vec_env import DummyVecEnv

    def heats(next_observation):
        return {"run": 1.0, "heat": float("inf") if next_observation[1] == 2 else 0.0}

    PPO("MlpPolicy", gd.gym_reward(DummyVecEnv([Counting] * 2), told), n_steps=8, batch_size=8, device="cpu").learn(16)
    with pytest.raises(gd.RunStopped, match="Counting: the reward is inf at step 2 of world 0, component 'heat'"):
        PPO(
            "MlpPolicy", gd.gym_reward(DummyVecEnv([Counting] * 2), heats), n_steps=8, batch_size=8, device="cpu"
        ).learn(16)
