"""G-RA: what the turns of an episode earn counts only where its outcome reaches the gate."""

from __future__ import annotations

from harness import Mechanism, World, credited, made, paid

import guerdon as gd
from guerdon.core.example import example_tries
from guerdon.rewards.formula.algebra import bonus

FARMED = {"goal": 0.0, "submitted": False, "moves": ["run"] * 10, "edits": 0, "idle_edits": 0}
EMPTY = {"goal": 0.0, "submitted": True, "moves": ["run", "submit"], "edits": 0, "idle_edits": 0}
IDLE = {"goal": 0.0, "submitted": True, "moves": ["edit", "submit"], "edits": 1, "idle_edits": 1}
WRONG = {"goal": 0.0, "submitted": True, "moves": ["run", "edit", "", "submit"], "edits": 1, "idle_edits": 0}
RIGHT = {"goal": 1.0, "submitted": True, "moves": ["run", "edit", "edit", "submit"], "edits": 3, "idle_edits": 1}
NEARLY = {"goal": 0.0, "submitted": False, "moves": ["run", "edit"], "edits": 1, "idle_edits": 0}
EVEN = {"handed_in": 0.5, "tau": 0.5, "turn": 0.1}


def pay(*noted, **knobs):
    episodes = [gd.Episode(gd.Ask(gd.Task("1", "")), (), info=dict(info)) for info in noted]
    samples = [{"task": e.task, "episode": e, "role": "policy", "completion": ""} for e in episodes]
    return paid(made("g-ra", "repairs:1", **knobs), samples)


def six(**knobs):
    return pay(FARMED, EMPTY, IDLE, WRONG, RIGHT, NEARLY, **knobs)


def handed_in(**knobs):
    """The advantage of a program that is handed in, wrong, over ten moves and nothing handed in."""
    wrong, farmed = credited(made("g-ra", "repairs:1", **knobs), example_tries([pay(WRONG, FARMED, **knobs)]))
    return wrong - farmed


mechanism = Mechanism(
    "g-ra",
    source="arXiv:2508.10548: R = R_long + [R_long >= tau] sum of the turns' rewards",
    also=[bonus],
    numbers={
        "gated": (lambda: six(**EVEN), [0, 0, 0, 0.5 + 0.3, 1.0 + 0.4, 0]),
        "added directly": (lambda: six(accumulate="directly", **EVEN), [1.0, 0.2, 0.2, 0.5 + 0.3, 1.4, 0.2]),
        "the outcome alone": (lambda: six(accumulate="nothing", **EVEN), [0, 0, 0, 0.5, 1.0, 0]),
        "a gate for right programs": (lambda: six(**{**EVEN, "tau": 1.0}), [0, 0, 0, 0.5, 1.4, 0]),
        "a gate that is open": (lambda: six(**{**EVEN, "tau": 0.0}), [1.0, 0.2, 0.2, 0.8, 1.4, 0.2]),
        "as it is by default": (six, [0, 0, 0, 0.2 + 0.15, 1.2, 0]),
        "turns that cannot be read fail where they count": (
            lambda: pay({**WRONG, "moves": [None]}, {**FARMED, "moves": [None]}),
            [None, 0.0],
        ),
        "no fact, no turns": (
            lambda: pay({"goal": 1.0, **dict.fromkeys(("submitted", "edits"), 1), "idle_edits": 0}),
            [1.0],
        ),
    },
    world=World(
        says="moves can be made without handing in: handing in a changed program is preferred to ten moves",
        measure=handed_in,
        off={"accumulate": "directly"},
        moves=1.0,
    ),
    equal=dict.fromkeys(
        (
            f"bonus.decide: inner.valued & (inner.value >= where.now(self.least)) -> {there}"
            for there in (
                "inner.value >= where.now(self.least)",
                "inner.value >= where.now(self.least) (2)",
            )
        ),
        "an outcome without a value is NaN, which reaches no gate",
    ),
)
