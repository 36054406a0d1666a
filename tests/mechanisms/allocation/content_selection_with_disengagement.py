"""Content selection with disengagement: levels are final in falling order of worth, and Hedge over policies of all kinds."""

from __future__ import annotations

import itertools
import json
import tempfile
from math import exp, gamma, log
from pathlib import Path

import numpy as np
from harness import Mechanism, World

from guerdon.core.errors import UserError
from guerdon.core.seeds import derive
from guerdon.recipes.allocation.content_selection_with_disengagement import (
    drawn_demand,
    modified,
    optimal,
    pays,
    served,
    value,
)
from guerdon.training.catalog import find_recipe

NAME = "content-selection-with-disengagement"
F = np.array([0.2, 0.5, 0.9])
MADE = np.array([[4.0, 1.0], [2.0, 3.0], [1.0, 1.0], [0.5, 2.0]])  # two policies of a set, and two others
SMALL = {"levels": 6, "kinds": 4, "horizon": 16, "draws": 2, "discount": 0.8, "price": 0.45, "friction": 0.25}
HIDDEN = [
    {"kind": kind, "level": n, "engagement": f}
    for kind, fs in zip("ab", (F, F**2), strict=True)
    for n, f in enumerate(fs)
]


def iterated(pay, stay):
    """V by value iteration, in loops."""
    worth = [0.0] * len(stay)
    for _ in range(300):
        worth = [max(p + s * v for p, s, v in zip(row, stay, worth, strict=True)) for row in pay.tolist()]
    return worth


def tried(pay, stay):
    """V by every policy there is."""
    some = [[y for y, p in enumerate(row) if p > -np.inf] for row in pay.tolist()]
    return np.max([value(np.array(to), pay, stay) for to in itertools.product(*some)], 0)


def exact():
    """How far the program is from value iteration, from its own policy and, for few levels, from the best of all policies."""
    draw, gaps = np.random.default_rng(0), []
    for n in range(6):
        k, reach = 2 + n % 3 if n < 5 else 9, 1 + n % 2
        price, stay = draw.random() / reach, modified(np.sort(draw.random(k)), draw.random(), 0.8)
        pay = pays(k, price, reach)
        worth, to = optimal(pay, stay, price)
        gaps += [abs(worth - iterated(pay, stay)).max(), abs(worth - value(to, pay, stay)).max()]
        gaps += [abs(worth - tried(pay, stay)).max()] if k <= 4 else []
    return max(gaps) < 1e-9


def later(f=0.5, friction=0.5, discount=0.9):
    """The discounts of a user that stays, or comes back after one step, two, ..., added one by one."""
    back = (1 - friction) * f
    return f * discount + (1 - f) * sum(discount ** (2 + n) * (1 - back) ** n * back for n in range(400))


class Dice:
    """Numbers as written: the odds of kinds are even, a choice is the next of `numbers`."""

    def __init__(self, *numbers):
        self.numbers, self.odds = list(numbers), []

    def dirichlet(self, alpha):
        return alpha / alpha.sum()

    def choice(self, size, p):
        self.odds.append([float(x) for x in p])
        return self.numbers.pop(0)


def weights(rule, *kinds, users="iid", made=MADE):
    found, kind = served(made, 3, rule, users, Dice(*kinds))
    return [found.tolist(), kind.tolist()]


def hedged():
    """Three users of kinds 0, 1, 1: losses 0, 1/2; 3/4, 1/4; of the highest pay, 4."""
    rate, lost = (8 * log(2) / 3) ** 0.5, [(0.0, 0.0), (0.0, 0.5), (0.75, 0.75)]
    odds = [[exp(-rate * each) for each in some] for some in lost]
    return [[[x / sum(row) for x in row] + [0.0, 0.0] for row in odds], [0, 1, 1]]


def guessed():
    """Exp3, dice in pairs: the kind of a user, and the policy that is tried with it: 0, 1, 1 after kinds 0, 1, 1."""
    rate, lost, rows = (2 * log(2) / 6) ** 0.5, [0.0, 0.0], []
    for kind, policy in ((0, 1), (1, 0), (1, 0)):
        odds = [exp(-rate * each) for each in lost]
        rows.append([x / sum(odds) for x in odds] + [0.0, 0.0])
        lost[policy] += (1 - MADE[policy, kind] / 4) / rows[-1][policy]
    return [rows, [0, 1, 1]]


def odds_of(rule="hedge"):
    dice = Dice(0, 1, 1)
    served(MADE[:, :2], 1, rule, "iid", dice)
    return dice.odds


def run(**knobs):
    return find_recipe(NAME)(**{**SMALL, **knobs}).body(None, 0)


def expected(rule="hedge", users="iid", series=2, f=None, setting=(0.25, 0.8, 0.45, 2, 6, 4)):
    """A run by hand: what policies make of each kind, user after user."""
    friction, discount, price, reach, levels, kinds = setting
    rows = []
    for n, size in itertools.product(range(series), (2, 4, 8, 16)):
        draw = np.random.default_rng(derive(0, "series", n))
        demand = drawn_demand(kinds, levels, draw) if f is None else f
        k, stay = demand.shape[1], modified(demand, friction, discount)
        pay = pays(k, price, reach)
        greedy, flat = pay.argmax(1), optimal(pay, np.full(k, stay.mean()), price)[1]
        policies = [optimal(pay, each, price)[1] for each in stay] + [greedy, flat]
        made = np.array([[value(to, pay, each)[k // 2] for each in stay] for to in policies])
        shown = np.array([[value(to, np.ones((k, k)), each)[k // 2] for each in stay] for to in policies])
        weight, kind = served(made, size, rule, users, draw)
        mine = sum(w @ made[:, m] for w, m in zip(weight, kind, strict=True))
        there = sum(w @ shown[:, m] for w, m in zip(weight, kind, strict=True)) * (1 - discount) / size
        single = max(sum(made[e, m] for m in kind) for e in range(len(demand)))
        rows.append((mine, single, sum(optimal(pay, stay[m], price)[0][k // 2] for m in kind), there))
    mine, single, most, there = np.array(rows).reshape(series, 4, 4).transpose(2, 0, 1)
    lost = (single - mine).mean(0)
    return {
        "reward": (mine[:, 3] / most[:, 3]).mean(),
        "regret": lost[3] / 4,
        "slope": float(np.polyfit(np.log([2, 4, 8, 16]), np.log(lost), 1)[0]) if min(lost) > 0 else float("nan"),
        "engagement": there[:, 3].mean(),
    }


def gaps(series=2, **knobs):
    """How far each number of a run is from the one by hand."""
    ours, hand = run(draws=series, **knobs), expected(series=series, **knobs)
    return {name: bool(np.isclose(ours[name], hand[name], rtol=0, atol=1e-6, equal_nan=True)) for name in hand}


def bounded():
    """Hedge's regret on kinds that an adversary chooses is within the theorem's bound."""
    draw, fine = np.random.default_rng(0), []
    for _ in range(5):
        made = draw.random((6, 4))
        weight, kind = served(made, 64, "hedge", "adversarial", draw)
        lost = made[:4, kind].sum(1).max() - (weight * made[:, kind].T).sum()
        fine.append(lost <= made.max() * (64 * log(4) / 2) ** 0.5)
    return all(fine)


def friction():
    """Revenue falls with friction; the time in which users are there first rises, as the policy keeps them, then falls."""
    some = []
    for each in (0.0, 0.25, 0.5):
        stay, pay = modified(np.array([0.6, 0.9]), each, 0.9), pays(2, 0.5, 1)
        worth, to = optimal(pay, stay, 0.5)
        some.append([worth[1], 0.1 * value(to, np.ones_like(pay), stay)[1], to[1]])
    return np.round(some, 3).tolist()


def ordered():
    """The means of four sorted uniform numbers to powers from 0.2 to 3: of the i-th G(i + p) G(5) / G(i) G(5 + p)."""
    powers = [0.2 + 2.8 * (n + 0.5) / 50 for n in range(50)]
    return [sum(gamma(i + p) * 24 / gamma(i) / gamma(5 + p) for p in powers) / 50 for i in (1, 2, 3, 4)]


def own(rows, **knobs):
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "mine.jsonl"
        file.write_text("".join(json.dumps(row) + "\n" for row in rows))
        try:
            return run(demand=str(file), **knobs)
        except UserError as error:
            return str(error).split("mine.jsonl")[-1].split(";")[0].strip(" :")


def refused(**knobs):
    try:
        find_recipe(NAME)(**knobs)
    except UserError:
        return True


mechanism = Mechanism(
    NAME,
    source="arXiv:2410.13108 as its abstract has it: V = max r + f~ V over levels, f~ with friction; Hedge over policies",
    numbers={
        "pay": (
            lambda: [pays(3, 0.25, 1).tolist(), pays(3, 0.25, 2)[:, 0].tolist()],
            [[[1.25, 0.75, -np.inf], [1.25, 1.0, 0.75], [-np.inf, 1.25, 1.0]], [1.5, 1.5, 1.5]],
        ),
        "what comes back": (
            lambda: [
                float(modified(np.float64(f), x, 0.9)) for f, x in ((0.5, 0.5), (0.3, 0.2), (0.4, 1.0), (1.0, 0.5))
            ],
            [later(), later(0.3, 0.2), 0.36, 0.9],
        ),
        "nobody stays and nobody comes back": (lambda: modified(np.zeros(2), 0.0, 0.9).tolist(), [0.0, 0.0]),
        # f~ 0.2, 0.5, 0.9: staying is worth 1.25 / 0.8, 2 and 10; from 1 up 0.75 + 0.9 x 10, from 0 up 0.75 + 0.5 x 9.75
        "the program": (
            lambda: [x.tolist() for x in optimal(pays(3, 0.25, 1), F, 0.25)],
            [[5.625, 9.75, 10.0], [1, 2, 2]],
        ),
        "exact": (exact, True),
        "a policy": (
            lambda: value(np.array([1, 1]), np.array([[1.0, 0.5], [0.0, 1.0]]), np.array([0.3, 0.5])).tolist(),
            [1.5, 2.0],
        ),
        "hedge": (lambda: weights("hedge", 0, 1, 1), hedged()),
        "leader": (lambda: weights("leader", 0, 1, 1), [[[1, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0]], [0, 1, 1]]),
        "leader, after the other was better": (lambda: weights("leader", 1, 1, 0)[0][1:], [[0, 1, 0, 0]] * 2),
        "exp3": (lambda: weights("exp3", 0, 1, 1, 0, 1, 0), guessed()),
        "one policy": (
            lambda: [weights(rule, 0, 1, 1)[0][2] for rule in ("myopic", "constant")],
            [[0, 0, 1, 0], [0, 0, 0, 1]],
        ),
        "the kind that is served worst": (
            lambda: [weights(rule, users="adversarial")[1] for rule in ("leader", "myopic", "constant")],
            [[1, 0, 1], [0, 0, 0], [0, 0, 0]],
        ),
        "served worst of what could be made": (
            lambda: weights("leader", users="adversarial", made=MADE * [0.1, 1.0])[1][0],
            1,
        ),
        "odds of kinds": (odds_of, [[0.5, 0.5]]),
        "regret is bounded": (bounded, True),
        "friction": (friction, [[9.6, 0.64, 0], [8.871, 0.887, 1], [8.487, 0.849, 1]]),
        "a run": (gaps, dict.fromkeys(("reward", "regret", "slope", "engagement"), True)),
        "other rules": (
            lambda: [
                all(gaps(1, rule=rule, users=users).values())
                for rule, users in (
                    ("leader", "adversarial"),
                    ("exp3", "iid"),
                    ("myopic", "iid"),
                    ("constant", "adversarial"),
                )
            ],
            [True] * 4,
        ),
        "demand rises": (
            lambda: bool((np.diff(drawn_demand(3, 9, np.random.default_rng(0))) >= 0).all()),
            True,
        ),
        "demand of many users": (
            lambda: [
                abs(x - y) < 0.02
                for x, y in zip(drawn_demand(4000, 4, np.random.default_rng(0)).mean(0), ordered(), strict=True)
            ],
            [True] * 4,
        ),
        "a file": (
            lambda: own(HIDDEN, friction=0.2, discount=0.9, price=0.1, reach=1),
            expected(f=np.array([F, F**2]), setting=(0.2, 0.9, 0.1, 1, 0, 0)),
        ),
        "files that are refused": (
            lambda: [own([{**HIDDEN[0], "engagement": 1.5}]), own([{"kind": "a", "level": 1}]), own(HIDDEN[:5])],
            [
                "line 1: engagement is 1.5",
                'line 1: no "engagement"',
                "every kind needs an engagement for every level, and 1 are missing",
            ],
        ),
        "knobs": (
            lambda: [
                refused(friction=1.5),
                refused(friction=-0.1),
                refused(discount=1.0),
                refused(discount=0.0),
                refused(reach=0, price=0.0),
                refused(price=0.6),
                refused(price=-0.1),
                refused(horizon=7),
            ],
            [True] * 8,
        ),
        "knobs at their ends": (
            lambda: [
                refused(friction=0),
                refused(friction=1),
                refused(reach=1, price=1.0),
                refused(price=0),
                refused(horizon=8),
            ],
            [None] * 5,
        ),
    },
    equal={
        "optimal: open & (through > worth) -> through > worth": "a level that is final cannot be worth more",
        "optimal: through > worth -> through >= worth": "both ways are worth the same",
        **dict.fromkeys(
            (
                "served: total - total.min() -> total + total.min()",
                "served: total - total.min() -> total",
                "served: total.min() -> total.max()",
            ),
            "weights are shares: a constant changes none, and is there so that some exp is not 0",
        ),
    },
    world=World(
        says="users who would leave are kept, where content for the moment loses them",
        measure=lambda **knobs: run(discount=0.95, price=0.3, **knobs)["reward"],
        off={"rule": "myopic"},
        moves=0.3,
    ),
)
