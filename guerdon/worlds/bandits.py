"""`bandits`: K arms, an episode of 100 pulls, N worlds at a time in numpy.

Arm k pays a Bernoulli number with its own mean, which is drawn from the uniform distribution for every episode. The view is
what has been seen of it, so that a policy of one view can explore: of each arm how often it was pulled and how often it
paid, in shares of the episode, and how much of the episode is left. The gold player knows the means and pulls the best arm.
Leaves out: contexts, and means that drift.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
PULLS = 100


class Bandits:
    """N bandits of `arms` arms. An episode reached its goal where the best arm was pulled in most of its last tenth."""

    def __init__(self, n: int, arms: int = 5) -> None:
        self.n, self.choices, self.moves, self.size = n, arms, 0, 2 * arms + 1
        self.means = np.zeros((n, arms))
        self.luck = np.zeros((n, PULLS))
        self.pulled, self.paid = np.zeros((n, arms)), np.zeros((n, arms))
        self.steps, self.late = np.zeros(n, np.int64), np.zeros(n, np.int64)

    def begin(self, i: int, dice: np.random.Generator) -> None:
        self.means[i], self.luck[i] = dice.random(self.choices), dice.random(PULLS)
        self.pulled[i] = self.paid[i] = 0.0
        self.steps[i] = self.late[i] = 0

    def seen(self) -> Numbers:
        left = 1.0 - self.steps / PULLS
        return np.concatenate([self.pulled / PULLS, self.paid / PULLS, left[:, None]], 1)

    def step(self, actions: Any) -> tuple[Numbers, Any, Any, Any]:
        rows, arm = np.arange(self.n), np.asarray(actions, np.int64).reshape(self.n)
        pay = (self.luck[rows, np.minimum(self.steps, PULLS - 1)] < self.means[rows, arm]).astype(np.float64)
        self.pulled[rows, arm] += 1.0
        self.paid[rows, arm] += pay
        self.late += (self.steps >= 0.9 * PULLS) & (arm == self.means.argmax(1))
        self.steps += 1
        over = self.steps >= PULLS  # the view shows the time: this is the end of the problem, and no limit
        return pay, over, np.zeros(self.n, bool), over & (self.late > 0.05 * PULLS)

    def gold(self) -> npt.NDArray[np.int64]:
        """[N] the best arm."""
        best: npt.NDArray[np.int64] = self.means.argmax(1)
        return best
