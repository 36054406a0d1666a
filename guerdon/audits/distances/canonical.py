"""One reward for all that mean the same: canonical forms of EPIC, DARD and STARC, each linear in the reward.

Potential shaping is removed by all of them. STARC's (`val`, `minimal`) also remove what depends on the next state in ways that
cancel on average (redistribution over next states), so two rewards have the same form exactly where they order policies alike
up to scale. The others see rewards of transitions that never happen: `epic` of any, `dard` of those between states that are
reached, `val_potential` and `minimal_potential` wherever the array has a number.

`epic`: Gleave et al. (arXiv:2006.13900), definition 4.1. `dard`: Wulfe et al. (arXiv:2201.10081); its last term takes one
action for both steps, as src/distance/canon/dard.py:15-21 of github.com/lucyfarnik/starc has it. `val`, `minimal`: Skalse et
al. (arXiv:2309.15257); where their code (minimal.py:12-81) descends a gradient, the least squares are solved here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from guerdon.audits.distances.finite_mdp import Array, FiniteMDP, shaped
from guerdon.core.errors import unknown

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
