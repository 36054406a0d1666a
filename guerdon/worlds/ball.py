"""`ball`: a paddle keeps a ball in the air, N worlds at a time in numpy.

A ball flies in a box of width and height 1 and is thrown back by walls, ceiling and a paddle of width 0.2 on the floor, which
moves by at most 0.06 a step. A hit is paid 1; where the ball meets the paddle beside its middle it flies off to that side. The
goal is ten hits; an episode ends there, or where the ball is missed, and is cut after 400 steps.
Leaves out: gravity and spin, so that where it lands is exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
HALF = 0.1  # of the paddle
MOVE = 0.06  # of the paddle, in a step
FALL = 0.08  # of the ball, in a step
SIDE = 0.04  # of the ball, at most
TURN = 0.02  # what a hit at the paddle's end adds to that
HITS = 10
STEPS = 400


class Ball:
    """N balls. A view has the ball's place and way, the paddle's place and the hits; an action is the paddle's move."""

    def __init__(self, n: int) -> None:
        self.n, self.choices, self.moves, self.size = n, 0, 1, 6
        self.place, self.way = np.zeros((n, 2)), np.zeros((n, 2))
        self.paddle, self.hits, self.steps = np.zeros(n), np.zeros(n, np.int64), np.zeros(n, np.int64)

    def begin(self, i: int, dice: np.random.Generator) -> None:
        self.place[i] = dice.uniform((0.0, 0.7), (1.0, 1.0))
        self.way[i] = dice.uniform(-SIDE, SIDE), -FALL
        self.paddle[i] = dice.uniform(0.4, 0.6)
        self.hits[i] = self.steps[i] = 0

    def seen(self) -> Numbers:
        return np.concatenate([self.place, 10 * self.way, self.paddle[:, None], self.hits[:, None] / HITS], 1)

    def step(self, actions: Any) -> tuple[Numbers, Any, Any, Any]:
        """[N] pay, whether the episode is over, whether it is cut, whether the goal was reached."""
        moves = np.clip(np.asarray(actions, np.float64).reshape(self.n), -1.0, 1.0)
        self.paddle = np.clip(self.paddle + MOVE * moves, 0.0, 1.0)
        self.place += self.way
        x, y = self.place[:, 0], self.place[:, 1]
        beside, above, below = (x < 0) | (x > 1), y > 1, y <= 0
        self.place[:, 0] = folded(x)
        self.way[beside, 0] *= -1.0
        self.place[above, 1], self.way[above, 1] = 2.0 - y[above], -FALL
        off = self.place[:, 0] - self.paddle
        hit = below & (np.abs(off) <= HALF)
        self.place[hit, 1], self.way[hit, 1] = -y[hit], FALL
        self.way[hit, 0] = np.clip(self.way[hit, 0] + TURN * off[hit] / HALF, -SIDE, SIDE)
        self.hits += hit
        self.steps += 1
        reached = self.hits >= HITS
        over = reached | (below & ~hit)
        return hit.astype(np.float64), over, (self.steps >= STEPS) & ~over, reached

    def gold(self) -> Numbers:
        """[N, 1] to where the ball will land, and to the middle while it rises."""
        falling = self.way[:, 1] < 0
        steps = np.ceil(self.place[:, 1] / FALL - 1e-9)  # until it is at the floor
        lands = folded(self.place[:, 0] + steps * self.way[:, 0])
        return np.clip((np.where(falling, lands, 0.5) - self.paddle) / MOVE, -1.0, 1.0)[:, None]


def folded(x: Numbers) -> Numbers:
    """Where a ball is that is thrown back at 0 and at 1.

    >>> folded(np.array([-0.25, 0.5, 1.25])).tolist()
    [0.25, 0.5, 0.75]
    """
    on: Numbers = 1.0 - np.abs(1.0 - np.mod(x, 2.0))
    return on
