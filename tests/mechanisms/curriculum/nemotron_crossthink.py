"""Nemotron-CrossThink: general problems and mathematics drawn in given proportions."""

from __future__ import annotations

from collections import Counter

from harness import Mechanism, World, made

from guerdon.core.example import ExamplePlay
from guerdon.core.task import kinds_of
from guerdon.curricula.blends import proportions

TASK = "countdown:1-2+trace:1+strings:1"


def recipe(**knobs):
    return made("nemotron-crossthink", TASK, **knobs)


def shares(**knobs):
    return recipe(**knobs).curriculum.shares()


def drawn(n=12, **knobs):
    curriculum = made("nemotron-crossthink", TASK, **knobs).curriculum
    asks = [*curriculum.draw(n // 2, ExamplePlay()), *curriculum.draw(n - n // 2, ExamplePlay())]
    return [ask.task.kind for ask in asks], [ask.n for ask in asks], len({ask.task.key for ask in asks})


def general(**knobs):
    """The share of problems that are no mathematics."""
    return 1 - Counter(kind.partition(":")[0] for kind in drawn(**knobs)[0])["countdown"] / 12


def weighed(**weights):
    return proportions(recipe().curriculum.task, {name.replace("_", ":"): weight for name, weight in weights.items()})


def by_family(**weights):
    return weighed(**weights).shares()


def families(n, **weights):
    return [ask.task.family for ask in weighed(**weights).draw(n, ExamplePlay())]


GENERAL = "trace:1", "strings:1"


CHOICES = ["countdown:1", "countdown:2", "prefer/trace:1", "prefer/strings:1"]


BEHIND = "shares[k] * total - self.drawn.get(k, 0)"

mechanism = Mechanism(
    "nemotron-crossthink",
    source="arXiv:2504.13941: general problems and mathematics 2 to 1, kinds of a domain alike",
    also=[proportions],
    numbers={
        "two to one": (shares, {"countdown:1": 1 / 6, "countdown:2": 1 / 6, "trace:1": 1 / 3, "strings:1": 1 / 3}),
        "one to one": (lambda: list(shares(ratio=1.0).values()), [0.25] * 4),
        "another domain": (lambda: list(shares(math=("trace",), ratio=3.0).values()), [0.25, 0.25, 0.25, 0.25]),
        "mathematics alone": (lambda: shares(ratio=0.0), {"countdown:1": 0.5, "countdown:2": 0.5}),
        "asked as choices": (lambda: list(shares(template="choice")), CHOICES),
        "whoever is furthest behind": (
            lambda: drawn(8, tries=3),
            [
                ["trace:1", "strings:1", "countdown:1", "countdown:2", "trace:1", "strings:1", "trace:1", "strings:1"],
                [3] * 8,
                8,
            ],
        ),
        "a family's weight is shared by its kinds without one": (
            lambda: [by_family(countdown=2.0, countdown_1=1.0, trace=1.0), by_family(countdown=2.0, trace=2.0)],
            [
                {"countdown:1": 0.25, "countdown:2": 0.5, "trace:1": 0.25},
                {"countdown:1": 0.25, "countdown:2": 0.25, "trace:1": 0.5},
            ],
        ),
        "choices are verified too": (lambda: list(kinds_of(recipe(template="choice").stages.scores[0].task)), CHOICES),
        "three to two to one, from the first on": (
            lambda: families(6, countdown_1=3.0, trace=2.0, strings=1.0),
            ["countdown", "trace", "countdown", "strings", "trace", "countdown"],
        ),
        "a problem of a kind comes once": (lambda: drawn(60)[2], 60),
    },
    world=World(
        says="half of the kinds are mathematics: two thirds of what is drawn are not",
        measure=general,
        off={"ratio": 1.0},
        moves=0.1,
    ),
    equal={
        "nemotron_crossthink: source.get(...) with 0 before 'train'": "any problem says its family",
        "nemotron_crossthink: 0 -> 1": "any problem says its family",
        f"proportions.draw: round({BEHIND}, 9) -> {BEHIND}": "only for equal gaps that floats tell apart",
        "proportions.draw: 9 -> 10": "the same",
    },
)
