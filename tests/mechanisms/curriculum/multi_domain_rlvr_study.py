"""Multi-domain RLVR: what training on some domains gains on them and on the others."""

from __future__ import annotations

from types import SimpleNamespace

from harness import Mechanism, World, made

from guerdon.core.budget import Budget
from guerdon.core.example import ExamplePlay

TASK = "countdown:1-2+trace:1+strings:1"
START = {"countdown:1": 0.5, "countdown:2": 0.1, "trace:1": 0.2, "strings:1": 0.4}


class Taught:
    """A run in which training on a domain adds 0.3 to its kinds, and mathematics 0.1 to all others."""

    budget = Budget(5, "steps")

    def __init__(self):
        self.trained = []

    def train(self, recipe, budget=None, steps=None):
        drawn = {ask.task.kind for ask in recipe.curriculum.draw(40, ExamplePlay())} if steps is None else set()
        tries = recipe.curriculum.tries
        self.trained.append([sorted(drawn), budget == self.budget if budget else steps, tries])
        also = 0.1 if any(kind.startswith("countdown") for kind in drawn) else 0.0
        after = {kind: value + (0.3 if kind in drawn else also) for kind, value in START.items()}
        return SimpleNamespace(curve=[({"tokens": 0}, told(START)), ({"tokens": 9}, told(after))])


def told(kinds):
    return {"pass@1": sum(kinds.values()) / len(kinds), "kinds": kinds}


def study(**knobs):
    run = Taught()
    return made("multi-domain-rlvr-study", TASK, **knobs).body(run, 0), run.trained


MEANS = {"countdown": 0.3, "trace": 0.2, "strings": 0.4}
ALONE = {
    "countdown": {"countdown": 0.3, "trace": 0.1, "strings": 0.1},
    "trace": {"countdown": 0.0, "trace": 0.3, "strings": 0.0},
    "strings": {"countdown": 0.0, "trace": 0.0, "strings": 0.3},
}

mechanism = Mechanism(
    "multi-domain-rlvr-study",
    source="arXiv:2507.17512: gains by domain of training on one, two and three domains",
    numbers={
        "each alone": (
            lambda: study()[0],
            {
                "own": 0.3,
                "transfer": 0.2 / 6,
                "accuracy": sum(0.3 + g / 3 for g in (0.5, 0.3, 0.3)) / 3,
                "gains": ALONE,
            },
        ),
        "what is trained on": (
            lambda: study(tries=3)[1],
            [[["countdown:1", "countdown:2"], True, 3], [["trace:1"], True, 3], [["strings:1"], True, 3]],
        ),
        "all together": (
            lambda: study(together=3)[0],
            {"own": 0.3, "accuracy": 0.6, "gains": {"countdown+trace+strings": dict.fromkeys(MEANS, 0.3)}},
        ),
        "nothing": (
            lambda: study(together=0),
            [{"transfer": 0.0, "accuracy": 0.3, "gains": {"": dict.fromkeys(MEANS, 0.0)}}, [[[], 0, 8]]],
        ),
    },
    world=World(
        says="one domain helps the others: transfer is told, and is more than where nothing is trained",
        measure=lambda together: study(together=together)[0]["transfer"],
        on={"together": 1},
        off={"together": 0},
        moves=0.03,
    ),
)
