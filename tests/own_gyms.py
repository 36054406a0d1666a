"""Environments of Gymnasium's kind whose every number is known, and some that are broken in one place."""

from __future__ import annotations

import random

import gymnasium
import numpy as np
from gymnasium import spaces


class Counting(gymnasium.Env):
    """Shows where it began, the step and the last action; pays the step's number; ends after `length` steps."""

    def __init__(self, length=3, cut=False):
        self.observation_space = spaces.Box(-100, 100, (3,), np.float32)
        self.action_space = spaces.Discrete(2)
        self.length, self.cut = length, cut

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.begun, self.t, self.last = int(self.np_random.integers(50)), 0, -1
        return self.seen(), {}

    def seen(self):
        return np.array([self.begun, self.t, self.last], np.float32)

    def step(self, action):
        self.t, self.last = self.t + 1, int(action)
        over = self.t >= self.length
        return self.seen(), float(self.t), over and not self.cut, over and self.cut, {}


class Broken(Counting):
    """Breaks at its second step, in a way that has a name."""

    def __init__(self, how):
        super().__init__(4)
        self.how = how

    def step(self, action):
        seen, pay, over, cut, info = super().step(action)
        if self.t != 2:
            return seen, pay, over, cut, info
        if self.how == "raises":
            raise ValueError("the motor is off")
        if self.how == "nan":
            return seen, float("nan"), over, cut, {"reward_run": 1.0, "reward_ctrl": float("nan")}
        return {
            "four": (seen, pay, over, info),
            "infinite": (seen, float("inf"), over, cut, info),
            "blind": (seen * np.float32("nan"), pay, over, cut, info),
            "words": (seen, pay, "no", cut, info),
            "number": (seen, pay, over, 1, info),
            "wide": (np.zeros(5, np.float32), pay, over, cut, info),
            "many": (seen, np.zeros(2), over, cut, info),
        }[self.how]


class Restless(Counting):
    """Draws from a generator that nothing seeds."""

    def seen(self):
        return super().seen() + np.float32(random.SystemRandom().random())


def counting():
    return Counting()


def cut_off():
    return Counting(cut=True)


def restless():
    return Restless(50)


class Moving(Counting):
    """Numbers for actions, between -1 and 1."""

    def __init__(self):
        super().__init__(5)
        self.action_space = spaces.Box(-1, 1, (2,), np.float32)
        self.taken = []

    def step(self, action):
        self.taken.append(np.array(action))
        return *super().step(0)[:4], {}
