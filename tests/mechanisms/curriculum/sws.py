"""SwS: what stays unsolved in a first phase says of which kinds new problems are made for the second."""

from __future__ import annotations

import numpy as np
from harness import Mechanism, Scripted, World, made

from guerdon.core.pack import pack
from guerdon.curricula.plain import APART
from guerdon.recipes.curriculum.sws.parts import failure_rates, is_weak, shared_out, slope
from guerdon.tasks import load

TASK = "countdown:1-3"
SOURCE = load(TASK)


def phases(right, steps=3, n=6, new=None, seed=0, **knobs):
    """The curriculum after steps in which so many of four tries at each level are right (of new problems: `new`), the last
    step's asks, and everything that was played at once."""
    small = {"tries": 4, "size": 6, "epochs": 2, "candidates": 12, **knobs}
    recipe = made("sws", TASK, **small)
    drawer, asks = recipe.curriculum, []

    def says(ask, attempt):
        count = (right if ask.task.key in first else (new or right))[ask.task.level]
        return None if count is None else f"= {ask.task.answer}" if attempt < count else "= no"

    play = Scripted(says)
    play.seed = seed
    first = {SOURCE.get("train", i).key for i in range(small["size"])}
    for _ in range(steps):
        asks = drawer.draw(n, play)
        batch = pack(play(asks))
        drawer.observe(recipe.stages.scores[0](batch, play), play)
    return drawer, asks, play


def levels(tasks):
    return [sum(task["level"] == level for task in tasks) for level in (1, 2, 3)]


def made_of(*args, **knobs):
    """The new problems: how many of each level."""
    return levels(phases(*args, **knobs)[0].made)


def fresh(**knobs):
    """Where new problems are read from: beyond the set, and beyond where other seeds read; none of them twice."""
    drawer, _, _ = phases({1: 0, 2: 0, 3: 0}, new={1: 2, 2: 2, 3: 2}, seed=3, **knobs)
    kinds = SOURCE.kinds()
    expected = {
        kinds[f"countdown:{level}"].get("train", 3 * APART + 6 + i).prompt
        for level, count in ((1, 4), (2, 4), (3, 4))
        for i in range(count)
    }
    return {task["prompt"] for task in drawer.made} == expected - {SOURCE.get("train", i).prompt for i in range(6)}


def first_phase(**knobs):
    """The rates that were seen of each problem, none of whose visits is lost, and how far the set was read."""
    drawer, asks, _ = phases({1: 4, 2: 1, 3: 0}, steps=2, **knobs)
    rates = {SOURCE.get("train", i).key: SOURCE.get("train", i).level for i in range(6)}
    right = {1: 1.0, 2: 0.25, 3: 0.0}
    return [
        drawer.seen == {key: [right[level]] * 2 for key, level in rates.items()},
        drawer.drawn,
        drawer.made,
        {ask.n for ask in asks},
        [ask.note for ask in asks] == [{}] * 6,
    ]


def second_phase():
    """Old and new problems in turn, the new ones marked; nothing is observed any more, and no more is made."""
    drawer, asks, play = phases({1: 4, 2: 4, 3: 0}, steps=4, new={1: 2, 2: 2, 3: 2}, n=6)
    asked = {ask.task.key: bool(ask.note) for _ in range(5) for ask in drawer.draw(6, play)} | {
        ask.task.key: ask.note == {"new": True} for ask in asks
    }
    old = {SOURCE.get("train", i).key for i in range(6)}
    return [
        len(asked) == 6 + len(drawer.made),
        all(is_new == (key not in old) for key, is_new in asked.items()),
        max(map(len, drawer.seen.values())),
        play.asked,
        drawer.drawn,
    ]


def practice(**knobs):
    """The share of a second phase's asks whose tries differ, where one level is hard and can be learned."""
    drawer, _, play = phases({1: 4, 2: 4, 3: 0}, steps=3, new={1: 4, 2: 4, 3: 2}, **knobs)
    asks = [ask for _ in range(4) for ask in drawer.draw(6, play)]
    return sum(bool(ask.note) for ask in asks) / len(asks)


SHARED = (
    ({"a": 1 / 3, "b": 1.0, "c": 0.0}, 9),
    ({"a": 1.0, "b": 1.0, "c": 1.0}, 8),
    ({"a": 0.18, "b": 0.82}, 10),
)
SLOPES = [0.3, 0.1, 0.2], [0.1, 0.4, 0.2, 0.2], [0.0, 0.5]
mechanism = Mechanism(
    "sws",
    source="arXiv:2506.08989: weak where max_t a_t < 1/2 and the least-squares slope of a_t is not above 0; categories by their"
    " share of weak problems; new ones with an accuracy in [0.25, 0.75]",
    numbers={
        "slopes": (
            lambda: [slope(values) for values in (*SLOPES, [0.7])],
            [*(np.polyfit(range(len(values)), values, 1)[0] for values in SLOPES), 0.0],
        ),
        "never half, never rising": (
            lambda: [is_weak(v) for v in ([0.0] * 3, [0.49, 0.3], [0.5, 0.0], [0.0, 0.1], [1 / 3] * 4, [0.2], [])],
            [True, True, False, False, True, True, False],
        ),
        "the share of a kind's problems": (
            lambda: failure_rates(
                {"a": [0.0], "b": [1.0], "c": [0.2, 0.1], "d": []}, {"a": "x", "b": "x", "c": "y", "d": "z"}
            ),
            {"x": 0.5, "y": 1.0, "z": 0.0},
        ),
        "shared out by the largest remainders": (
            lambda: [shared_out(*each) for each in SHARED],
            [{"a": 2, "b": 7, "c": 0}, {"a": 3, "b": 3, "c": 2}, {"a": 2, "b": 8}],
        ),
        "nothing to share": (lambda: shared_out({"a": 0.0}, 8), {"a": 0}),
        "a set, several times over": (first_phase, [True, 12, None, {4}, True]),
        "new problems of the kinds that are weak": (
            lambda: made_of({1: 4, 2: 1, 3: 0}, new={1: 2, 2: 2, 3: 2}),
            [0, 6, 6],
        ),
        "even": (lambda: sum(made_of({1: 4, 2: 4, 3: 0}, new={1: 2, 2: 2, 3: 2}, by="even")[:2]) > 0, True),
        "those of a rate in the band": (
            lambda: [made_of({1: 0, 2: 0, 3: 0}, new=new) for new in ({1: 1, 2: 3, 3: 4}, {1: 0, 2: 4, 3: 2})],
            [[4, 4, 0], [0, 0, 4]],
        ),
        "in another band": (
            lambda: [made_of({1: 0, 2: 0, 3: 0}, new={1: 1, 2: 2, 3: count}, low=0.5, high=1.0) for count in (4, None)],
            [[0, 4, 4], [0, 4, 0]],
        ),
        "where nothing is weak, or none wanted, the set goes on": (
            lambda: [
                [phases({1: 4, 2: 4, 3: 2}, steps=4)[0].made, len(phases({1: 4, 2: 4, 3: 2}, steps=4)[1])],
                made_of({1: 0, 2: 0, 3: 0}, candidates=0),
            ],
            [[[], 6], [0, 0, 0]],
        ),
        "from beyond the set": (fresh, True),
        "then both in turn": (second_phase, [True, True, 2, 24 + 12, 12 + 30]),
    },
    world=World(
        says="one kind of a small set is never solved: new problems of it are solved now and then",
        measure=practice,
        off={"candidates": 0},
        moves=0.3,
    ),
    equal={
        "weakness._synthesise: 1.0 -> 2.0": "as even",
        "is_weak: slope(seen) <= 1e-09 -> slope(seen) < 1e-09": "no slope is just that",
    },
)
