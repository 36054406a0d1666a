"""SEC: kinds of problems are sampled with softmax(value / tau); TD(0) updates values towards the mean absolute advantage."""

from __future__ import annotations

from math import exp, nan

from harness import Mechanism, World, made, seen_by

from guerdon.core.example import ExamplePlay
from guerdon.curricula.bandits import boltzmann, softmax

TASK = "parity:1+successor:2"
KINDS = ["parity:1", "successor:2"]


def chooser(*steps, **knobs):
    return seen_by(made("sec", TASK, **knobs).curriculum, *steps).choose


def values(*steps, **knobs):
    return chooser(*steps, **knobs).scores(KINDS)


def shares(**knobs):
    return chooser(**knobs).shares([0.5, 0.3], ExamplePlay())


def kept(**knobs):
    """The probability of a kind with large advantages for three steps, after one step in which its advantages are all 0."""
    steps = [{"parity:1": [1.0, -1.0], "successor:2": [0.0]}] * 3 + [{"parity:1": [0.0], "successor:2": [0.0]}]
    rule = chooser(*steps, **knobs)
    return rule.shares(rule.scores(KINDS), ExamplePlay())[0]


mechanism = Mechanism(
    "sec",
    source="arXiv:2505.14970: Q <- alpha |A| + (1 - alpha) Q, sampled with softmax(Q / tau)",
    also=[boltzmann, softmax],
    numbers={
        "one step": (lambda: values({"parity:1": [1.0, -0.5]}), [0.375, 0.0]),
        "two steps": (lambda: values({"parity:1": [1.0, -0.5]}, {"parity:1": [1.0]}), [0.6875, 0.0]),
        "a smaller alpha": (lambda: values({"parity:1": [1.0]}, {"parity:1": [2.0]}, alpha=0.25), [0.6875, 0.0]),
        "samples without an advantage": (lambda: values({"parity:1": [nan, 1.0], "successor:2": [nan]}), [0.5, 0.0]),
        "softmax(value)": (shares, [1 / (1 + exp(-0.2)), 1 / (1 + exp(0.2))]),
        "softmax(value / tau)": (lambda: shares(tau=0.1), [1 / (1 + exp(-2)), 1 / (1 + exp(2))]),
        "tries": (lambda: [ask.n for ask in made("sec", TASK, tries=3).curriculum.draw(2, ExamplePlay())], [3, 3]),
    },
    world=World(
        says="one step without advantages does not erase the value that earlier steps gave a kind",
        measure=kept,
        off={"alpha": 1.0},
        moves=0.05,
    ),
)
