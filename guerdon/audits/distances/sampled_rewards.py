"""Distances between rewards that are functions of states and actions, estimated from samples: EPIC, DARD and STARC.

A reward takes arrays of states, actions and next states, row by row, and gives one number a row. States are rows of an array
of any width, actions likewise. All draws come of `seed` and are the same for both rewards.

How far estimates are off. All are consistent, and none is without bias; numbers are of the six states of
`tests/audits/test_sampled_rewards.py`.

- `epic_sampled` is Gleave et al.'s estimator (arXiv:2006.13900; sample_canon_shaping in
  src/evaluating_rewards/distances/epic_sample.py:218-300 of github.com/HumanCompatibleAI/evaluating-rewards): `means` pairs of
  an action and a next state stand for all of D_A and D_S. What is taken off is a potential difference whatever the sample, so
  rewards that differ by shaping and scale come out at 0 up to rounding. Between others the sampled means disturb all
  transitions alike: with 4 of them 0.80 came out as 0.79 on average, with 16 or more as it is.
- `dard_sampled` draws its means anew for each transition, and shaping cancels in each draw. The noise is shared by both
  rewards and makes them look more alike: with 4 draws 0.373 came out as 0.353, with 64 as 0.371.
- `starc_sampled` needs values: they are means of `rollouts` of `horizon` steps, cut off without an estimate of the rest, which
  leaves gamma^horizon of any potential: a shaped copy came out at 0.04 after 10 steps at gamma 0.8, and at 0.0004 after 30.
  Noise that both rewards share pulls like ones together and others apart: with 4 rollouts 0.41 came out as 0.39, 0.79 as 0.83.

Estimate with more samples until the number stands still; the exact distances are in `reward_distances`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guerdon.audits.distances.finite_mdp import Array
from guerdon.core.errors import UserError

Rows = NDArray[Any]
RewardFunction = Callable[[Rows, Rows, Rows], Any]  # states, actions, next states: a number for each row
Draw = Callable[[np.random.Generator, int], Rows]  # so many rows
Step = Callable[[np.random.Generator, Rows, Rows], Rows]  # a next state for each state and action
ActionsFor = Callable[[np.random.Generator, Rows], Rows]  # an action for each state


@dataclass(frozen=True)
class Coverage:
    """Which states and actions are looked at, by functions that draw them; `step` draws where an action leads.

    EPIC needs no `step`: without one its transitions have next states drawn like states, which is what makes it compare what
    never happens. `policy` acts in STARC's rollouts; without one `actions` are drawn whatever the state.
    """

    states: Draw
    actions: Draw
    step: Step | None = None
    policy: ActionsFor | None = None

    def transitions(self, draw: np.random.Generator, number: int) -> tuple[Rows, Rows, Rows]:
        before, action = self.states(draw, number), self.actions(draw, number)
        return before, action, self.states(draw, number) if self.step is None else self.step(draw, before, action)

    def goes(self, draw: np.random.Generator, states: Rows, actions: Rows) -> Rows:
        if self.step is None:
            raise UserError("this distance follows transitions: give Coverage(step=...), which draws next states")
        return self.step(draw, states, actions)

    def acts(self, draw: np.random.Generator, states: Rows) -> Rows:
        return self.actions(draw, len(states)) if self.policy is None else self.policy(draw, states)


def epic_sampled(
    one: RewardFunction,
    other: RewardFunction,
    cover: Coverage,
    gamma: float,
    n: int = 512,
    means: int = 512,
    seed: int = 0,
) -> float:
    """EPIC from `n` transitions, with `means` actions and next states for its means: n * means calls of each reward, twice."""
    draw = np.random.default_rng(seed)
    before, action, after = cover.transitions(draw, n)
    actions, states = cover.actions(draw, means), cover.states(draw, means)

    def mean_from(reward: RewardFunction, places: Rows) -> Array:
        """Of what is paid from each place on, over the sampled actions and next states."""
        repeated = np.repeat(places, means, axis=0)
        tiled = np.concatenate([actions] * len(places)), np.concatenate([states] * len(places))
        mean: Array = _paid(reward, repeated, *tiled).reshape(len(places), means).mean(1)
        return mean

    def form(reward: RewardFunction) -> Array:
        later, now, anywhere = (mean_from(reward, places) for places in (after, before, states))
        return _paid(reward, before, action, after) + gamma * later - now - gamma * float(anywhere.mean())

    return _pearson(form(one), form(other))


def dard_sampled(
    one: RewardFunction,
    other: RewardFunction,
    cover: Coverage,
    gamma: float,
    n: int = 512,
    means: int = 512,
    seed: int = 0,
) -> float:
    """DARD from `n` transitions; each draws `means` actions of its own, and where they lead from its two states."""
    draw = np.random.default_rng(seed)
    before, action, after = cover.transitions(draw, n)
    actions = cover.actions(draw, n * means)
    here, there = np.repeat(before, means, axis=0), np.repeat(after, means, axis=0)
    from_here, from_there = cover.goes(draw, here, actions), cover.goes(draw, there, actions)

    def form(reward: RewardFunction) -> Array:
        later, now = _paid(reward, there, actions, from_there), _paid(reward, here, actions, from_here)
        across = _paid(reward, from_here, actions, from_there)
        shaping: Array = (gamma * later - now - gamma * across).reshape(n, means).mean(1)
        return _paid(reward, before, action, after) + shaping

    return _pearson(form(one), form(other))


def starc_sampled(
    one: RewardFunction,
    other: RewardFunction,
    cover: Coverage,
    gamma: float,
    n: int = 256,
    rollouts: int = 64,
    horizon: int = 64,
    seed: int = 0,
) -> float:
    """STARC with value-adjusted levelling and the L2 norm, over `n` states and actions as `cover` draws them.

    E[R(s, a, S') + gamma V(S')] is the mean of `rollouts` that begin with s and a, and V(s) of as many that begin with s.
    """
    draw = np.random.default_rng(seed)
    before, action = cover.states(draw, n), cover.actions(draw, n)
    start, first = np.repeat(before, rollouts, axis=0), np.repeat(action, rollouts, axis=0)
    with_action = _returns((one, other), cover, gamma, start, first, horizon, draw)
    alone = _returns((one, other), cover, gamma, start, cover.acts(draw, start), horizon, draw)
    forms = [(q - v).reshape(n, rollouts).mean(1) for q, v in zip(with_action, alone, strict=True)]
    return _half_apart(*forms)


def _returns(
    rewards: tuple[RewardFunction, ...],
    cover: Coverage,
    gamma: float,
    states: Rows,
    actions: Rows,
    horizon: int,
    draw: np.random.Generator,
) -> list[Array]:
    """What each reward pays along the same walks, discounted."""
    totals = [np.zeros(len(states)) for _ in rewards]
    for step in range(horizon):
        after = cover.goes(draw, states, actions)
        for total, reward in zip(totals, rewards, strict=True):
            total += gamma**step * _paid(reward, states, actions, after)
        states, actions = after, cover.acts(draw, after)
    return totals


def _paid(reward: RewardFunction, states: Rows, actions: Rows, after: Rows) -> Array:
    paid = np.asarray(reward(states, actions, after), dtype=np.float64)
    if paid.shape != (len(states),):
        raise UserError(
            f"a reward gave shape {paid.shape} for {len(states)} transitions: it must give one number for each"
        )
    return paid


def _pearson(one: Array, other: Array) -> float:
    return _half_apart(one - one.mean(), other - other.mean())


def _half_apart(one: Array, other: Array) -> float:
    sizes = [float(np.linalg.norm(each)) for each in (one, other)]
    units = [each / size if size > 0 else each for each, size in zip((one, other), sizes, strict=True)]
    return 0.5 * float(np.linalg.norm(units[0] - units[1]))
