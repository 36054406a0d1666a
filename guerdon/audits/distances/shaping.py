"""Whether a shaping term keeps the best policies, and whether what steps are paid along episodes depends on the path.

F(s, a, s') = gamma * phi(s') - phi(s) changes no policy's rank, whatever the reward and wherever actions lead (Ng, Harada and
Russell 1999); in one MDP it is enough that this holds of F's mean over next states. The potential is found by least squares
over the transitions that happen, and the residual is reported. States that end an episode must have a potential of 0
(Grzes 2017, Reward Shaping in Episodic Reinforcement Learning): a term that pays for where an episode ends moves what is best.
Left out: shaping that depends on time or on the agent's own beliefs, and optimal policies of processes that cannot be solved.

Rewards per step (of turns, tools, lines, or of a process reward model) shape without harm when the sum between two states is
the same whichever way was taken, that is when it telescopes to a difference of potentials. The caller says what a state is:
the problem and what is solved of it, a page and its form, the set of tests that pass. Sums are not discounted, as those over
tracks are not. Three findings: one and the same step that is paid differently, two ways between the same states with
different sums, and a cycle with a positive sum, which an agent can repeat without end.
Left out: texts as states. All texts differ, so no two ways lead to one state, and nothing could be found.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from statistics import fmean
from typing import Any

import numpy as np

from guerdon.audits.distances.mdp import Array, FiniteMDP
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

    Args:
        mdp: the process.
        term: what shaping pays for each transition.
        reward: the reward that it is added to; given it, the sets of best actions are compared in every state that can be
            reached, with and without the term.

    References:
        Ng, Harada and Russell 1999; Grzes 2017.

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
        raise UserError("no transitions to test a shaping term on: give some (state, action, next state)")
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


ROUNDING = 1e-9  # relative to the largest pay
Edge = tuple[Hashable, Hashable]


@dataclass(frozen=True)
class PaidPath:
    """One episode's way: n + 1 states, and what each of the n steps between them was paid."""

    states: Sequence[Hashable]
    pays: Sequence[float]
    name: str = ""

    def __post_init__(self) -> None:
        if len(self.states) != len(self.pays) + 1:
            raise UserError(
                f"a path of {len(self.states)} states and {len(self.pays)} pays: it has one state more than steps"
            )


@dataclass(frozen=True)
class TwoWays:
    """Two ways between the same states, and what each sums to."""

    start: Hashable
    end: Hashable
    ways: tuple[tuple[Hashable, ...], tuple[Hashable, ...]]
    sums: tuple[float, float]
    names: tuple[str, str] = ("", "")


@dataclass(frozen=True)
class PayingLoop:
    """A cycle, its first state not repeated, and what a round is paid."""

    states: tuple[Hashable, ...]
    pay: float


@dataclass(frozen=True)
class PathReport:
    """What was found along paid paths. `compared` counts pairs of ways between the same states; with none nothing is known."""

    telescopes: bool
    compared: int
    ways: tuple[TwoWays, ...] = ()
    loop: PayingLoop | None = None
    uneven: tuple[tuple[Edge, tuple[float, ...]], ...] = ()
    findings: tuple[str, ...] = field(default=())

    def __str__(self) -> str:
        return "\n".join(self.findings)


def check_paths(paths: Iterable[PaidPath | tuple[Sequence[Hashable], Sequence[float]]]) -> PathReport:
    """Whether sums of pay depend on the way taken, and whether some loop pays.

    Args:
        paths: of each episode the states, one more than steps, and what each step was paid.

    >>> import guerdon as gd
    >>> there = ["start", "read", "answer"], [0.2, 0.8]
    >>> twice = ["start", "search", "read", "search", "read", "answer"], [0.1, 0.3, 0.0, 0.3, 0.8]
    >>> print(gd.audits.check_paths([there, twice]))  # doctest: +ELLIPSIS
    From 'start' to 'answer' one way sums to 1.5 (start, search, read, search, read, answer) and another to 1 (start, read, ...
    Going round read, search pays 0.3 each time: an episode can collect it again and again.
    """
    walked = [path if isinstance(path, PaidPath) else PaidPath(*path) for path in paths]
    paid: dict[Edge, list[float]] = {}
    for path in walked:
        for step, pay in zip(pairwise(path.states), path.pays, strict=True):
            paid.setdefault(step, []).append(float(pay))
    if not paid:
        raise UserError("no steps to test rewards on: give paths of two states or more")
    room = ROUNDING * max(1e-300, max(abs(pay) for each in paid.values() for pay in each))
    uneven = tuple((step, tuple(sorted(set(each)))) for step, each in paid.items() if max(each) - min(each) > room)
    ways, compared = _two_ways(walked, room)
    loop = _paying_loop({step: fmean(each) for step, each in paid.items()}, room)
    telescopes = not uneven and not ways and loop is None
    said = _words(uneven, ways, loop, compared)
    return PathReport(telescopes, compared, ways, loop, uneven, said)


def _two_ways(paths: Sequence[PaidPath], room: float) -> tuple[tuple[TwoWays, ...], int]:
    """Ways between the same two states whose sums differ, the largest difference first, and how many were compared. Staying
    in a state sums to zero, so a loop is compared with zero."""
    extremes: dict[Edge, dict[str, tuple[float, PaidPath, int, int]]] = {}
    walked: set[tuple[Edge, int]] = set()
    compared = 0
    for path in paths:
        for i, start in enumerate(path.states):
            total, way = 0.0, hash(start)
            stays = (0.0, path, i, i)
            extremes.setdefault((start, start), {"low": stays, "high": stays})
            for j in range(i + 1, len(path.states)):
                total += path.pays[j - 1]
                way = hash((way, path.states[j]))
                ends, this = (start, path.states[j]), (total, path, i, j)
                compared += ends in extremes and (ends, way) not in walked
                walked.add((ends, way))
                now = extremes.setdefault(ends, {"low": this, "high": this})
                now["low"], now["high"] = min(now["low"], this, key=_first), max(now["high"], this, key=_first)
    apart = [
        TwoWays(*ends, (_way(now["high"]), _way(now["low"])), (now["high"][0], now["low"][0]), _names(now))
        for ends, now in extremes.items()
        if now["high"][0] - now["low"][0] > room * max(1, len(_way(now["high"])))
    ]
    return tuple(sorted(apart, key=lambda each: each.sums[1] - each.sums[0])), compared


def _first(this: tuple[float, PaidPath, int, int]) -> float:
    return this[0]


def _way(this: tuple[float, PaidPath, int, int]) -> tuple[Hashable, ...]:
    _, path, i, j = this
    return tuple(path.states[i : j + 1])


def _names(now: Mapping[str, tuple[float, PaidPath, int, int]]) -> tuple[str, str]:
    return now["high"][1].name, now["low"][1].name


def _paying_loop(pay: Mapping[Edge, float], room: float) -> PayingLoop | None:
    """A cycle of steps that were seen, in one episode or in several, with a positive sum: by Bellman and Ford's rule."""
    states = list(dict.fromkeys(state for step in pay for state in step))
    best: dict[Hashable, float] = dict.fromkeys(states, 0.0)
    came: dict[Hashable, Hashable] = {}
    last: Hashable | None = None
    for _ in range(len(states)):
        last, moved = None, False
        for (before, after), each in pay.items():
            if best[before] + each > best[after] + room:
                best[after], came[after], last, moved = best[before] + each, before, after, True
        if not moved:
            return None
    for _ in range(len(states)):  # back into the cycle, wherever it was noticed
        last = came[last]
    cycle = [last]
    while came[cycle[-1]] != last:
        cycle.append(came[cycle[-1]])
    cycle.reverse()
    return PayingLoop(tuple(cycle), sum(pay[step] for step in pairwise([*cycle, cycle[0]])))


def _words(uneven: Any, ways: tuple[TwoWays, ...], loop: PayingLoop | None, compared: int) -> tuple[str, ...]:
    said = []
    if uneven:
        (before, after), pays = uneven[0]
        more = f", and {len(uneven) - 1} more steps likewise" if len(uneven) > 1 else ""
        said.append(
            f"The same step, from {before!r} to {after!r}, is paid {pays[0]:.4g} here and {pays[-1]:.4g} there{more}."
        )
    if ways:
        first = ways[0]
        more = f" So it is with {len(ways) - 1} more pairs of states." if len(ways) > 1 else ""
        one, other = (", ".join(map(str, way)) for way in first.ways)
        said.append(
            f"From {first.start!r} to {first.end!r} one way sums to {first.sums[0]:.4g} ({one}) and another to"
            f" {first.sums[1]:.4g} ({other}).{more}"
        )
    if loop is not None:
        round_ = ", ".join(map(str, loop.states))
        said.append(f"Going round {round_} pays {loop.pay:.4g} each time: an episode can collect it again and again.")
    if not said and compared:
        said.append(f"Sums do not depend on the way: {compared} other ways between the same states sum to the same.")
    if not said:
        said.append("No two ways led between the same states: nothing can be said of what the sums depend on.")
    return tuple(said)
