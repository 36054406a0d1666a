"""`desk`: a hand on a desk, N worlds at a time in numpy: reach, push, carry, and reach past a wall.

Such tasks are what methods for rewards are tried on in Gymnasium-Robotics' Fetch and in Meta-World; here they have two
dimensions and no contact forces, so that a step costs microseconds and truth is exact. The hand moves by at most 0.1 in each
direction. A puck that it touches is pushed out of its way; a puck that it holds moves with it. The pay of a step is minus a
tenth of the distance that is left, and 1 at the goal, where the episode ends; after 100 steps it is cut.
Leaves out: masses and friction, rotations, pictures.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

Numbers = npt.NDArray[np.float64]
Job = Literal["reach", "push", "carry", "obstacles"]
JOBS: tuple[str, ...] = get_args(Job)
STEP = 0.1  # of the hand
NEAR = 0.08  # of the goal
TOUCH = 0.1  # between the middles of hand and puck
AHEAD, ASIDE = (
    0.08,
    0.5,
)  # of the gold player's push: how far beyond the touch it aims, and how far beside the line it may be
GRIP = 0.08  # from where a hand can take the puck
GAP = 0.2  # half of the opening in the wall, which is at x = 0
THICK = 0.02  # half of the wall
STEPS = 100
FIELD = 0.7  # things begin within this of the middle, so that there is room behind each; the desk ends at 1


class Desk:
    """N desks. A view has the hand, the goal, the puck where there is one, and the ways between them. An action moves the hand
    and, in `carry`, its grip: closed above 0."""

    def __init__(self, n: int, job: Job = "reach") -> None:
        self.n, self.job = n, job
        self.has_puck = job in ("push", "carry")
        self.moves, self.choices = (3 if job == "carry" else 2), 0
        self.size = {"reach": 6, "push": 10, "carry": 11, "obstacles": 7}[job]
        self.hand, self.puck, self.goal = (np.zeros((n, 2)) for _ in range(3))
        self.held, self.gap, self.steps = np.zeros(n, bool), np.zeros(n), np.zeros(n, np.int64)

    def begin(self, i: int, dice: np.random.Generator) -> None:
        """Begin an episode in world `i`: things that are apart, by at least 0.3."""
        while True:
            hand, puck, goal = dice.uniform(-FIELD, FIELD, (3, 2))
            if self.job == "obstacles":  # on two sides of the wall
                side = 1.0 if hand[0] > 0 else -1.0
                hand[0], goal[0] = side * max(abs(hand[0]), 0.3), -side * max(abs(goal[0]), 0.3)
            apart = [np.hypot(*(hand - goal))] + (
                [np.hypot(*(hand - puck)), np.hypot(*(puck - goal))] if self.has_puck else []
            )
            if min(apart) >= 0.3:
                break
        self.hand[i], self.puck[i], self.goal[i] = hand, puck, goal
        self.held[i], self.gap[i], self.steps[i] = False, dice.uniform(-0.5, 0.5), 0

    def seen(self) -> Numbers:
        """[N, size]"""
        rows = [self.hand, self.goal]
        if self.has_puck:
            rows += [self.puck, self.puck - self.hand, self.goal - self.puck]
        else:
            rows += [self.goal - self.hand]
        rows += [self.held[:, None]] if self.job == "carry" else [self.gap[:, None]] if self.job == "obstacles" else []
        return np.concatenate(rows, 1)

    def step(self, actions: Any) -> tuple[Numbers, Any, Any, Any]:
        """[N] pay, whether the episode is over, whether it is cut, whether the goal was reached."""
        moves = np.clip(np.asarray(actions, np.float64), -1.0, 1.0)
        before = self.hand.copy()
        self.hand += STEP * moves[:, :2]
        np.clip(self.hand, -1.0, 1.0, out=self.hand)
        if self.job == "obstacles":
            self._stop_at_the_wall(before)
        if self.job == "carry":
            close = np.hypot(*(self.puck - before).T) <= GRIP
            self.held = (moves[:, 2] > 0) & (self.held | close)
            self.puck[self.held] = self.hand[self.held]
        if self.job == "push":
            self._push(before)
        self.steps += 1
        left = np.hypot(*((self.puck if self.has_puck else self.hand) - self.goal).T)
        reached = left <= NEAR
        pay = np.where(reached, 1.0, -0.1 * left)
        return pay, reached, (self.steps >= STEPS) & ~reached, reached

    def _stop_at_the_wall(self, before: Numbers) -> None:
        """A hand that would cross the wall beside its opening stays on its side, and slides along it."""
        side = np.where(before[:, 0] >= 0, 1.0, -1.0)
        move = self.hand - before
        share = np.divide(-before[:, 0], move[:, 0], out=np.zeros(self.n), where=move[:, 0] != 0)
        crosses = self.hand[:, 0] * side < THICK
        open_ = np.abs(before[:, 1] + np.clip(share, 0.0, 1.0) * move[:, 1] - self.gap) <= GAP
        blocked = crosses & ~open_
        self.hand[blocked, 0] = side[blocked] * THICK

    def _push(self, before: Numbers) -> None:
        """A puck in the way of the hand is moved out of it: away from the middle of the hand, to where the two touch."""
        for part in (0.5, 1.0):  # in two parts, or a fast hand would jump over it
            hand = before + part * (self.hand - before)
            away = self.puck - hand
            gap = np.hypot(*away.T)
            touched = gap < TOUCH
            unit = np.divide(away, gap[:, None], out=np.tile([1.0, 0.0], (self.n, 1)), where=gap[:, None] > 1e-9)
            self.puck[touched] = np.clip((hand + TOUCH * unit)[touched], -1.0, 1.0)

    # --- the gold player ------------------------------------------------------------------------------------------------

    def gold(self) -> Numbers:
        """[N, moves] the action of a player that reaches the goal."""
        if self.job == "reach":
            return _towards(self.hand, self.goal)
        if self.job == "obstacles":
            return _towards(self.hand, self._past_the_wall())
        if self.job == "carry":
            target = np.where(self.held[:, None], self.goal, self.puck)
            near = self.held | (np.hypot(*(self.puck - self.hand).T) <= GRIP)
            return np.concatenate([_towards(self.hand, target), np.where(near, 1.0, -1.0)[:, None]], 1)
        return self._gold_push()

    def _past_the_wall(self) -> Numbers:
        """The next point to go to: before the opening, behind it, the goal."""
        side = np.where(self.goal[:, 0] >= 0, 1.0, -1.0)  # to which it goes
        through = self.hand[:, 0] * side > THICK
        level = np.abs(self.hand[:, 1] - self.gap) <= GAP / 2
        x = np.where(level, 0.15 * side, -0.15 * side)
        return np.where(through[:, None], self.goal, np.stack([x, self.gap], 1))

    def _gold_push(self) -> Numbers:
        """Behind the puck, seen from the goal; around it, if it is in the way; then towards the goal."""
        ahead = self.goal - self.puck
        unit = ahead / np.maximum(np.hypot(*ahead.T), 1e-9)[:, None]
        to_hand = self.hand - self.puck
        along, side = (to_hand * unit).sum(1), unit[:, 0] * to_hand[:, 1] - unit[:, 1] * to_hand[:, 0]
        normal = np.stack([-unit[:, 1], unit[:, 0]], 1)
        behind = (along < -0.5 * TOUCH) & (np.abs(side) < ASIDE * TOUCH)
        which = np.where(side >= 0, 1.0, -1.0)[:, None]
        around = self.puck + 2.2 * TOUCH * which * normal - 1.2 * TOUCH * unit
        start = self.puck - 1.5 * TOUCH * unit
        beside = (along > -TOUCH) & (np.abs(side) < 2.0 * TOUCH)
        sideways = self.hand + TOUCH * which * normal
        target = np.where(beside[:, None], sideways, np.where((along > -TOUCH)[:, None], around, start))
        push = self.puck + (AHEAD - TOUCH) * unit  # the point where it would touch, and further on
        return _towards(self.hand, np.where(behind[:, None], push, target))


def _towards(here: Numbers, there: Numbers) -> Numbers:
    """[N, 2] the move that gets nearest, in a straight line."""
    way = (there - here) / STEP
    far = np.maximum(np.abs(way).max(1), 1.0)
    straight: Numbers = way / far[:, None]
    return straight
