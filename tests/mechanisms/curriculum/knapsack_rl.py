"""Knapsack RL: a step's tries shared out among its problems by what a try at each is worth."""

from __future__ import annotations

from itertools import product
from math import nan

from harness import Mechanism, World, made, said_tries

from guerdon.core.example import ExamplePlay
from guerdon.curricula.tries_by_worth import enough, filled, knapsack, levelled, shares, sort_of


def best(rates, total, least=2, most=16, gain=True):
    """By trying all ways to share out: the tries that are worth most together."""

    def worth(p, n):
        return (1 - p**n - (1 - p) ** n) * (p * (1 - p) ** 2 if gain else 1.0)

    ways = [way for way in product(range(least, most + 1), repeat=len(rates)) if sum(way) == total]
    return list(max(ways, key=lambda way: sum(map(worth, rates, way))))


def by_rule(rates, tries=4, least=2, most=16, **more):
    return shares(rates, tries, least, most, **more).tolist()


def drawn(rights, **knobs):
    """The tries of four problems whose last eight tries were right so often, None: never tried."""
    curriculum = made("knapsack-rl", "countdown:1@4", **{"tries": 8, **knobs}).curriculum
    tasks = [ask.task for ask in curriculum.draw(4, ExamplePlay())]
    for task, right in zip(tasks, rights, strict=True):
        if right is not None:
            curriculum.seen[task.key] = [1.0] * right + [0.0] * (8 - right)
    curriculum.drawn = 0
    return [[ask.n, ask.note.get("rate")] for ask in curriculum.draw(4, ExamplePlay())]


def remembered(*visits, **knobs):
    """What is known of a problem after visits with these outcomes."""
    curriculum = knapsack(None, tries=2, **knobs)
    for values in visits:
        curriculum.observe(said_tries([((0,), value) for value in values]), ExamplePlay())
    (known,) = curriculum.seen.values()
    return [known, next(map(curriculum.rate, curriculum.seen))]


def two_problems():
    curriculum, batch = knapsack(None, tries=2), said_tries([((0,), 1), ((0,), 1)], [((0,), 0), ((0,), nan), ((0,), 0)])
    curriculum.observe(batch, ExamplePlay())
    return dict(zip("ab", curriculum.seen.values(), strict=True))


def in_turn():
    """How many of four problems come in two draws of two."""
    curriculum = made("knapsack-rl", "countdown:1@4").curriculum
    return len({ask.task.key for _ in range(2) for ask in curriculum.draw(2, ExamplePlay())})


def useful(**knobs):
    """How likely the tries at a problem that is solved once in eight are to differ; the others are solved half of the time."""
    (hard, _), *_ = drawn([1, 4, 4, 4], **knobs)
    return 1 - (1 / 8) ** hard - (7 / 8) ** hard


NO_GAIN = by_rule([0.125, 0.75, 0.5, 0.0], 6, most=9, gain=False)

mechanism = Mechanism(
    "knapsack-rl",
    source="arXiv:2509.25849: (1 - p^N - (1-p)^N) p (1-p)^2, the largest sum; the code's cases at 0, at 1 and unseen",
    also=[knapsack.draw, knapsack.rate, knapsack.observe, sort_of, shares, filled, enough, levelled],
    numbers={
        "rates 1/2, 1/4, 0 and 1": (lambda: by_rule([0.5, 0.25, 0.0, 1.0]), [*best([0.5, 0.25], 12), 2, 2]),
        "rates 1/8, 3/4 and 1/2": (
            lambda: by_rule([0.125, 0.75, 0.5], 6, most=9),
            best([0.125, 0.75, 0.5], 18, most=9),
        ),
        "without the gain": (
            lambda: by_rule([0.125, 0.75, 0.5], 6, most=9, gain=False),
            best([0.125, 0.75, 0.5], 18, most=9, gain=False),
        ),
        "unseen ones have the mean": (lambda: by_rule([None, 0.5, 0.125]), [4, *best([0.5, 0.125], 8)]),
        # 18 tries are left, those at 1/2 show both outcomes in 3 (0.1 = 1/2^3.3): the one at 0 gets 15 more, 16 at most
        "what those between need not goes to those at 0": (lambda: by_rule([0.5, 0.0, 1.0], tries=8), [6, 16, 2]),
        # 9 of 12: from 2 to 8, as the unseen has, and then in turn
        "or to those at 1 and the unseen": (lambda: by_rule([0.5, 1.0, None], tries=8), [5, 10, 9]),
        "as sure as can be": (lambda: by_rule([0.5, 0.0], tries=4, most=5, sure=1.0), [5, 3]),
        "surer": (lambda: by_rule([0.5, 0.0], tries=8, sure=0.99), [8, 8]),
        "never beyond the most": (lambda: by_rule([0.5, 0.0], tries=8, most=10), [6, 10]),
        "all at 1": (lambda: by_rule([1.0, 1.0], tries=3), [3, 3]),
        "the tries of a step": (lambda: drawn([4, 2, 0, 8], tries=4), [[5, 0.5], [7, 0.25], [2, 0.0], [2, 1.0]]),
        "never tried": (lambda: drawn([None] * 4), [[8, None]] * 4),
        "bounds": (lambda: drawn([4, 4, 0, 0], least=7, most=9)[:2], [[9, 0.5], [9, 0.5]]),
        "gain and sure reach it": (lambda: [n for n, _ in drawn([1, 6, 4, 0], tries=6, most=9, gain=False)], NO_GAIN),
        "as sure as can be of two": (lambda: by_rule([0.5, 0.5, 0.0], tries=5, most=6, sure=1.0), [6, 6, 3]),
        "every token weighs the same": (lambda: made("knapsack-rl").stages.learners[0].loss.mean, "step"),
        "two problems": (two_problems, {"a": [1.0, 1.0], "b": [0.0, 0.0]}),
        "problems in turn": (in_turn, 4),
        "the last visit": (lambda: remembered([1, 0], [1, 1], recent=2), [[1.0, 1.0], 1.0]),
        "with those before it where it was short": (
            lambda: remembered([1, 0, 0], [1], recent=3),
            [[0.0, 0.0, 1.0], 1 / 3],
        ),
        "a try without a value": (lambda: remembered([1, nan]), [[1.0], None]),
    },
    world=World(
        says="one problem is solved once in eight, the others half of the time: its tries are more likely to differ",
        measure=useful,
        off={"most": 8},
        moves=0.05,
    ),
    equal={
        "knapsack.draw: self.laps.source is not self.task -> self.laps.source is self.task": "laps of the same set again",
        "knapsack.observe: len(values) >= self.recent -> len(values) > self.recent": "as many as are kept are all that is kept",
        "shares: 0.0 -> 1.0": "the rate of an unseen one, which nothing asks for",
        "shares: spare > 0 -> spare >= 0": "nothing to hand out",
        "shares: 0 -> 1": "a single spare try goes where the last is levelled to",
        "filled: np.bincount(...) without minlength=": "for a step none of whose problems is between",
        "filled: 1.0 -> 2.0": "a common factor",
        "filled: np.argsort(...) without kind=": "of equals another one",
    },
)
