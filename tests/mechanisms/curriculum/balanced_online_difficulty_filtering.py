"""Balanced online difficulty filtering: learn from problems of intermediate success rate, and ask until there are enough."""

from __future__ import annotations

from math import nan
from statistics import fmean

import torch
from harness import Mechanism, World, credited, made, said_tries
from strategies import episode, segment

from guerdon.core.column import Column
from guerdon.core.example import ExamplePlay
from guerdon.core.pack import pack
from guerdon.select.filters import _take_groups, until_enough, with_rate

NAME = "balanced-online-difficulty-filtering"


class Planned(ExamplePlay):
    """A play whose further problems have so many right tries of four, in this order."""

    def __init__(self, *rights):
        super().__init__()
        self.rights, self.asked = list(rights), []

    def __call__(self, asks, env=None, seats=None):
        first, tries = 10 + sum(self.asked), []
        self.asked.append(len(asks))
        for number, ask in enumerate(asks, first):
            right = self.rights.pop(0)
            for attempt in range(4):
                said = ask.task.answer if attempt < right else "wrong"
                tries.append(episode(segment([0], text=said), ask=ask, number=number, attempt=attempt))
        return tries


def group(right, of=8):
    return [((0,), int(n < right)) for n in range(of)]


def kept(*rights, **knobs):
    """How many tries are right in each of the problems that are learned from, of eight."""
    batch = said_tries(*(group(right) for right in rights))
    rows = made(NAME, **knobs).stages.learners[0].on(batch, ExamplePlay())
    groups, size = rows.group("ask")
    return [float(rows["correct"][groups == g].sum()) for g in range(size)]


def again(*rights, first=(0, 4), **knobs):
    """How many problems are asked in each further round, and how many are then kept, where two are wanted."""
    recipe = made(NAME, "parity:1", **{"prompts": 2, "tries": 4, **knobs})
    more = next(stage for stage in recipe.stages if isinstance(stage, until_enough))
    play = Planned(*rights)
    batch = more(said_tries(*(group(right, 4) for right in first)), play)
    return [play.asked, recipe.stages.learners[0].on(batch, play).group("ask")[1], batch.group("ask")[1]]


def missing():
    """Two tries without a verdict are in no rate, and a problem that has none is not kept."""
    rows = with_rate("correct", 0.2, 0.8)(said_tries([((0,), 1), ((0,), nan), ((0,), 0)], [((0,), nan)]), ExamplePlay())
    return rows["correct"]


def divided():
    """Two asks of one task are compared by themselves."""
    tries = [episode(segment([0]), name="same", number=number, attempt=n) for number in range(2) for n in range(2)]
    batch = pack(tries).with_cols({"correct": Column.full("track", torch.tensor([1.0, 0.0, 1.0, 1.0]))})
    return credited(made(NAME, **{"centre.std": False}), batch)


MISSING = "(missing := (self.groups - self._found(batch, play)))"

mechanism = Mechanism(
    NAME,
    source="arXiv:2504.03380: a problem is kept where low <= rate <= high, and asked for until the batch is full",
    also=[with_rate.__call__, _take_groups, until_enough.__call__, until_enough._found],
    numbers={
        "of 8, 2 to 6 right": (lambda: kept(*range(9)), [2, 3, 4, 5, 6]),
        "another band, its ends with it": (lambda: kept(*range(9), low=0.125, high=0.5), [1, 2, 3, 4]),
        "no more than are wanted, the first of them": (lambda: kept(5, 8, 2, 3, prompts=2), [5, 2]),
        "tries without a verdict": (missing, [1.0, nan, 0.0]),
        "asked until there are two": (lambda: again(4, 2, 2), [[2, 1], 2, 5]),
        "as few as are missing": (lambda: again(3, first=(1, 4)), [[1], 2, 3]),
        "none where there are enough": (lambda: again(first=(1, 2, 3)), [[], 2, 3]),
        "so many rounds at most": (lambda: again(0, 0, 4, 4, 0, 4, rounds=3), [[2, 2, 2], 0, 8]),
        "an ask is a group": (divided, [0.5, -0.5, 0.0, 0.0]),
    },
    world=World(
        says="problems are too easy or too hard: what is learned from has a gradient all the same",
        measure=lambda **knobs: fmean(0 < right < 8 for right in kept(0, 8, 0, 4, 8, 3, **knobs)),
        off={"low": 0.0, "high": 1.0},
        moves=0.5,
    ),
    equal={
        f"until_enough.__call__: {MISSING} > 0 -> {MISSING} >= 0": "none are asked where none is missing",
        **dict.fromkeys(
            (
                f"until_enough.__call__: asked + len(asks) -> {there}"
                for there in ("asked - len(asks)", "asked", "len(asks)")
            ),
            "counted to be logged",
        ),
    },
)
