"""How far two rewards are apart in a finite MDP, from 0 (they order policies alike) to 1 (they are opposites): exact.

Each distance is half the norm of the difference of two rewards in canonical form, each divided by its norm. `starc` has the
bounds on regret that Skalse et al. prove (arXiv:2309.15257); `epic` and `dard` are as their papers define them, by Pearson's
correlation under a coverage of transitions, and have no such bounds: both see what redistribution over next states changes.
A reward in whose form nothing is left is 0 there, half of the way to any other. Left out: distances by returns (ERC), NPEC.
"""

from __future__ import annotations

from typing import Literal

import numpy as np

from guerdon.audits.distances.canonical import Form, canonical, dard_form, epic_form
from guerdon.audits.distances.finite_mdp import Array, FiniteMDP
from guerdon.core.errors import UserError

Power = Literal[1, 2, "inf"]
NOTHING = 1e-10  # what is left of a reward, relative to its largest number, that is rounding and no reward


def norm(array: Array, power: Power = 2, weights: Array | None = None) -> float:
    """(sum of weights * |x|^p)^(1/p), with weights of 1 unless they are given; "inf": the largest |x| whose weight is not 0."""
    size = np.abs(np.asarray(array, dtype=np.float64))
    if power == "inf":
        return float((size if weights is None else size[np.asarray(weights) > 0]).max(initial=0.0))
    if power not in (1, 2):
        raise UserError(f"norm power={power!r}: there is 1, 2 and 'inf'")
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

    `power` is of the norm that rewards are divided by, `measured` of the one that their difference is measured by (the same,
    unless it is given: between 0 and 1 only then). With a `form` other than "val" and "minimal" it is no STARC metric.

    >>> import numpy as np
    >>> import guerdon as gd
    >>> from guerdon.audits.distances.finite_mdp import shaped
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
    """EPIC's distance: Pearson's, of the forms under D_S = `states` and D_A = `actions`, over `coverage` of transitions
    [S, A, S]. All are even unless they are given: transitions that never happen then count like any other.

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
    """DARD's distance: Pearson's, over transitions as they happen after every state and action equally often, unless
    `coverage` says how often each counts.

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
