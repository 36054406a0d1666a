"""Distances between rewards: numbers done by hand, numbers that the authors' code gave, what must not matter, and regret."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from refusals import refusal
from scipy.optimize import linprog

from guerdon.audits.distances.mdp import FiniteMDP, random_mdp, redistributed, shaped
from guerdon.audits.distances.metrics import (
    canonical,
    dard,
    epic,
    minimal_form,
    norm,
    regret,
    regret_bound,
    spread,
    starc,
    worst_regret,
)
from guerdon.core.errors import UserError

SWITCH = FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)  # stay, or go to the other state
LEAVE = np.array([[[0, 0], [0, 1.0]], [[0, 0], [0, 0]]])  # for leaving the first state


def gridworld() -> FiniteMDP:
    """EPIC's 3 x 3 grid: right, down, left, up, stay; a move into a wall stays."""
    chances = np.zeros((9, 5, 9))
    for cell, (action, (down, right)) in itertools.product(
        range(9), enumerate([(0, 1), (1, 0), (0, -1), (-1, 0), (0, 0)])
    ):
        row, column = cell // 3 + down, cell % 3 + right
        chances[cell, action, row * 3 + column if 0 <= row < 3 and 0 <= column < 3 else cell] = 1.0
    return FiniteMDP(chances, gamma=0.99, start=np.eye(9)[0])


def by_state(values: list[float]) -> np.ndarray:
    return np.broadcast_to(np.array(values, dtype=float)[:, None, None], (9, 5, 9)).copy()


GRID = {
    "sparse": by_state([0, 0, 0, 0, 0, 0, 0, 0, 1]),
    "path": by_state([0, -1, -1, 0, 0, 0, -1, -1, 4]),
    "cliff": by_state([0, -1, -1, 0, 0, 0, -4, -4, 4]),
}
# github.com/lucyfarnik/starc, results/handpicked_epic_gridworlds.json: norm of the difference, not halved; form, n, m
PUBLISHED = {
    ("sparse", "path"): {
        ("epic", 2, 2): 0.3203644860139345,
        ("epic", 1, 1): 0.5,
        ("epic", "inf", "inf"): 0.125,
        ("dard", 2, 2): 0.30473577099515414,
        ("dard", 1, "inf"): 0.00375,
        ("dard", "inf", 1): 40.0,
        ("minimal_potential", 2, 2): 0.3203643152543358,
    },
    ("sparse", "cliff"): {
        ("epic", 1, 1): 1.022727272727273,
        ("dard", 1, 1): 1.0243781094527362,
        ("dard", 1, 2): 0.06512375336537922,
        ("minimal_potential", 2, 2): 0.735121814170093,
    },
}


def some(seed: int, states: int = 8, actions: int = 3) -> tuple[FiniteMDP, np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    mdp = random_mdp(states, actions, 0.9, draw, keep=0.5)
    one, other = draw.standard_normal((2, *mdp.transitions.shape))
    return mdp, one, other


# --- values -------------------------------------------------------------------------------------------------------


def test_values_and_best_actions_by_hand():
    there = 1 / (1 - 0.81)
    assert SWITCH.best_values(LEAVE) == pytest.approx([there, 0.9 * there])
    assert SWITCH.most(LEAVE) == pytest.approx(0.95 * there) and SWITCH.least(LEAVE) == pytest.approx(0.0)
    assert SWITCH.best_actions(LEAVE).tolist() == [[False, True], [False, True]]
    even = SWITCH.values(SWITCH.even, LEAVE)  # v0 = .5 (1 + .9 v1) + .5 * .9 v0 and v1 = .45 (v0 + v1)
    assert even == pytest.approx(
        [0.5 * (1 + 0.45 / 0.55 * 0.45 / (0.55 - 0.45**2 / 0.55)) / 0.55, even[0] * 0.45 / 0.55]
    )


def test_best_policies_are_those_of_a_linear_program():
    for seed in range(5):
        mdp, reward, _ = some(seed)
        assert mdp.most(reward) == pytest.approx(best_by_program(mdp, reward), abs=1e-6)


def best_by_program(mdp: FiniteMDP, reward: np.ndarray) -> float:
    solved = linprog(-mdp.expected(reward).ravel(), A_eq=flow(mdp), b_eq=mdp.starts)
    return -solved.fun


def flow(mdp: FiniteMDP) -> np.ndarray:
    """What goes out of a state less what comes in, per occupancy of a state and action."""
    out = np.repeat(np.eye(mdp.states)[:, :, None], mdp.actions, axis=2)
    return (out - mdp.gamma * mdp.transitions.transpose(2, 0, 1)).reshape(mdp.states, -1)


# --- distances ----------------------------------------------------------------------------------------------------


def test_epic_by_hand():
    """Of rewards by state the form is gamma (R(s') - mean): the distance is Pearson's of the nine numbers, 4/9 of covariance
    over sqrt(8/81 * 20/9)."""
    correlation = (4 / 9) / np.sqrt(8 / 81 * 20 / 9)
    assert epic(gridworld(), GRID["sparse"], GRID["path"]) == pytest.approx(np.sqrt((1 - correlation) / 2))


def test_val_by_hand():
    """What leaving or staying is worth more than either by chance: halves of the difference of their values."""
    even = SWITCH.values(SWITCH.even, LEAVE)
    leave, stay = 1 + 0.9 * even[1], 0.9 * even[0]
    form = canonical(SWITCH, LEAVE, "val")
    assert form[0, 1] == pytest.approx([(leave - stay) / 2] * 2) and form[0, 0] == pytest.approx(
        [(stay - leave) / 2] * 2
    )


def test_dard_of_two_states_by_hand():
    """For leaving the first: the mean from there is 1/2, from the other 0; across, the action is the same in both steps."""
    form = canonical(SWITCH, LEAVE, "dard")
    # after s=0 with A: stay leads 0 to 0 and s' on to s', switch leads 0 to 1. R(S', A, S'') is 1 if S'=0, A=switch, S''=1.
    assert form[0, 1, 1] == pytest.approx(1 + 0.9 * 0.0 - 0.5 - 0.9 * 0.0)
    # from s=1 switch leads to S'=0, and from s'=0 to S''=1: paid 1 with a chance of 1/2
    assert form[1, 1, 0] == pytest.approx(0 + 0.9 * 0.5 - 0.0 - 0.9 * 0.5)
    assert form[1, 0, 1] == pytest.approx(0.0)


@pytest.mark.parametrize("pair", PUBLISHED)
def test_the_grids_distances_are_those_of_the_authors_code(pair):
    for (form, power, measured), value in PUBLISHED[pair].items():
        ours = 2 * starc(gridworld(), GRID[pair[0]], GRID[pair[1]], form, power, measured)
        assert ours == pytest.approx(value, abs=1e-5 if form == "minimal_potential" else 1e-12)  # theirs descends


@pytest.mark.parametrize("form", ["val", "minimal"])
@pytest.mark.parametrize("power", [1, 2, "inf"])
def test_starc_sees_neither_shaping_nor_scale_nor_redistribution(form, power):
    mdp, one, other = some(0)
    draw = np.random.default_rng(1)
    same = shaped(mdp, redistributed(mdp, 3.0 * one, draw.standard_normal(one.shape)), draw.standard_normal(mdp.states))
    assert starc(mdp, one, same, form, power) == pytest.approx(0.0, abs=1e-9)
    assert starc(mdp, one, -same, form, power) == pytest.approx(1.0, abs=1e-9)
    assert starc(mdp, same, other, form, power) == pytest.approx(starc(mdp, one, other, form, power), abs=1e-9)
    assert 0 < starc(mdp, one, other, form, power) < 1


@pytest.mark.parametrize("distance", [epic, dard])
def test_epic_and_dard_see_no_shaping_but_redistribution(distance):
    mdp, one, _ = some(0)
    draw = np.random.default_rng(1)
    same = shaped(mdp, 3.0 * one, draw.standard_normal(mdp.states))
    assert distance(mdp, one, same) == pytest.approx(0.0, abs=1e-7)
    assert distance(mdp, one, -same) == pytest.approx(1.0)
    moved = redistributed(mdp, one, 3 * draw.standard_normal(one.shape))
    assert distance(mdp, one, moved) > 0.1 and worst_regret(mdp, one, moved) == pytest.approx(0.0, abs=1e-9)


def test_distances_are_pseudometrics():
    mdp, one, other = some(3)
    third = np.random.default_rng(9).standard_normal(one.shape)
    for distance in (epic, dard, starc):
        assert distance(mdp, one, other) == pytest.approx(distance(mdp, other, one))
        assert distance(mdp, one, third) <= distance(mdp, one, other) + distance(mdp, other, third) + 1e-12


def test_a_reward_of_which_nothing_is_left_is_half_of_the_way_to_any():
    mdp, one, _ = some(0)
    nothing = shaped(mdp, 0 * one, np.arange(8.0))
    for distance in (epic, dard, starc):
        assert distance(mdp, one, nothing) == pytest.approx(0.5) == distance(mdp, one, 0 * one)
        assert distance(mdp, nothing, 0 * one) == 0.0


def test_the_minimal_form_is_minimal():
    mdp, one, _ = some(0)
    least, draw = minimal_form(mdp, one), np.random.default_rng(0)
    assert starc(mdp, one, least, "val") == pytest.approx(0.0, abs=1e-9)  # it means the same
    for _ in range(20):
        same = shaped(
            mdp, redistributed(mdp, least, 0.1 * draw.standard_normal(one.shape)), 0.1 * draw.standard_normal(8)
        )
        assert norm(least) < norm(same)


def test_epic_is_small_where_regret_is_all_there_is():
    """Two rewards that differ by opposite signs in what can happen, and agree in what never does: EPIC sees them close."""
    mdp = FiniteMDP(np.eye(6)[None].repeat(3, 0).transpose(1, 0, 2), gamma=0.5)  # every action stays
    impossible = np.where(np.eye(6, dtype=bool)[:, None, :], 0.0, np.random.default_rng(0).standard_normal((6, 3, 6)))
    tells = np.zeros((6, 3, 6))
    tells[:, 0, :] = 0.3 * np.eye(6)
    assert epic(mdp, impossible + tells, impossible - tells) < 0.15
    assert regret(mdp, impossible + tells, impossible - tells) == pytest.approx(1.0)
    assert starc(mdp, impossible + tells, impossible - tells) == pytest.approx(1.0)


def test_what_is_refused():
    with refusal(UserError, "1"):
        FiniteMDP(np.ones((2, 2, 2)), 0.9)
    with pytest.raises(UserError, match="below 1"):
        FiniteMDP(SWITCH.transitions, 1.0)
    with refusal(UserError, "2"):
        starc(SWITCH, LEAVE, np.zeros(3))
    with refusal(UserError):
        starc(SWITCH, LEAVE, LEAVE, "vall")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="coverage"):
        epic(SWITCH, LEAVE, LEAVE, coverage=np.ones((2, 2, 2)))


# --- regret -------------------------------------------------------------------------------------------------------


def worst_by_program(mdp: FiniteMDP, meant: np.ndarray, followed: np.ndarray) -> float:
    """The same as a linear program over two occupancies."""
    ours, theirs, out = mdp.expected(meant).ravel(), mdp.expected(followed).ravel(), flow(mdp)
    none = np.zeros_like(out)
    solved = linprog(
        np.concatenate([-ours, ours]),
        A_ub=np.concatenate([theirs, -theirs])[None],
        b_ub=[0.0],
        A_eq=np.block([[out, none], [none, out]]),
        b_eq=np.tile(mdp.starts, 2),
    )
    return -solved.fun / spread(mdp, meant)


def test_worst_regret_is_that_of_a_linear_program():
    for seed in range(6):
        mdp, one, other = some(seed)
        for share in (0.0, 0.2, 0.5, 0.9, 1.0):
            mixed = (1 - share) * one + share * other
            assert worst_regret(mdp, one, mixed) == pytest.approx(worst_by_program(mdp, one, mixed), abs=1e-5)


def test_regret_by_hand():
    stays = np.array([[[1.0, 0], [0, 0]], [[0, 1.0], [0, 0]]])  # 1 for staying: best is to stay, 10 in all
    assert regret(SWITCH, stays, LEAVE) == pytest.approx(1.0)  # who always switches has nothing
    assert regret(SWITCH, stays, 2 * stays) == 0.0
    assert regret(SWITCH, stays, 0 * stays) == pytest.approx(1.0)  # all are best, the worst of them too
    assert regret(SWITCH, 0 * stays, stays) == 0.0  # nothing to lose
    assert worst_regret(SWITCH, stays, -stays) == pytest.approx(1.0)
    assert worst_regret(SWITCH, stays, 0 * stays) == pytest.approx(1.0)
    assert worst_regret(SWITCH, stays, 5 * stays) == pytest.approx(0.0, abs=1e-9)


@pytest.mark.sampled(2, "power")
@pytest.mark.parametrize("form", ["val", "minimal"])
@pytest.mark.parametrize("power", [1, 2, "inf"])
def test_starc_bounds_regret_from_both_sides(form, power):
    """From above by the constant that is computed; from below: regret is 0 only where the distance is."""
    for seed in range(4):
        mdp, one, other = some(seed, states=6)
        for share in (0.0, 0.01, 0.3, 1.0):
            mixed = (1 - share) * one + share * other
            lost, far = worst_regret(mdp, one, mixed), starc(mdp, one, mixed, form, power)
            assert regret(mdp, one, mixed) <= lost + 1e-9
            assert lost <= regret_bound(mdp, one, mixed, form, power) + 1e-9
            assert lost >= 0.2 * far - 1e-9
