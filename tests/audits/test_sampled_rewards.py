"""Estimates of distances from samples: near the exact ones, and as far off as they say."""

from __future__ import annotations

import numpy as np
import pytest
from refusals import refusal

from guerdon.audits.distances.mdp import random_mdp, shaped
from guerdon.audits.distances.metrics import Coverage, dard, dard_sampled, epic, epic_sampled, starc, starc_sampled
from guerdon.core.errors import UserError

DRAW = np.random.default_rng(0)
MDP = random_mdp(6, 3, 0.8, DRAW, keep=0.5)
ONE, OTHER = DRAW.standard_normal((2, *MDP.transitions.shape))


def step(draw, states, actions):
    chances = MDP.transitions[states, actions].cumsum(1)
    return (draw.random((len(states), 1)) > chances).sum(1).clip(max=MDP.states - 1)


COVER = Coverage(
    states=lambda draw, n: draw.integers(MDP.states, size=n),
    actions=lambda draw, n: draw.integers(MDP.actions, size=n),
    step=step,
)
ANYWHERE = Coverage(COVER.states, COVER.actions)


def looked_up(reward):
    return lambda states, actions, after: reward[states, actions, after]


MIXED = 0.6 * ONE + 0.4 * OTHER


@pytest.mark.slow
def test_estimates_come_near_what_is_exact():
    pair = looked_up(ONE), looked_up(MIXED)
    assert epic_sampled(*pair, ANYWHERE, 0.8, 2000, 400) == pytest.approx(epic(MDP, ONE, MIXED), abs=0.02)
    assert dard_sampled(*pair, COVER, 0.8, 2000, 200) == pytest.approx(dard(MDP, ONE, MIXED), abs=0.02)
    exact = starc(MDP, ONE, MIXED, weights=np.full(MDP.transitions.shape, 1 / 108))
    assert starc_sampled(*pair, COVER, 0.8, 300, 300, 30) == pytest.approx(exact, abs=0.03)


def test_shaping_cancels_however_few_the_samples_and_in_starc_after_enough_steps():
    phi = 5 * np.random.default_rng(1).standard_normal(MDP.states)
    pair = looked_up(ONE), looked_up(shaped(MDP, 2 * ONE, phi))
    assert epic_sampled(*pair, ANYWHERE, 0.8, 40, 3) == pytest.approx(0.0, abs=1e-7)
    assert dard_sampled(*pair, COVER, 0.8, 40, 3) == pytest.approx(0.0, abs=1e-7)
    short, long = (starc_sampled(*pair, COVER, 0.8, 100, 16, horizon) for horizon in (5, 40))
    assert short > 0.02 and long < 0.001


def test_few_samples_are_off_by_what_is_said():
    pair, exact = (looked_up(ONE), looked_up(MIXED)), dard(MDP, ONE, MIXED)
    few, many = (np.mean([dard_sampled(*pair, COVER, 0.8, 300, n, seed=s) for s in range(30)]) for n in (4, 64))
    assert few < exact - 0.01 and many == pytest.approx(exact, abs=0.01)


def test_opposites_are_as_far_apart_as_can_be():
    pair = looked_up(ONE), looked_up(-3 * ONE)
    for estimate in (epic_sampled, dard_sampled):
        assert estimate(*pair, COVER, 0.8, 50, 10) == pytest.approx(1.0)
    assert starc_sampled(*pair, COVER, 0.8, 50, 10, 10) == pytest.approx(1.0)


def test_the_same_seed_gives_the_same_number():
    pair = looked_up(ONE), looked_up(OTHER)
    assert epic_sampled(*pair, COVER, 0.8, 50, 20, seed=3) == epic_sampled(*pair, COVER, 0.8, 50, 20, seed=3)
    assert epic_sampled(*pair, COVER, 0.8, 50, 20, seed=3) != epic_sampled(*pair, COVER, 0.8, 50, 20, seed=4)


def test_states_may_be_rows_of_numbers():
    """A point on a plane: rewards that differ by shaping with the distance to the goal."""
    flat = Coverage(lambda draw, n: draw.uniform(-1, 1, (n, 2)), lambda draw, n: draw.uniform(-0.1, 0.1, (n, 2)))

    def goal(states, actions, after):
        return (np.linalg.norm(after - 1.0, axis=1) < 0.5).astype(float)

    def closer(states, actions, after):
        return (
            goal(states, actions, after) - 0.9 * np.linalg.norm(after - 1, axis=1) + np.linalg.norm(states - 1, axis=1)
        )

    assert epic_sampled(goal, closer, flat, 0.9, 64, 32) == pytest.approx(0.0, abs=1e-7)
    assert epic_sampled(goal, lambda s, a, t: -np.abs(a).sum(1), flat, 0.9, 64, 32) > 0.3


def test_what_is_refused():
    with refusal(UserError):
        epic_sampled(lambda s, a, t: 0.0, looked_up(ONE), COVER, 0.8, 10, 10)
    with pytest.raises(UserError, match="step="):
        dard_sampled(looked_up(ONE), looked_up(ONE), ANYWHERE, 0.8, 10, 10)
