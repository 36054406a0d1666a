"""Distances between two rewards, from 0 (they order policies alike) to 1 (opposites), and the regret of the wrong one.

Each distance is half the norm of the difference of two rewards in canonical form, each divided by its norm. `starc` has the
bounds on regret that Skalse et al. prove (arXiv:2309.15257); `epic` and `dard` are as their papers define them, by Pearson's
correlation under a coverage of transitions, and have no such bounds: both see what redistribution over next states changes.
A reward in whose form nothing is left is 0 there, half of the way to any other. Left out: distances by returns (ERC), NPEC.

Canonical forms are linear in the reward, and all remove potential shaping. STARC's (`val`, `minimal`) also remove what depends
on the next state in ways that cancel on average (redistribution over next states), so two rewards have the same form exactly
where they order policies alike up to scale. The others see rewards of transitions that never happen: `epic` of any, `dard` of
those between states that are reached, `val_potential` and `minimal_potential` wherever the array has a number.

`epic`: Gleave et al. (arXiv:2006.13900), definition 4.1. `dard`: Wulfe et al. (arXiv:2201.10081); its last term takes one
action for both steps, as src/distance/canon/dard.py:15-21 of github.com/lucyfarnik/starc has it. `val`, `minimal`: Skalse et
al. (arXiv:2309.15257); where their code (minimal.py:12-81) descends a gradient, the least squares are solved here.

Regret is a share of what there is to lose, max J - min J under the intended reward: exact, by policy iteration, and bounded by
STARC's distance. `regret` is of policies that are best under the other reward, the worst of them where there are several;
`worst_regret` is the one of STARC's definitions 5 and 6: over all pairs of policies of which the other reward does not like the
first better, how much better the first may be. Left out: a constant for the lower bound, which exists and is not computed.

Sampled distances are of rewards that take arrays of states, actions and next states, row by row. States are rows of an array
of any width, actions likewise. All draws come of `seed` and are the same for both rewards. All are consistent, and none is
unbiased; numbers are of the six states of `tests/audits/test_sampled_rewards.py`.

- `epic_sampled` is Gleave et al.'s estimator (sample_canon_shaping in src/evaluating_rewards/distances/epic_sample.py:218-300
  of github.com/HumanCompatibleAI/evaluating-rewards): `means` pairs of an action and a next state approximate all of D_A and
  D_S. What is taken off is a potential difference whatever the sample, so rewards that differ by shaping and scale are at 0 up
  to rounding. Between others the sampled means disturb all transitions alike: with 4 of them 0.80 was estimated as 0.79 on
  average, with 16 or more as it is.
- `dard_sampled` draws new means for each transition, and shaping cancels in each draw. The noise is shared by both rewards and
  makes them look more alike: with 4 draws 0.373 was estimated as 0.353, with 64 as 0.371.
- `starc_sampled` needs values: they are means of `rollouts` of `horizon` steps, cut off without an estimate of the rest, which
  leaves gamma^horizon of any potential: a shaped copy was at 0.04 after 10 steps at gamma 0.8, and at 0.0004 after 30. Noise
  that both rewards share makes similar ones look closer and others farther: with 4 rollouts 0.41 was estimated as 0.39, 0.79
  as 0.83.

Estimate with more samples until the number no longer changes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from guerdon.audits.distances.mdp import Array, FiniteMDP, shaped
from guerdon.core.errors import UserError, unknown

Power = Literal[1, 2, "inf"]
NOTHING = 1e-10  # what is left of a reward, relative to its largest number, that is rounding and no reward


def norm(array: Array, power: Power = 2, weights: Array | None = None) -> float:
    """(sum of weights * |x|^p)^(1/p), with weights of 1 unless they are given; "inf": the largest |x| whose weight is not 0."""
    size = np.abs(np.asarray(array, dtype=np.float64))
    if power == "inf":
        return float((size if weights is None else size[np.asarray(weights) > 0]).max(initial=0.0))
    if power not in (1, 2):
        raise UserError(f"norm power={power!r}: use 1, 2 or 'inf'")
    total = (size**power if weights is None else weights * size**power).sum()
    return float(total ** (1 / power))


def standardised(
    mdp: FiniteMDP, reward: Array, form: Form = "val", power: Power = 2, weights: Array | None = None
) -> Array:
    """[S, A, S] a reward in canonical form, divided by its norm; zeros where nothing is left of it."""
    r = mdp.reward(reward)
    left = canonical(mdp, r, form)
    return _unit(left, norm(left, power, weights), float(np.abs(r).max()))


def starc(
    mdp: FiniteMDP,
    one: Array,
    other: Array,
    form: Form = "val",
    power: Power = 2,
    measured: Power | None = None,
    weights: Array | None = None,
) -> float:
    """STARC's distance: 0 exactly where two rewards order all policies alike, 1 between opposites.

    Args:
        mdp: the process.
        one, other: the rewards, [S, A, S] or [S, A].
        form: the canonical form; with another than "val" and "minimal" it is not a STARC metric.
        power: of the norm that rewards are divided by.
        measured: of the norm of their difference; the same unless it is given. Only where both are the same is the distance at
            most 1.
        weights: how much each transition counts in the norms.

    References:
        Skalse et al. 2023, STARC, arXiv:2309.15257.

    >>> import numpy as np
    >>> import guerdon as gd
    >>> from guerdon.audits.distances.mdp import shaped
    >>> switch = gd.audits.FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)
    >>> reward = np.array([[0.0, 1.0], [0.0, 0.0]])  # for leaving the first state
    >>> gd.audits.starc(switch, reward, shaped(switch, 3 * switch.reward(reward), np.array([5.0, -2.0]))) < 1e-12
    True
    >>> round(gd.audits.starc(switch, reward, -reward), 6)
    1.0
    """
    ours, theirs = (standardised(mdp, r, form, power, weights) for r in (one, other))
    return 0.5 * norm(ours - theirs, measured or power, weights)


def epic(
    mdp: FiniteMDP,
    one: Array,
    other: Array,
    states: Array | None = None,
    actions: Array | None = None,
    coverage: Array | None = None,
) -> float:
    """EPIC's distance: Pearson's, of canonical forms, over a coverage of transitions.

    Args:
        mdp: the process.
        one, other: the rewards.
        states, actions: the distributions D_S and D_A of the form; even unless they are given.
        coverage: the weight of each transition, [S, A, S]; even unless it is given: transitions that never happen then count
            like any other.

    References:
        Gleave et al. 2020, arXiv:2006.13900, definition 4.1.

    >>> import guerdon as gd
    >>> import numpy as np
    >>> switch = gd.audits.FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)
    >>> reward = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> round(gd.audits.epic(switch, reward, 2 * reward), 6), round(gd.audits.epic(switch, reward, -reward), 6)
    (0.0, 1.0)
    """
    forms = [epic_form(mdp, r, states, actions) for r in (one, other)]
    return pearson_distance(mdp, forms, (one, other), coverage)


def dard(
    mdp: FiniteMDP, one: Array, other: Array, actions: Array | None = None, coverage: Array | None = None
) -> float:
    """DARD's distance: Pearson's, of canonical forms, over transitions that happen.

    Args:
        mdp: the process.
        one, other: the rewards.
        actions: the distribution of the form; even unless it is given.
        coverage: the weight of each transition; as they happen after every state and action equally often, unless it is given.

    References:
        Wulfe et al. 2022, arXiv:2201.10081.

    >>> import guerdon as gd
    >>> import numpy as np
    >>> switch = gd.audits.FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)
    >>> reward = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> round(gd.audits.dard(switch, reward, 2 * reward), 6), round(gd.audits.dard(switch, reward, -reward), 6)
    (0.0, 1.0)
    """
    over = mdp.transitions / (mdp.states * mdp.actions) if coverage is None else coverage
    return pearson_distance(mdp, [dard_form(mdp, r, actions) for r in (one, other)], (one, other), over)


def pearson_distance(
    mdp: FiniteMDP, forms: list[Array], rewards: tuple[Array, Array], coverage: Array | None = None
) -> float:
    """sqrt((1 - correlation) / 2) under a coverage: half the distance of what is left when the mean is taken off."""
    over = np.full(mdp.transitions.shape, 1 / mdp.transitions.size) if coverage is None else np.asarray(coverage)
    if over.shape != mdp.transitions.shape or bool((over < 0).any()) or not np.isclose(over.sum(), 1.0):
        raise UserError(f"coverage: give chances of shape {mdp.transitions.shape} that sum to 1")
    units = []
    for form, reward in zip(forms, rewards, strict=True):
        centred = form - float((over * form).sum())
        units.append(_unit(centred, norm(centred, 2, over), float(np.abs(mdp.reward(reward)).max())))
    return 0.5 * norm(units[0] - units[1], 2, over)


def _unit(left: Array, size: float, scale: float) -> Array:
    """Divided by its size, unless it is nothing but rounding."""
    return left / size if float(np.abs(left).max()) > NOTHING * scale else np.zeros_like(left)


Form = Literal["none", "epic", "dard", "val", "val_potential", "minimal", "minimal_potential"]


def epic_form(mdp: FiniteMDP, reward: Array, states: Array | None = None, actions: Array | None = None) -> Array:
    """R + E[gamma R(s', A, S') - R(s, A, S') - gamma R(S, A, S')] over independent S, S' and A: even, unless `states` and
    `actions` are given as chances."""
    r, over = mdp.reward(reward), _even(states, mdp.states)
    mean = np.einsum("sat,a,t->s", r, _even(actions, mdp.actions), over)
    return shaped(mdp, r, mean) - mdp.gamma * float(over @ mean)


def dard_form(mdp: FiniteMDP, reward: Array, actions: Array | None = None) -> Array:
    """R + E[gamma R(s', A, S'') - R(s, A, S') - gamma R(S', A, S'')], S' after s and A, S'' after s' and the same A."""
    r, over = mdp.reward(reward), _even(actions, mdp.actions)
    mean = mdp.expected(r) @ over
    between = np.einsum("a,sax,xay,tay->st", over, mdp.transitions, r, mdp.transitions, optimize=True)
    across: Array = mdp.gamma * between[:, None, :]
    return shaped(mdp, r, mean) - across


def val_form(mdp: FiniteMDP, reward: Array, policy: Array | None = None) -> Array:
    """Value-adjusted levelling: E[R(s, a, S') + gamma V(S')] - V(s), what an action is worth more than the `policy` (even)."""
    policy = mdp.even if policy is None else policy
    values = mdp.values(policy, reward)
    advantage = mdp.q_values(values, reward) - values[:, None]
    return np.broadcast_to(advantage[:, :, None], mdp.transitions.shape).copy()


def val_potential_form(mdp: FiniteMDP, reward: Array, policy: Array | None = None) -> Array:
    """The same without the mean over next states: shaping is removed, redistribution is not."""
    return shaped(mdp, reward, mdp.values(mdp.even if policy is None else policy, reward))


def minimal_form(mdp: FiniteMDP, reward: Array) -> Array:
    """Of all rewards that differ by shaping and redistribution the one whose L2 norm is least.

    With a potential given, the least numbers whose mean after s and a is x are x T(s, a, .) / |T(s, a, .)|^2, which leaves a
    weighted least-squares problem in the potential.
    """
    weight = 1 / np.sqrt((mdp.transitions**2).sum(2))
    levelled = mdp.expected(reward)
    moves = mdp.gamma * mdp.transitions - np.eye(mdp.states)[:, None, :]
    rows = (weight[:, :, None] * moves).reshape(-1, mdp.states)
    phi = np.linalg.lstsq(rows, -(weight * levelled).ravel(), rcond=None)[0]
    left: Array = levelled + moves @ phi
    least: Array = (left * weight**2)[:, :, None] * mdp.transitions
    return least


def minimal_potential_form(mdp: FiniteMDP, reward: Array) -> Array:
    """Of all rewards that differ by shaping alone the one whose L2 norm is least."""
    r, eye = mdp.reward(reward), np.eye(mdp.states)
    moves = np.broadcast_to(mdp.gamma * eye[None, None] - eye[:, None, None, :], (*r.shape, mdp.states))
    phi: Array = np.linalg.lstsq(moves.reshape(-1, mdp.states), -r.ravel(), rcond=None)[0].astype(np.float64)
    return shaped(mdp, r, phi)


FORMS: dict[Form, Callable[[FiniteMDP, Array], Array]] = {
    "none": lambda mdp, reward: mdp.reward(reward),
    "epic": epic_form,
    "dard": dard_form,
    "val": val_form,
    "val_potential": val_potential_form,
    "minimal": minimal_form,
    "minimal_potential": minimal_potential_form,
}


def canonical(mdp: FiniteMDP, reward: Array, form: Form = "val") -> Array:
    """[S, A, S] a reward in one of the forms."""
    if form not in FORMS:
        raise unknown("canonical form", form, FORMS)
    return FORMS[form](mdp, reward)


def _even(chances: Array | None, size: int) -> Array:
    return np.full(size, 1 / size) if chances is None else np.asarray(chances, dtype=np.float64)


CUTS = 200  # lines at most that a minimum is closed in by; a dozen is usual


def regret(mdp: FiniteMDP, meant: Array, followed: Array) -> float:
    """(max J - J of the worst policy among those best under `followed`) / (max J - min J), with J under `meant`.

    0 where all policies are equally good under `meant`: there is nothing to lose.

    Args:
        mdp: the process.
        meant: the reward that is intended.
        followed: the reward that policies are best under.

    >>> import guerdon as gd
    >>> import numpy as np
    >>> switch = gd.audits.FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)
    >>> reward = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> round(gd.audits.regret(switch, reward, 2 * reward), 6), round(gd.audits.regret(switch, reward, -reward), 6)
    (0.0, 1.0)
    """
    most, least = mdp.most(meant), mdp.least(meant)
    worst = mdp.best(-mdp.reward(meant), among=mdp.best_actions(followed))
    return _share(most - mdp.earns(worst, meant), most - least, meant)


def spread(mdp: FiniteMDP, reward: Array) -> float:
    """max J - min J: 0 exactly for rewards under which all policies are equal, and a norm of what is left in a STARC form."""
    return mdp.most(reward) - mdp.least(reward)


def worst_regret(mdp: FiniteMDP, meant: Array, followed: Array) -> float:
    """The largest J(p) - J(q) under `meant` of policies p, q of which `followed` likes q at least as much, as a share of what
    there is to lose.

    Args:
        mdp: the process.
        meant: the reward that is intended.
        followed: the reward that orders the policies.

    Over occupancies of p and q this is a linear program, and its dual has one variable: the least, over x >= 0, of
    spread(meant - x * followed). That is convex and of straight pieces: two lines that touch it from below
    close the minimum in.

    >>> import guerdon as gd
    >>> import numpy as np
    >>> switch = gd.audits.FiniteMDP(np.array([[[1, 0], [0, 1]], [[0, 1], [1, 0]]]), gamma=0.9)
    >>> reward = np.array([[0.0, 1.0], [0.0, 0.0]])
    >>> round(gd.audits.worst_regret(switch, reward, reward), 6), round(gd.audits.worst_regret(switch, reward, -reward), 6)
    (0.0, 1.0)
    """
    meant, followed = mdp.reward(meant), mdp.reward(followed)
    all_there_is, other = spread(mdp, meant), spread(mdp, followed)
    if other <= NOTHING * float(np.abs(followed).max()):
        return _share(all_there_is, all_there_is, meant)  # it likes any policy as much as any other
    low, high = _line(mdp, meant, followed, 0.0), _line(mdp, meant, followed, 2 * all_there_is / other)
    least = min(low[0], high[0] + high[1] * 2 * all_there_is / other)
    for _ in range(CUTS):
        if low[1] >= 0 or high[1] <= 0:
            break
        at = (low[0] - high[0]) / (high[1] - low[1])
        line = _line(mdp, meant, followed, at)
        height = line[0] + line[1] * at
        least = min(least, height)
        if height <= low[0] + low[1] * at + 1e-11 * all_there_is:
            break
        low, high = (line, high) if line[1] < 0 else (low, line)
    return _share(least, all_there_is, meant)


def _line(mdp: FiniteMDP, meant: Array, followed: Array, at: float) -> tuple[float, float]:
    """Height at 0 and slope of the line that touches spread(meant - x * followed) at an x: of its best and worst policy."""
    best, worst = mdp.best(meant - at * followed), mdp.best(at * followed - meant)
    height = mdp.earns(best, meant) - mdp.earns(worst, meant)
    return height, mdp.earns(worst, followed) - mdp.earns(best, followed)


def regret_bound(
    mdp: FiniteMDP, meant: Array, followed: Array, form: Form = "val", power: Power = 2, measured: Power | None = None
) -> float:
    """What `worst_regret` cannot exceed, by STARC's distance: 4 / (1 - gamma) * |c(meant)| / (max J - min J) * distance.

    For policies p, q that `followed` likes in this order, J(p) - J(q) under `meant` is at most |c(meant)| times the product of
    the standardised difference and the occupancies' difference, whose dual norm is at most 2 / (1 - gamma) for L1, L2 and Linf.
    """
    size, all_there_is = norm(canonical(mdp, meant, form), power), spread(mdp, meant)
    apart = 2 * starc(mdp, meant, followed, form, power, measured)
    return _share(2 / (1 - mdp.gamma) * size * apart, all_there_is, mdp.reward(meant))


def _share(lost: float, all_there_is: float, meant: Array) -> float:
    rounding = NOTHING * float(np.abs(meant).max())
    return max(0.0, lost) / all_there_is if all_there_is > rounding else 0.0


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
