"""ReflexiCoder: a chain of programs is paid for its last one, for how each became better, and for few reflections."""

from __future__ import annotations

from math import exp, pi, sin, tanh
from types import SimpleNamespace

from harness import Mechanism, World, made, paid

import guerdon as gd
from guerdon.exams.example_sitting import example_sitting
from guerdon.recipes.code.reflexicoder import (
    cycle_gate,
    efficiency,
    gains,
    quality,
    reflection_moves,
    self_corrected,
)
from guerdon.tasks.field.reflections import write_reflections


class judged:
    """Programs that say how many of four tests they pass: `def 3`."""

    name = "judged"

    def get(self, split, index):
        return gd.Task(str(index), "write f", "def 4")

    def size(self, split):
        return 1

    def check(self, task, completion):
        assert task.prompt == "write f"
        return float(completion.startswith("def 4"))

    def passed(self, task, program):
        return [n < int(program.split()[1]) for n in range(4)]


def recipe(**knobs):
    return made("reflexicoder", judged(), **knobs)


def reply(*counts):
    return write_reflections([f"def {n}" for n in counts], ["it is wrong"] * (len(counts) - 1))


def pay(*counts, **knobs):
    (value,) = paid(recipe(**knobs), [{"completion": reply(*counts), "task": judged().get("train", 0)}])
    return value


def composed(**knobs):
    made_of = made("reflexicoder", "functions:1", **knobs)
    return [repr(each) for each in [*made_of.stages, *made_of.exams, made_of.curriculum]]


def moves(*chains, whole=True):
    """What becomes of these chains of programs."""
    texts = [reply(*chain) if whole else reply(*chain).removesuffix("ok") for chain in chains]
    right = [float(chain[-1] == 4) for chain in chains]
    sitting = example_sitting([[text] for text in texts], correct=right)
    for n, episode in enumerate(sitting.batch.episodes):
        object.__setattr__(episode.ask.task, "id", n)
    source = SimpleNamespace(asked=lambda task: task.id, check=lambda at, text: float(at == THIRD and text == "def 4"))
    return reflection_moves(source)(sitting)


def noted(text, what="parts"):
    return getattr(self_corrected(judged())(text, judged().get("train", 0)), what)


def straight(**knobs):
    """How much more a program is paid that is corrected at once than one that is corrected at the second look."""
    return pay(0, 4, **knobs) - pay(0, 0, 4, **knobs)


def gate(n):
    over = n - 3
    return 1 / (1 + 0.1 * over**2) * exp(-0.05 * over) * (1 - 0.1 * sin(pi / 2 * over))


FIRST = exp(0.2) / (exp(0.2) + exp(0.4))  # what the first of two gains weighs
FORMLESS = ["", "def 4", "def 4\n? it is wrong\nok", "ok"]
THIRD = 2  # the problem whose first program is right
UP, EPS = tanh(10.0), 1e-6
SOURCE = "reflecting(source=functions())"
FINISHED = "Learn(model='policy', loss=total(terms=[clipped(), kl(weight={})]), on=finished(), opt=adam(lr=2e-05))"
EXAM = f"Exam(source={SOURCE}, metrics=[accuracy(), reflection_moves(source={SOURCE})])"

mechanism = Mechanism(
    "reflexicoder",
    source="arXiv:2603.05863; juyongjiang/ReflexiCoder@af90cb5, rewards_code/reflection.py, lines 151 to 238",
    numbers={
        "right at once": (lambda: pay(4), 1 + 0.5 * (1 + 0.5 * 0.05) + 1),
        "corrected": (lambda: pay(0, 4), 1 + 0.5 * (1 + 0.5 * UP) + (1 + 1 / (1 + EPS))),
        "broken": (lambda: pay(4, 0), 1 + 0.5 * (0 - 0.5 * UP) + (0 - 1 / (1 + EPS))),
        "wrong, and stands": (lambda: pay(0), 1 + 0.5 * (0 - 0.5)),
        "looked at twice": (
            lambda: pay(0, 0, 4),
            1 + 0.5 * (1 + 0.5 * (-FIRST + (1 - FIRST) * UP)) + (1 / 2 + 1 / (1 + EPS)),
        ),
        "other weights": (
            lambda: pay(0, 4, quality=0.25, efficiency=0.5),
            1 + 0.25 * (1 + 0.5 * UP) + 0.5 * (1 + 1 / (1 + EPS)),
        ),
        "by the share of tests": (
            lambda: pay(2, 3, partial=True),
            1 + 0.5 * (0.75 + 0.5 * tanh(2.5)) + (0.75 + 0.25 / (1 + EPS)),
        ),
        "six looks": (
            lambda: pay(*[0] * 6, 4, quality=0.0),
            1 + gate(6) * (1 / 6 + 1 / (5 + EPS)),
        ),
        "no form": (
            lambda: [self_corrected(judged())(text, judged().get("train", 0)).value for text in FORMLESS],
            [0.0] * 4,
        ),
        "in parts": (
            lambda: [
                noted(reply(0, 4)),
                noted(reply(*[0] * 6, 4))["efficiency"],
                noted("def 4"),
                noted("def 4", "why"),
            ],
            [
                {"form": 1.0, "quality": 1 + 0.5 * UP, "efficiency": 1 + 1 / (1 + EPS)},
                *(gate(6) * (1 / 6 + 1 / (5 + EPS)), {"form": 0.0}, "the form is not kept"),
            ],
        ),
        "six looks, all of it": (
            lambda: [noted(reply(*[0] * 7))["quality"], noted(reply(0, 4), "why")],
            [gate(6) * -0.5, "0 -> 1"],
        ),
        "not all tests": (lambda: pay(2), 1 + 0.5 * (0 - 0.5)),
        "the gate": (lambda: [cycle_gate(n) for n in range(9)], [0, 1, 1, 1, 1, 1, gate(6), gate(7), gate(8)]),
        "gains": (
            lambda: gains([0.0, 0.1, 0.1, 1.0, 1.0, 0.9, 0.90005], 0.1, 0.05, 2.0),
            [tanh(1.0), -2.0, tanh(9.0), 0.05, -tanh(1.0), -2.0],
        ),
        "quality": (lambda: quality([0.0, 1.0, 0.5], [1.0, -1.0], 0.5, 0.2), 0.5 + 0.5 * (FIRST - (1 - FIRST))),
        "efficiency": (
            lambda: [efficiency(each) for each in ([1.0, 1.0], [0.0, 0.0, 1.0, 1.0], [1.0, 0.0, 0.0])],
            [1.0, 1 / 3 + 1 / (2 + EPS), -1 / (1 + EPS)],
        ),
        "moves": (
            lambda: moves((4,), (0, 4), (4, 1), (4, 4)),
            {"first": 0.5, "mended": 0.5, "broken": 0.25, "reflections": 0.75, "kept_form": 1.0},
        ),
        "moves of a reply that is cut short": (
            lambda: moves((4,), (0,), whole=False),
            {"first": 0.5, "mended": 0.0, "broken": 0.0, "reflections": 0.0, "kept_form": 0.0},
        ),
        "composed": (
            lambda: composed(quality=0.25, efficiency=0.5, partial=True, kl=0.3),
            [
                f"verified(task={SOURCE})",
                f"score(reward=self_corrected(source={SOURCE}, weights=(1.0, 0.25, 0.5), partial=True))",
                *("centre()", FINISHED.format(0.3), EXAM, f"uniform(task={SOURCE})"),
            ],
        ),
        "paid for the last": (
            lambda: composed(pay="final"),
            [
                *(f"verified(task={SOURCE})", "centre(reward='correct')", FINISHED.format(0.01), EXAM),
                f"uniform(task={SOURCE})",
            ],
        ),
    },
    world=World(
        says="two programs are corrected, one at once and one at the second look: the first is paid more",
        measure=straight,
        off={"efficiency": 0.0},
        moves=0.4,
    ),
    equal={
        "gains: abs(after - before) > EQUAL -> abs(after - before) >= EQUAL": "no difference is just that",
        "gains: abs(before - 1.0) <= EQUAL -> abs(before - 1.0) < EQUAL": "no difference is just that",
        "efficiency: max(1, n - 1) + TINY -> max(1, n - 1) - TINY": "less than numbers are compared by",
        "efficiency: max(1, n - 1) + TINY -> max(1, n - 1)": "less than numbers are compared by",
        "reflection_moves.__call__: first[k] shuffled": "a mean has no order",
        "reflection_moves.__call__: said[k] shuffled (2)": "a mean has no order",
        "reflection_moves.__call__: said[k] shuffled (3)": "a mean has no order",
    },
)
