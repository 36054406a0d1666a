"""SPIRAL: each side of a game has a running baseline of its own."""

from __future__ import annotations

import torch
from harness import Mechanism, World, made
from strategies import episode, segment

import guerdon as gd
from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.credit.baselines import role_baseline


def games(first, second, family="nim"):
    """A step of games in which the sides are paid so."""
    ask = gd.Ask(gd.Task(family, "", family=family), len(first))
    tries = [episode(segment(role="first"), segment(role="second"), ask=ask, attempt=i) for i in range(len(first))]
    value = torch.tensor([x for both in zip(first, second, strict=True) for x in both])
    return pack(tries).with_cols({"correct": Column.full("track", value)})


def advantages(*steps, **knobs):
    (stage,) = made("spiral", "nim:3", **knobs).stages.credit
    return [stage(batch, ExamplePlay())["advantage"].tolist() for batch in steps][-1]


def composed(**knobs):
    recipe = made("spiral", "nim:3", **knobs)
    shown = (*recipe.stages[:2], recipe.curriculum, recipe.env, recipe.exams[0].source, recipe.exams[0].env)
    return [*map(repr, shown), recipe.seats]


def second_side(steps=60, **knobs):
    """How far the side that always loses a game is pushed down after many games, whatever it does."""
    return abs(advantages(*[games([1.0], [-1.0])] * steps, **knobs)[1])


BETWEEN, SIDES = "nim(level=3, against='')", ("first", "second")
COMPOSED = [
    *(f"verified(task={BETWEEN}, role={SIDES})", "role_baseline(reward='correct', by_family=True)"),
    *(f"uniform(task={BETWEEN}, tries=5)", BETWEEN, *["nim(level=3)"] * 2),
    {"first": "policy", "second": "policy", "policy": "policy"},
]

mechanism = Mechanism(
    "spiral",
    source="arXiv:2506.24119: A = R - b of the game and the role, b <- alpha b + (1 - alpha) R",
    also=[role_baseline.__call__],
    numbers={
        "the first step": (lambda: advantages(games([1.0], [-1.0])), [1, -1]),
        "a second": (lambda: advantages(games([1.0], [-1.0]), games([1.0], [0.0])), [0.95, 0.05]),
        "decay": (lambda: advantages(games([1.0, 0.0], [-1.0, 0.0]), games([1.0], [0.0]), decay=0.5), [0.75, 0.25]),
        "another game": (lambda: advantages(games([1.0], [-1.0]), games([1.0], [0.0], "chess")), [1, 0]),
        "composed": (lambda: composed(against="random", tries=5), COMPOSED),
    },
    world=World("a side that always loses is not pushed down for that", second_side, {"decay": 1.0}, -0.5),
)  # fmt: skip
