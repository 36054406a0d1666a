"""Random rewards and what lies between two of them, and how well a distance tells regret over many such pairs.

Rewards and steps between them are drawn as in the STARC authors' code (github.com/lucyfarnik/starc, src/env/reward.py:19-88,
src/experiments/interpolated.py:31-101). Left out: rewards of states alone, and episodes that end.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

import numpy as np

from guerdon.audits.distances.mdp import Array, FiniteMDP, random_mdp, shaped
from guerdon.audits.distances.metrics import dard, epic, regret, starc, worst_regret

Told = Literal["starc", "starc_l1", "starc_linf", "minimal", "val_potential", "epic", "dard", "plain"]
DISTANCES: dict[Told, Callable[[FiniteMDP, Array, Array], float]] = {
    "starc": starc,
    "starc_l1": partial(starc, power=1),
    "starc_linf": partial(starc, power="inf"),
    "minimal": partial(starc, form="minimal"),
    "val_potential": partial(
        starc, form="val_potential"
    ),  # shaping is taken off, but not the levelling over next states
    "epic": epic,
    "dard": dard,
    "plain": partial(starc, form="none"),
}
Others = Literal["random", "mixed"]
KINDS = ("random", "shaped", "scaled", "negated")
Lost = Literal["followed", "both", "worst"]
NEAR = 0.1  # rewards whose distance is less are called near


def random_reward(mdp: FiniteMDP, draw: np.random.Generator) -> Array:
    """Normal numbers for all transitions, sometimes only the largest; often scaled, sometimes moved up, in half of the cases
    shaped by a potential."""
    reward: Array = draw.standard_normal(mdp.transitions.shape)
    if draw.random() > 0.8:
        reward = np.where(reward > 3.0, reward, 0.0)
    if draw.random() > 0.3:
        reward = reward * 10 * draw.random()
    if draw.random() > 0.7:
        reward = reward + 10 * draw.random()
    if draw.random() > 0.5:
        potential: Array = draw.standard_normal(mdp.states) * 10 * draw.random() + draw.random()
        reward = shaped(mdp, reward, potential)
    return reward


def other_reward(kind: str, mdp: FiniteMDP, one: Array, draw: np.random.Generator) -> Array:
    """What is gone towards from a reward."""
    if kind == "random":
        return random_reward(mdp, draw)
    if kind == "shaped":
        potential: Array = 10 * draw.random() * float(one.std()) * draw.standard_normal(mdp.states)
        return shaped(mdp, one, potential)
    return one * 10 * draw.random() if kind == "scaled" else -one


def lost_by(mdp: FiniteMDP, one: Array, other: Array, how: Lost) -> float:
    """The regret under `one` of following the other; of either under the other on average; or STARC's worst case."""
    if how == "worst":
        return worst_regret(mdp, one, other)
    return regret(mdp, one, other) if how == "followed" else (regret(mdp, one, other) + regret(mdp, other, one)) / 2


def told_regret(
    told: Told,
    lost: Lost,
    others: Others,
    size: tuple[int, int, float],
    pairs: int,
    steps: int,
    draw: np.random.Generator,
) -> dict[str, Any]:
    """How well a distance tells regret, over `steps` ways from one reward to another of each pair, a world for each pair.

    `correlation` is Pearson's and `rank_correlation` Spearman's; `costliest_near` the largest regret of rewards that are told
    to be near, with how many there were.
    """
    states, actions, gamma = size
    points = []
    for pair in range(pairs):
        mdp = random_mdp(states, actions, gamma, draw)
        one = random_reward(mdp, draw)
        end = other_reward(KINDS[pair % len(KINDS)] if others == "mixed" else "random", mdp, one, draw)
        for step in range(1, steps + 1):
            other = one + (end - one) * step / steps
            points.append((DISTANCES[told](mdp, one, other), lost_by(mdp, one, other, lost)))
    far, costs = np.array(points).T
    near = costs[far < NEAR]
    return {
        "correlation": correlation(far, costs),
        "rank_correlation": correlation(ranks(far), ranks(costs)),
        "costliest_near": float(near.max(initial=0.0)),
        "near": len(near),
        "pairs": len(points),
        "mean_regret": float(costs.mean()),
    }


def correlation(one: Array, other: Array) -> float:
    """Pearson's; 0 where one of the two does not vary."""
    spreads = float(one.std() * other.std())
    return float(((one - one.mean()) * (other - other.mean())).mean()) / spreads if spreads > 0 else 0.0


def ranks(values: Array) -> Array:
    """Places in order; those that are equal share the mean of theirs."""
    _, group, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = counts.cumsum()
    return (ends - (counts - 1) / 2)[group]
