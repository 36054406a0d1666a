"""What it costs to follow one reward when another one is meant: exact, by policy iteration, and bounded by STARC's distance.

Regret is told as a share of what there is to lose, max J - min J under the reward that is meant. Two kinds of worst case:
`regret` is of policies that are best under the other reward, the worst of them where there are several; `worst_regret` is the
one of STARC's definitions 5 and 6 (arXiv:2309.15257): over all pairs of policies of which the other reward does not like the
first better, how much better the first may be. Left out: a constant for the bound from below, which exists and is not computed.
"""

from __future__ import annotations

import numpy as np

from guerdon.audits.distances.canonical import Form, canonical
from guerdon.audits.distances.finite_mdp import Array, FiniteMDP
from guerdon.audits.distances.reward_distances import NOTHING, Power, norm, starc

CUTS = 200  # lines at most that a minimum is closed in by; a dozen is usual


def regret(mdp: FiniteMDP, meant: Array, followed: Array) -> float:
    """(max J - J of the worst policy among those best under `followed`) / (max J - min J), with J under `meant`.

    0 where all policies are equally good under `meant`: there is nothing to lose.

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
