"""DUMP: kinds of problems drawn with softmax(score / tau), a score being the mean absolute advantage and a UCB bonus."""

from __future__ import annotations

from math import exp, log, nan, sqrt

from harness import Mechanism, World, made, seen_by, tries_at

from guerdon.core.example import ExamplePlay
from guerdon.curricula.bandits import bandit, magnitude, softmax, ucb

TASK = "parity:1+successor:2"
KINDS = ["parity:1", "successor:2"]
SEEN = {"parity:1": [1.0, -0.5, -0.25], "successor:2": [0.0]}  # advantages of the tries at each kind
BONUS = sqrt(2 * log(5) / 4), sqrt(2 * log(5) / 2)  # 4 tries in all, 3 and 1 at the two


def scores(seen=SEEN, **knobs):
    chooser = seen_by(made("dump", TASK, **knobs).curriculum, seen).choose
    return chooser.scores(KINDS)


def shares(**knobs):
    chooser = seen_by(made("dump", TASK, **knobs).curriculum, SEEN).choose
    return chooser.shares([0.5, 0.3], ExamplePlay())


def drawn(**knobs):
    """How often the kind whose tries differ is drawn, where the other's never do, and how many tries a problem gets."""
    curriculum = made("dump", TASK, **knobs).curriculum
    for _ in range(6):
        asks = curriculum.draw(16, ExamplePlay())
        differ = {"parity:1": (1.0, -1.0), "successor:2": (0.0, 0.0)}
        curriculum.observe(tries_at({k: differ[k] for k in {ask.task.kind for ask in asks}}), ExamplePlay())
    return sum(ask.task.kind == "parity:1" for ask in curriculum.draw(100, ExamplePlay())) / 100


mechanism = Mechanism(
    "dump",
    source="ZhentingWang/DUMP@235e85d4, verl/utils/curriculum_learning.py, lines 141 to 166; arXiv:2504.09710",
    also=[ucb, softmax, bandit.draw, bandit.observe, magnitude],
    numbers={
        "mean |A| + sqrt(2 ln(n + 1) / (n_d + 1))": (scores, [1.75 / 3 + BONUS[0], BONUS[1]]),
        "the window keeps the latest": (lambda: scores(window=2), [0.375 + BONUS[0], BONUS[1]]),
        "explore weighs the bonus": (lambda: scores(explore=0.5), [1.75 / 3 + BONUS[0] / 2, BONUS[1] / 2]),
        "a step adds to those before": (
            lambda: seen_by(made("dump", TASK).curriculum, SEEN, {"parity:1": [2.0]}).choose.scores(KINDS),
            [3.75 / 4 + sqrt(2 * log(6) / 5), sqrt(2 * log(6) / 2)],
        ),
        "a try that has no value counts": (
            lambda: scores({"parity:1": [nan, 1.0], "successor:2": [nan]}),
            [1 + sqrt(2 * log(4) / 3), sqrt(2 * log(4) / 2)],
        ),
        "before anything was seen": (lambda: scores({}), [0.0, 0.0]),
        "a kind not tried": (lambda: scores({"parity:1": [0.0]}), [sqrt(log(2)), sqrt(2 * log(2))]),
        "softmax(score / 0.1)": (shares, [exp(5) / (exp(5) + exp(3)), exp(3) / (exp(5) + exp(3))]),
        "softmax(score / tau)": (lambda: shares(tau=0.2), [exp(1) / (exp(1) + 1), 1 / (exp(1) + 1)]),
        "tries": (lambda: [ask.n for ask in made("dump", TASK, tries=3).curriculum.draw(2, ExamplePlay())], [3, 3]),
    },
    world=World(
        says="tries at one kind differ, those at the other come out alike: the first is drawn more",
        measure=drawn,
        off={"tau": 1e6},
        moves=0.25,
    ),
    equal={
        "magnitude.__call__: batch.up(...) without of=": "an advantage is a column per step, which is the default",
    },
)
