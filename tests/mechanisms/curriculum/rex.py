"""REX: a learning rate that stays above a straight line and falls faster at the end."""

from __future__ import annotations

from harness import Mechanism, World

from guerdon.core.schedule import at
from guerdon.recipes.curriculum.rex import PROFILES
from guerdon.studies.schedules import rex

STEPS = 9  # the first has the whole rate, the last none


def rates(schedule="rex", peak=2.0, steps=STEPS):
    return [at(PROFILES[schedule](peak, steps), step, steps) for step in (0, 2, 4, 6, 8)]


def left(schedule):
    """How far from the least of x^2 / 2 gradient descent ends on so few steps, begun at 1."""
    x = 1.0
    for step in range(STEPS):
        x -= at(PROFILES[schedule](0.2, STEPS), step, STEPS) * x
    return x


def z(share):
    return 2.0 * (1 - share) / (1 - share / 2)


mechanism = Mechanism(
    "rex",
    source="arXiv:2107.04197: peak (1 - z) / (1 - z/2), z the share of the run done",
    also=[rex],
    numbers={
        "at 0, 1/4, 1/2, 3/4 and all of the run": (rates, [z(0.0), z(0.25), z(0.5), z(0.75), 0.0]),
        "over its own length, and 0 after it": (
            lambda: [rex(1.0, over=5).at(step, 100) for step in (2, 4, 50)],
            [2 / 3, 0.0, 0.0],
        ),
    },
    world=World(
        says="few steps for a long way: what is left of it is less than by linear decay",
        measure=left,
        on={"schedule": "rex"},
        off={"schedule": "linear"},
        moves=-0.03,
    ),
    without={"rex": "the study around the schedule; its networks are trained in tests/recipes/test_studies.py"},
)
