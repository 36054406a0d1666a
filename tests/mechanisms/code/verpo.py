"""VeRPO: unit tests weighed by how rarely the tries at a problem pass them, beside all of them together."""

from __future__ import annotations

from math import exp, nan

from harness import Mechanism, World, credited, made, paid

import guerdon as gd
from guerdon.core.example import example_tries
from guerdon.rewards.formula.algebra import by_rarity

TRIES = ("1111", "1010", "1000", "0000")  # tests that each try passes: rates 3/4, 1/4, 2/4 and 1/4
# alpha 2: the two at 1/4 count as one, hardly touched by the others
RARE = (exp(-2 / 4) / 2, exp(-2 / 2), exp(-2 * 3 / 4))
DENSE = [2 * RARE[0] + RARE[1] + RARE[2], RARE[1] + RARE[2], RARE[2], 0.0]


class marked:
    """Problems whose tries are marks: test n is passed where the n-th is 1."""

    name = "marked"

    def get(self, split, index):
        return gd.Task(str(index), "")

    def size(self, split):
        return 1

    def check(self, task, completion):
        return float(set(completion) == {"1"})

    async def passed_later(self, task, completion):
        return [mark == "1" for mark in completion]


def pay(*said, **knobs):
    return paid(made("verpo", marked(), **knobs), [{"completion": text, "task": gd.Task("1", "")} for text in said])


def advantages(*said, **knobs):
    recipe = made("verpo", marked(), **knobs)
    return credited(recipe, example_tries([pay(*said, **knobs)]))


def dense(**knobs):
    return pay(*TRIES, alpha=2.0, sigma=0.01, **knobs)


@gd.reward(isolate=False)
def ticked(completion):
    """A mark for each test: 1, 0, or ? where nobody knows."""
    return gd.Score(0.0, parts={str(n): nan if mark == "?" else float(mark) for n, mark in enumerate(completion)})


def weighed(*marks, group=None, **knobs):
    return gd.score_samples(by_rarity(ticked, **knobs), [{"completion": text} for text in marks], group).whole


mechanism = Mechanism(
    "verpo",
    source="arXiv:2601.03525, third version: w = exp(-alpha rho) / (N(rho) + delta), A = A_outcome + beta A_dense",
    also=[by_rarity],
    numbers={
        "dense alone": (lambda: dense(outcome=0.0, beta=1.0), DENSE),
        "outcome and half of the dense": (lambda: dense(), [1 + DENSE[0] / 2, *(each / 2 for each in DENSE[1:])]),
        "outcome alone": (lambda: dense(beta=0.0), [1.0, 0.0, 0.0, 0.0]),
        "the share of tests": (lambda: dense(weights="equal", outcome=0.0, beta=1.0), [1.0, 0.5, 0.25, 0.0]),
        "rates a quarter of a sigma apart": (
            lambda: pay("11", "10", alpha=0.0, sigma=2.0, outcome=0.0, beta=1.0),
            [2 / (1 + exp(-1 / 32)), 1 / (1 + exp(-1 / 32))],
        ),
        "centred, not divided": (lambda: advantages("11", "10", "00", "00", beta=0.0), [0.75, -0.25, -0.25, -0.25]),
        "a test without a verdict": (lambda: weighed("1?", "10", alpha=0.0), [None, 1.0]),
        "delta is added to the count": (lambda: weighed("1", "0", alpha=0.0, delta=1.0), [0.5, 0.0]),
        "a group has its own rates": (
            lambda: weighed("10", "01", "11", "11", group=[0, 0, 1, 1], alpha=1.0),
            [exp(-0.5) / 2, exp(-0.5) / 2, exp(-1), exp(-1)],
        ),
    },
    world=World(
        says="no try solves the problem, three tests are easy and one is rare: whoever passes the rare one is preferred",
        measure=lambda **knobs: (lambda a: a[0] - a[1])(advantages("0001", "1110", "1110", "1110", **knobs)),
        off={"weights": "equal"},
        moves=0.2,
    ),
)
