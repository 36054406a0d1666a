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


class Limited(Counting):
    """Ends after four steps whatever is done, and does not show the time; told as `terminated`, or `truncated`."""

    def __init__(self, cut=False):
        super().__init__(4, cut)

    def seen(self):
        return np.array([self.begun, 0, self.last], np.float32)


class Goal(Counting):
    """A walk on a line to 3; the end is told as `terminated`, or wrongly as `truncated`. It pays at the goal, or `for_still` at
    every step in which nothing is done."""

    def __init__(self, cut=False, for_still=0.0):
        super().__init__(30, cut)
        self.cut, self.for_still = cut, for_still

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = int(self.np_random.integers(-3, 3))
        return self.seen(), {}

    def seen(self):
        return np.array([getattr(self, "place", 0), 0, 0], np.float32)

    def gold(self):
        return 1

    def step(self, action):
        self.t, self.place = self.t + 1, self.place + int(action)
        over = self.place >= 3
        pay = 1.0 if over else self.for_still * (1 - int(action))
        return self.seen(), pay, over and not self.cut, (over and self.cut) or self.t >= self.length, {"success": over}


class Leaking(Counting):
    """An episode changes the next: what it begins at grows."""

    def __init__(self):
        super().__init__()
        self.played = 0

    def reset(self, *, seed=None, options=None):
        self.played += 1
        return super().reset(seed=seed)

    def seen(self):
        return super().seen() + np.float32(self.played)
