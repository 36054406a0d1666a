"""STARC: a distance between rewards that is 0 where they order policies alike, and how well it correlates with regret."""

from __future__ import annotations

import numpy as np
from harness import Mechanism, World

from guerdon.audits.distances.mdp import FiniteMDP, random_mdp, redistributed, shaped
from guerdon.audits.distances.metrics import (
    canonical,
    minimal_form,
    norm,
    standardised,
    starc,
    val_form,
    val_potential_form,
)
from guerdon.core.seeds import derive
from guerdon.recipes.audit.starc import (
    DISTANCES,
    correlation,
    lost_by,
    other_reward,
    random_reward,
    ranks,
)
from guerdon.training.catalog import find_recipe

ONE_STATE = FiniteMDP(np.ones((1, 3, 1)), 0.9)  # what an action is worth there is what it is paid
LEFT, RIGHT, BOTH = np.array([[1.0, 0.0, 0.0]]), np.array([[0.0, 1.0, 0.0]]), np.array([[5.0, 5.0, 0.0]])
# forwards, or a coin toss, from each of two states; leaving the first is paid
TWO = FiniteMDP(np.array([[[0.0, 1.0], [0.5, 0.5]], [[1.0, 0.0], [0.5, 0.5]]]), 0.5)
PAID = np.zeros((2, 2, 2))
PAID[0, :, 1] = 4.0


def distances(mdp, one, other):
    return {
        name: round(DISTANCES[name](mdp, one, other), 4)
        for name in ("starc", "starc_l1", "starc_linf", "minimal", "plain")
    }


def advantage():
    """Of the even policy: V = E[R + gamma V'], solved by hand, and what an action is worth more."""
    # even: from 0 to 1 with 3/4, for 4, else stay, and back with 3/4:
    # v0 = 3 + (v0/4 + 3 v1/4)/2, v1 = (3 v0/4 + v1/4)/2
    v0 = 3 / (1 - 1 / 8 - (9 / 64) / (7 / 8))
    v1 = v0 * 3 / 7
    q = [[4 + v1 / 2, 2 + (v0 + v1) / 4], [v0 / 2, (v0 + v1) / 4]]
    return [[[q[s][a] - (v0, v1)[s]] * 2 for a in range(2)] for s in range(2)]


def smallest():
    """The minimal form: moved in any allowed direction it has a larger norm, and it orders policies as the reward does."""
    form, draw = minimal_form(TWO, PAID), np.random.default_rng(0)
    moved = [
        redistributed(TWO, shaped(TWO, form, 0.1 * draw.standard_normal(2)), 0.1 * draw.standard_normal(form.shape))
        for _ in range(20)
    ]
    return [
        all(norm(each) > norm(form) for each in moved),
        np.allclose(val_form(TWO, form), val_form(TWO, PAID)),
    ]


def drawn_by_code(mdp, draw):
    """random_reward of the released code, with a generator's numbers in its order."""
    r = draw.standard_normal((mdp.states, mdp.actions, mdp.states))
    if draw.random() > 0.8:
        r = np.where(r > 3, r, 0)
    if draw.random() > 0.3:
        r = r * (10 * draw.random())
    if draw.random() > 0.7:
        r = r + 10 * draw.random()
    if draw.random() > 0.5:
        potential = draw.standard_normal(mdp.states)
        potential = potential * (10 * draw.random())
        potential = potential + draw.random()
        r = r + mdp.gamma * potential[None, None, :] - potential[:, None, None]
    return r


def rewards(make):
    draw, mdp = np.random.default_rng(1), random_mdp(12, 4, 0.9, np.random.default_rng(2))
    return [float(np.abs(make(mdp, draw) * np.arange(12)).sum()) for _ in range(40)]


def towards(kind):
    """The other reward of a kind: its distance, and how much of the first is left in it."""
    draw, mdp = np.random.default_rng(3), random_mdp(4, 2, 0.9, np.random.default_rng(2))
    one = np.random.default_rng(5).standard_normal((4, 2, 4))
    other = other_reward(kind, mdp, one, draw)
    again = np.random.default_rng(3)
    expected = {
        "random": lambda: drawn_by_code(mdp, again),
        "shaped": lambda: shaped(mdp, one, 10 * again.random() * one.std() * again.standard_normal(4)),
        "scaled": lambda: 10 * again.random() * one,
        "negated": lambda: -one,
    }
    return bool(np.allclose(other, expected[kind]()))


def studied(**knobs):
    small = {"states": 5, "actions": 2, "gamma": 0.8, "pairs": 5, "steps": 3, **knobs}
    return find_recipe("starc").build({}, small).body(None, 7)


def by_hand(told="starc", lost="followed", mixed=False):
    """The same study, over all ways in order, by numpy's correlations."""
    draw = np.random.default_rng(derive(7, "worlds and rewards"))
    far, costs = [], []
    for pair in range(5):
        mdp = random_mdp(5, 2, 0.8, draw)
        one = random_reward(mdp, draw)
        end = other_reward(("random", "shaped", "scaled", "negated")[pair % 4] if mixed else "random", mdp, one, draw)
        for step in (1, 2, 3):
            other = one + (end - one) * step / 3
            far.append(DISTANCES[told](mdp, one, other))
            costs.append(lost_by(mdp, one, other, lost))
    near = [cost for distance, cost in zip(far, costs, strict=True) if distance < 0.1]
    order = [np.argsort(np.argsort(x)) for x in (far, costs)]  # no ties here
    return {
        "correlation": np.corrcoef(far, costs)[0, 1],
        "rank_correlation": np.corrcoef(*order)[0, 1] if len(set(costs)) == len(costs) else None,
        "costliest_near": max(near, default=0.0),
        "near": len(near),
        "pairs": 15,
        "mean_regret": np.mean(costs),
    }


def same(**knobs):
    here, there = (
        studied(**knobs),
        by_hand(knobs.get("distance", "starc"), knobs.get("lost", "followed"), "others" in knobs),
    )
    return [name for name, value in there.items() if value is not None and not np.isclose(here[name], value)]


def told_apart(distance):
    """How far a reward is from itself redistributed over next states, which changes no policy's return."""
    draw = np.random.default_rng(0)
    mdp = random_mdp(6, 2, 0.9, draw)
    one = draw.standard_normal((6, 2, 6))
    return DISTANCES[distance](mdp, one, redistributed(mdp, one, 3 * draw.standard_normal((6, 2, 6))))


H = 3**0.5 / 2
mechanism = Mechanism(
    "starc",
    source="lucyfarnik/starc@e13f8fa2, src/env/reward.py, lines 19 to 88, src/experiments/interpolated.py, lines 31 to 101;"
    " arXiv:2309.15257, definitions 1 to 4: canonical form, its norm, half the distance",
    also=[starc, standardised, norm, val_form, val_potential_form, minimal_form, canonical],
    numbers={
        "two of three actions: (1, 0, 0) and (0, 1, 0) less their means are at 120 degrees": (
            lambda: distances(ONE_STATE, LEFT, RIGHT),
            {
                "starc": round(H, 4),
                "starc_l1": 0.75,
                "starc_linf": 0.75,
                "minimal": round(H, 4),
                "plain": round(0.5**0.5, 4),
            },
        ),
        "one beside both": (
            lambda: distances(ONE_STATE, LEFT, BOTH),
            {
                "starc": 0.5,
                "starc_l1": 0.5,
                "starc_linf": 0.5,
                "minimal": 0.5,
                "plain": round((2 - 2**0.5) ** 0.5 / 2, 4),
            },
        ),
        "nothing, and a constant": (
            lambda: [starc(ONE_STATE, LEFT, 0 * LEFT), starc(ONE_STATE, 0 * LEFT, LEFT - LEFT + 7.0)],
            [0.5, 0.0],
        ),
        "what is left by rounding is nothing": (
            lambda: [
                starc(TWO, PAID, -1e9 / 3 + 0 * PAID),
                starc(TWO, PAID, shaped(TWO, 0 * PAID, np.array([1e9 / 3, 0.0]))),
            ],
            [0.5, 0.5],
        ),
        "the advantage of the even policy": (lambda: val_form(TWO, PAID), advantage()),
        "of another policy": (
            lambda: val_form(ONE_STATE, LEFT, np.array([[1.0, 0.0, 0.0]])),
            [[[0.0], [-1.0], [-1.0]]],
        ),
        "the same, next state by next state": (
            lambda: val_potential_form(TWO, PAID).mean(2)[:, 1].tolist(),
            [advantage()[s][1][0] for s in range(2)],
        ),
        "by its own policy": (
            lambda: val_potential_form(ONE_STATE, LEFT, np.array([[1.0, 0.0, 0.0]])),
            [[[0.0], [-1.0], [-1.0]]],
        ),
        "the least of all rewards that order policies alike": (smallest, [True, True]),
        "weighted norms": (
            lambda: [norm(np.array([3.0, -4.0, 9.0]), power, np.array([1.0, 1.0, 0.0])) for power in (1, 2, "inf")],
            [7.0, 5.0, 4.0],
        ),
        "of nothing": (lambda: norm(np.array([3.0]), "inf", np.array([0.0])), 0.0),
        "divided by one norm, measured by another; weighted": (
            lambda: [
                starc(ONE_STATE, LEFT, RIGHT, power=2, measured=1),
                starc(ONE_STATE, LEFT, RIGHT, weights=np.array([[[1.0], [1.0], [0.0]]])),
                starc(ONE_STATE, LEFT, RIGHT, "none", 1),
            ],
            [1.5**0.5, 3 / 5**0.5 / 2**0.5, 1.0],
        ),
        "rewards as the code draws them": (lambda: rewards(random_reward), rewards(drawn_by_code)),
        "what is gone towards": (
            lambda: [towards(kind) for kind in ("random", "shaped", "scaled", "negated")],
            [True] * 4,
        ),
        "what it costs to follow it": (
            lambda: [
                lost_by(ONE_STATE, np.array([[1.0, 0.5, 0.0]]), RIGHT, how) for how in ("followed", "both", "worst")
            ],
            [0.5, 0.75, 1.0],
        ),
        "at worst, where the other has no preference, and where there is nothing to lose": (
            lambda: [lost_by(ONE_STATE, *pair, "worst") for pair in ((LEFT, 0 * LEFT), (0 * LEFT, LEFT))],
            [1.0, 0.0],
        ),
        "correlations": (
            lambda: [
                correlation(np.array([1.0, 2.0, 3.0]), np.array([2.0, 2.0, 5.0])),
                correlation(np.array([1.0, 1.0]), np.array([0.0, 1.0])),
                ranks(np.array([2.0, 1.0, 2.0, 5.0])),
            ],
            [3 / (2 * 6) ** 0.5, 0.0, [2.5, 1.0, 2.5, 4.0]],
        ),
        "none near": (lambda: [studied(pairs=1, steps=1)[name] for name in ("near", "costliest_near")], [0, 0.0]),
        "the study": (
            lambda: [same(), same(distance="minimal", lost="worst"), same(others="mixed", lost="both")],
            [[]] * 3,
        ),
    },
    world=World(
        says="a reward redistributed over next states orders policies as before: nothing is between the two",
        measure=told_apart,
        on={"distance": "starc"},
        off={"distance": "val_potential"},
        moves=-0.2,
    ),
    equal={
        **dict.fromkeys(
            (f"random_reward: draw.random() > {p} -> draw.random() >= {p}" for p in (0.8, 0.3, 0.7, 0.5)),
            "no random number is just that",
        ),
        "random_reward: reward > 3.0 -> reward >= 3.0": "no random number is just that",
        "told_regret: far < NEAR -> far <= NEAR": "no distance is just that",
        "told_regret: DISTANCES[told](...) with other before one": "symmetric",
        "told_regret: correlation(...) with costs before far": "symmetric",
        "told_regret: correlation(...) with ranks(costs) before ranks(far)": "symmetric",
        **dict.fromkeys(
            (
                f"correlation: {old} -> {new}"
                for x in ("one", "other")
                for old, new in (
                    (f"{x} - {x}.mean()", f"{x} + {x}.mean()"),
                    (f"{x} - {x}.mean()", x),
                    (f"{x}.mean()", f"{x}.sum()"),
                )
            ),
            "one of the two means is enough",
        ),
        "minimal_form: np.linalg.lstsq(...) without rcond=": "the default",
    },
)
