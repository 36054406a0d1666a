"""Whether a shaping term keeps the policies that are best: if it is a potential difference, and exactly where all is known.

F(s, a, s') = gamma * phi(s') - phi(s) changes no policy's rank, whatever the reward and wherever actions lead (Ng, Harada and
Russell 1999); in one MDP it is enough that this holds of F's mean over next states. The potential is found by least squares
over the transitions that happen, and what it leaves unexplained is told. States that end an episode must have a potential of 0
(Grzes 2017, Reward Shaping in Episodic Reinforcement Learning): a term that pays for where an episode ends moves what is best.
Left out: shaping that depends on time or on the agent's own beliefs, and optimal policies of processes that cannot be solved.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from guerdon.audits.distances.finite_mdp import Array, FiniteMDP
from guerdon.core.errors import UserError

RELATIVE = 1e-8  # what is left of a term, relative to its largest number, that still is rounding
Transition = tuple[Hashable, Any, Hashable]  # state, action, next state


@dataclass(frozen=True)
class ChangedState:
    """A state in which other actions are best with the shaping than without it."""

    state: int
    before: tuple[int, ...]
    after: tuple[int, ...]
    loses: float  # what the best policy with shaping earns less from there by the reward alone, at worst


@dataclass(frozen=True)
class ShapingReport:
    """What was found of a shaping term. `keeps` is None where no reward was given to see it by."""

    is_potential: bool
    residual: float  # the largest part of the term that no potential explains
    potential: dict[Hashable, float]
    keeps: bool | None = None
    keeps_any: bool | None = None  # with every reward in this MDP: a potential difference up to what cancels on average
    changed: tuple[ChangedState, ...] = ()
    findings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return "\n".join(self.findings)


def check_shaping(mdp: FiniteMDP, term: Array, reward: Array | None = None) -> ShapingReport:
    """Whether a term [S, A, S] is a potential difference where transitions happen, and whether best policies are kept.

    With a `reward` the sets of best actions are compared in every state that can be reached, with and without the term.

    >>> import guerdon as gd
    >>> import numpy as np
    >>> go = np.array([[[1, 0], [0, 1]], [[1, 0], [0, 1]]])  # to the first state, or to the second
    >>> line = gd.audits.FiniteMDP(go, gamma=0.9)
    >>> goal = np.zeros((2, 2, 2)); goal[:, 1, 1] = 1.0
    >>> bonus = np.zeros((2, 2, 2)); bonus[1, 0, 0] = 3.0  # for walking back
    >>> print(gd.audits.check_shaping(line, bonus, goal))
    The term is no potential difference: 0.829 of it at most is left unexplained, in the step from 1 by action 1 to 1.
    In this MDP it can change which policies are best: there are rewards that it turns round.
    With this reward it does: in state 1 action 1 was best and now action 0 is; following it loses 5.26 of 10 from there.
    """
    term = mdp.reward(term)
    happens = (mdp.transitions > 0) & mdp.reached()[:, None, None]
    states, actions, after = np.nonzero(happens)
    phi, left = _fit(mdp.states, states, after, term[happens], mdp.gamma, ())
    scale = float(np.abs(term[happens]).max(initial=0.0))
    worst = int(np.abs(left).argmax())
    is_potential = bool(np.abs(left).max() <= RELATIVE * scale)
    said = [_potential_words(is_potential, phi, left, (states[worst], actions[worst], after[worst]))]
    keeps_any = is_potential or _cancels(mdp, term)
    said.append(
        "Added to any reward in this MDP it keeps the rank of every policy."
        if keeps_any
        else "In this MDP it can change which policies are best: there are rewards that it turns round."
    )
    named: dict[Hashable, float] = {state: float(value) for state, value in enumerate(phi)}
    if reward is None:
        return ShapingReport(is_potential, float(np.abs(left).max()), named, None, keeps_any, (), tuple(said))
    changed = _changed(mdp, mdp.reward(reward), term)
    said.append(_changed_words(mdp, mdp.reward(reward), changed))
    most = float(np.abs(left).max())
    return ShapingReport(is_potential, most, named, not changed, keeps_any, changed, tuple(said))


def check_shaping_samples(
    transitions: Iterable[Transition],
    term: Sequence[float] | Callable[[Any, Any, Any], float],
    gamma: float,
    ends: Collection[Hashable] = (),
) -> ShapingReport:
    """Whether a term is a potential difference along transitions that were seen: `term` as one number for each, or a function
    of state, action and next state. `ends` are states that end an episode, whose potential must be 0.

    What was not seen is not judged: a tree of transitions is always explained, so look for more ways to the same states.
    """
    seen = list(transitions)
    if not seen:
        raise UserError("no transitions to judge a shaping term by: give (state, action, next state) of some")
    paid = [float(term(*each)) for each in seen] if callable(term) else [float(x) for x in term]
    if len(paid) != len(seen):
        raise UserError(f"{len(paid)} numbers of the shaping term for {len(seen)} transitions: give one for each")
    names = list(dict.fromkeys(state for before, _, after in seen for state in (before, after)))
    place = {name: i for i, name in enumerate(names)}
    states, after = (np.array([place[each[i]] for each in seen]) for i in (0, 2))
    values = np.array(paid)
    phi, left = _fit(len(names), states, after, values, gamma, [place[end] for end in ends if end in place])
    is_potential = bool(np.abs(left).max() <= RELATIVE * float(np.abs(values).max()))
    said = [_potential_words(is_potential, phi, left, seen[int(np.abs(left).argmax())])]
    spare = len({(a, b) for a, b in zip(states, after, strict=True)}) - (len(names) - (1 if gamma == 1 else 0))
    if is_potential and spare <= 0:
        said.append("But no two ways led to the same state: any term would have been explained. Give more transitions.")
    potential = dict(zip(names, map(float, phi), strict=True))
    return ShapingReport(is_potential, float(np.abs(left).max()), potential, findings=tuple(said))


def _fit(size: int, states: Any, after: Any, values: Array, gamma: float, ends: Sequence[int]) -> tuple[Array, Array]:
    """[S] the potential that explains the values best, with 0 at the ends, and what it leaves."""
    rows = np.zeros((len(values), size))
    np.add.at(rows, (np.arange(len(values)), after), gamma)
    np.add.at(rows, (np.arange(len(values)), states), -1.0)
    free = np.setdiff1d(np.arange(size), np.array(ends, dtype=int))
    phi = np.zeros(size)
    phi[free] = np.linalg.lstsq(rows[:, free], values, rcond=None)[0]
    return phi, values - rows @ phi


def _cancels(mdp: FiniteMDP, term: Array) -> bool:
    """Whether its mean over next states is a potential difference, from the states that can be reached."""
    reached = mdp.reached()
    rows = (mdp.gamma * mdp.transitions - np.eye(mdp.states)[:, None, :])[reached].reshape(-1, mdp.states)
    mean = mdp.expected(term)[reached].ravel()
    phi = np.linalg.lstsq(rows, mean, rcond=None)[0]
    return bool(np.abs(mean - rows @ phi).max() <= RELATIVE * max(1e-300, float(np.abs(term).max())))


def _changed(mdp: FiniteMDP, reward: Array, term: Array) -> tuple[ChangedState, ...]:
    """Reached states whose best actions differ, those that lose most first."""
    before, after = mdp.best_actions(reward), mdp.best_actions(reward + term)
    worst = mdp.best(-reward, among=after)
    loses = mdp.best_values(reward) - mdp.values(worst, reward)
    states = [int(s) for s in np.nonzero(mdp.reached() & (before != after).any(1))[0]]
    changed = [
        ChangedState(
            s, tuple(np.nonzero(before[s])[0].tolist()), tuple(np.nonzero(after[s])[0].tolist()), float(loses[s])
        )
        for s in states
    ]
    return tuple(sorted(changed, key=lambda each: -each.loses))


def _potential_words(is_potential: bool, phi: Array, left: Array, step: tuple[Any, Any, Any]) -> str:
    if is_potential:
        low, high = (round(float(end), 9) + 0.0 for end in (phi.min(), phi.max()))  # no -1e-14, and no -0
        return f"The term is a potential difference, of a potential from {low:.3g} to {high:.3g}."
    most = float(np.abs(left).max())
    return (
        f"The term is no potential difference: {most:.3g} of it at most is left unexplained, in the step from {step[0]} by"
        f" action {step[1]} to {step[2]}."
    )


def _changed_words(mdp: FiniteMDP, reward: Array, changed: tuple[ChangedState, ...]) -> str:
    if not changed:
        return "With this reward the same actions are best in every state that can be reached."
    first = changed[0]
    best, worst = (mdp.best_values(r)[first.state] for r in (reward, -reward))
    there = f"following it loses {first.loses:.3g} of {best + worst:.3g} from there"
    return (
        f"With this reward it does: in state {first.state} {_actions(first.before)} best and now {_actions(first.after, '')};"
        f" {there}{'' if len(changed) == 1 else f', and {len(changed) - 1} more states change'}."
    )


def _actions(which: tuple[int, ...], was: str = "was") -> str:
    many = len(which) > 1
    verb = ("were" if many else "was") if was else ("are" if many else "is")
    return f"action{'s' if many else ''} {', '.join(map(str, which))} {verb}"
