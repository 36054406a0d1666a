"""A decision process that is small enough to be solved: what policies are worth in it, and which are best.

Values are solutions of linear systems, best policies come from policy iteration, in float64: exact up to rounding.
Axes: S states, A actions; a reward is an array [S, A, S] over states, actions and next states.
Left out: a discount of 1 (a state that leads to itself for nothing ends an episode), and spaces that are not finite.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from guerdon.core.errors import UserError

Array = NDArray[np.float64]
TIE = 1e-9  # actions whose values differ by less, relative to the largest reward and value, are equally good
ROUNDS = 1000  # of policy iteration at most; a dozen is usual


@dataclass(frozen=True, eq=False)
class FiniteMDP:
    """Where actions lead, how much later counts, and where episodes start (everywhere equally often, unless it is said).

    Args:
        gamma: discount, below 1.

    >>> import guerdon as gd
    >>> import numpy as np
    >>> stay_or_switch = gd.audits.FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)
    >>> pays_for_leaving_the_first = np.zeros((2, 2, 2))
    >>> pays_for_leaving_the_first[0, 1, 1] = 1.0
    >>> stay_or_switch.best_values(pays_for_leaving_the_first).round(3)  # 1 / (1 - 0.81), and 0.9 times that
    array([5.263, 4.737])
    """

    transitions: Array  # [S, A, S] the chance of each next state
    gamma: float
    start: Array | None = None  # [S] the chance to start in each state

    def __post_init__(self) -> None:
        chances = np.asarray(self.transitions, dtype=np.float64)
        if chances.ndim != 3 or chances.shape[0] != chances.shape[2] or 0 in chances.shape:
            raise UserError(f"transitions of shape {chances.shape}: give chances [states, actions, next states]")
        if bool((chances < 0).any()) or not np.allclose(chances.sum(2), 1.0, atol=1e-8):
            raise UserError("transitions: the chances of the next states must sum to 1 after every state and action")
        if not 0 <= self.gamma < 1:
            raise UserError(f"gamma={self.gamma}: a finite MDP is solved with a discount of 0 or more, and below 1")
        start = np.full(len(chances), 1 / len(chances)) if self.start is None else np.asarray(self.start, np.float64)
        if start.shape != (len(chances),) or bool((start < 0).any()) or not np.isclose(start.sum(), 1.0, atol=1e-8):
            raise UserError(f"start: give {len(chances)} chances that sum to 1, one for each state")
        object.__setattr__(self, "transitions", chances)
        object.__setattr__(self, "start", start)

    @property
    def states(self) -> int:
        return len(self.transitions)

    @property
    def actions(self) -> int:
        return int(self.transitions.shape[1])

    @property
    def starts(self) -> Array:
        assert self.start is not None
        return self.start

    @cached_property
    def even(self) -> Array:
        """[S, A] the policy that takes all actions equally often."""
        return np.full((self.states, self.actions), 1 / self.actions)

    def reward(self, given: Any) -> Array:
        """A reward as an array [S, A, S]; one over states and actions, [S, A], holds whatever the next state is."""
        array = np.asarray(given, dtype=np.float64)
        shape = self.transitions.shape
        if array.shape == shape[:2]:
            array = np.broadcast_to(array[:, :, None], shape)
        if array.shape != shape:
            raise UserError(
                f"a reward of shape {array.shape}: this MDP takes {shape}, states by actions by next states"
            )
        if not np.isfinite(array).all():
            raise UserError(
                "a reward that is not a number somewhere: fill in every transition, also those that never happen"
            )
        return array

    def expected(self, reward: Array) -> Array:
        """[S, A] what an action is paid on average."""
        paid: Array = (self.transitions * self.reward(reward)).sum(2)
        return paid

    # --- policies -------------------------------------------------------------------------------------------------

    def values(self, policy: Array, reward: Array) -> Array:
        """[S] what a policy [S, A] earns from each state on."""
        leads = np.einsum("sa,sat->st", policy, self.transitions)
        paid = (policy * self.expected(reward)).sum(1)
        values: Array = np.linalg.solve(np.eye(self.states) - self.gamma * leads, paid)
        return values

    def q_values(self, values: Array, reward: Array) -> Array:
        """[S, A] what an action earns before what `values` says of where it leads."""
        after: Array = self.transitions @ values
        return self.expected(reward) + self.gamma * after

    def best(self, reward: Array, among: NDArray[np.bool_] | None = None) -> Array:
        """[S, A] a policy that earns most, one action a state, by policy iteration; `among` are the actions it may take."""
        paid, rows = self.expected(reward), np.arange(self.states)
        may = np.ones(paid.shape, dtype=bool) if among is None else among
        chosen, scale = may.argmax(1), float(np.abs(paid).max())
        for _ in range(ROUNDS):
            values = np.linalg.solve(
                np.eye(self.states) - self.gamma * self.transitions[rows, chosen], paid[rows, chosen]
            )
            q = np.where(may, paid + self.gamma * (self.transitions @ values), -np.inf)
            better = q.max(1) > values + TIE * (scale + float(np.abs(values).max()))
            if not bool(better.any()):
                break
            chosen = np.where(better, q.argmax(1), chosen)
        taken: Array = np.eye(self.actions)[chosen]
        return taken

    def best_values(self, reward: Array) -> Array:
        """[S] what can be earned from each state on."""
        return self.values(self.best(reward), reward)

    def best_actions(self, reward: Array, within: float = 1e-7) -> NDArray[np.bool_]:
        """[S, A] which actions a policy that earns most may take: those `within` a share of the largest value of the best."""
        q = self.q_values(self.best_values(reward), reward)
        room = within * float(np.abs(q).max())
        is_best: NDArray[np.bool_] = q >= q.max(1, keepdims=True) - room
        return is_best

    def earns(self, policy: Array, reward: Array) -> float:
        """What a policy earns from the start, discounted and on average: J of the papers."""
        return float(self.starts @ self.values(policy, reward))

    def most(self, reward: Array) -> float:
        """What the best policy earns from the start."""
        return self.earns(self.best(reward), reward)

    def least(self, reward: Array) -> float:
        """What the worst policy earns from the start."""
        return -self.most(-self.reward(reward))

    def reached(self) -> NDArray[np.bool_]:
        """[S] the states that some policy reaches from the start states."""
        leads = self.transitions.max(1) > 0
        seen = self.starts > 0
        while True:
            more = seen | leads[seen].any(0)
            if bool((more == seen).all()):
                return seen
            seen = more


def random_mdp(states: int, actions: int, gamma: float, draw: np.random.Generator, keep: float = 1.0) -> FiniteMDP:
    """Sparse random transitions: of a normal number for each next state those above `keep` count, softmax of them the chances;
    all of them, equally, where none is above.

    As in the STARC authors' code (github.com/lucyfarnik/starc, src/env/env.py:35-43), where the others keep e^-20 of weight.
    """
    size = draw.standard_normal((states, actions, states))
    weight = np.where(size > keep, np.exp(size), 0.0)
    weight[weight.sum(2) == 0] = 1.0
    return FiniteMDP(weight / weight.sum(2, keepdims=True), gamma)


def shaped(mdp: FiniteMDP, reward: Array, potential: Array) -> Array:
    """The reward with gamma * potential(next state) - potential(state) added: no policy is better or worse than before."""
    phi = np.asarray(potential, dtype=np.float64)
    return mdp.reward(reward) + mdp.gamma * phi[None, None, :] - phi[:, None, None]


def redistributed(mdp: FiniteMDP, reward: Array, noise: Array) -> Array:
    """The reward with `noise` [S, A, S] added less its mean over next states: what actions are paid on average is as before."""
    added = mdp.reward(noise)
    return mdp.reward(reward) + added - mdp.expected(added)[:, :, None]
