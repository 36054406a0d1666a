"""1-shot RLVR: train on the one problem whose success rate varied most in a run on all of them."""

from __future__ import annotations

from math import nan
from types import SimpleNamespace

from harness import Mechanism, World, made, said_tries

from guerdon.core.budget import Budget
from guerdon.core.example import ExamplePlay
from guerdon.curricula.success_records import by_variance, history_of, rates, recorded
from guerdon.tasks import load

TASK = load("countdown:1@4")
KEYS = [TASK.get("train", i).key for i in range(4)]
RATES = [[0.5, 0.5, 0.5], [0.0, 0.25, 0.0], [0.25, 1.0, 0.5], [1.0, None, 1.0]]  # of each problem, by step
BEGUN, ENDED = {"pass@1": 0.1, "kinds": {}}, {"pass@1": 0.4, "kinds": {}}


class Trained:
    """A run that trains nothing, and keeps what it was asked to."""

    budget = Budget(7, "steps")

    def __init__(self):
        self.asked = []

    def train(self, recipe, **how):
        self.asked.append((recipe, how))
        noted = {f"history/{key}": each for key, each in zip(KEYS, RATES, strict=True)}
        steps = [{"loss": 9.0, **{name: each[n] for name, each in noted.items()}} for n in range(3)]
        curve = [({"tokens": 0}, BEGUN), ({"tokens": 5}, ENDED)]
        return SimpleNamespace(metrics=SimpleNamespace(to_pylist=lambda: steps), curve=curve)


def study(seed=3, **knobs):
    run = Trained()
    result = made("one-shot-rlvr", TASK, **knobs).body(run, seed)
    lesson, how = run.asked[-1]
    drawn = lesson.curriculum.draw(8, ExamplePlay())
    return run, result, sorted({KEYS.index(ask.task.key) for ask in drawn}), how, drawn[0].n


def told(**knobs):
    _, result, problems, how, tries = study(**knobs)
    return [result["accuracy"], result["before"], result["problem"], problems, how, tries]


def first(**knobs):
    """The first run: its length, and that rates are noted in it."""
    run, *_ = study(**knobs)
    recipe, how = run.asked[0]
    return [how["budget"].amount, isinstance(recipe.curriculum, recorded), len(run.asked)]


def noted():
    play = ExamplePlay()
    recorded(None).observe(said_tries([((0,), 1), ((0,), 0)]), play)
    return play.metrics


def loss(**knobs):
    """The weights of what is in the loss, and what is compared with what."""
    run, *_ = study(**knobs)
    recipe = run.asked[-1][0]
    terms = {type(term).__name__: getattr(term, "weight", None) for term in recipe.stages.learners[0].loss.terms}
    return [terms, recipe.stages.credit[0].by]


mechanism = Mechanism(
    "one-shot-rlvr",
    source="arXiv:2504.20571: the variance of a problem's success rates over a run on all; entropy and KL of 0.001",
    also=[by_variance, history_of, rates, recorded],
    numbers={
        "the one that varied most": (told, [0.4, 0.1, 2, [2], {"budget": Trained.budget}, 8]),
        "all of them": (lambda: told(train="all")[2:5], [0, [0, 1, 2, 3], {"budget": Trained.budget}]),
        "nothing": (lambda: told(train="nothing")[3:5], [[0, 1, 2, 3], {"steps": 0}]),
        "any": (lambda: [study(seed, train="any")[2] for seed in (3, 4)], [[1], [3]]),
        "tries": (lambda: told(tries=3)[5], 3),
        "the first run, 8 and 3 times over 4 problems, 16 and 5 a step": (
            lambda: [first(), first(epochs=3, prompts=5), first(train="any")[2]],
            [[2, True, 2], [3, True, 2], 1],
        ),
        "loss, and copies compared by themselves": (
            lambda: [loss(), loss(kl=0.5, entropy=0.25)[0]],
            [[{"clipped": None, "kl": 0.001, "entropy": 0.001}, "ask"], {"clipped": None, "kl": 0.5, "entropy": 0.25}],
        ),
        "by variance, of equals the first, unseen ones last": (
            lambda: by_variance(TASK, {KEYS[3]: [0.0, 1.0], KEYS[1]: [0.5, 1.0], KEYS[2]: [0.0, 0.5]}),
            [3, 1, 2, 0],
        ),
        "rates of a step": (
            lambda: rates(said_tries([((0,), 1), ((0,), nan), ((0,), 0)], [((0,), nan)], [((0,), 1)]), "correct"),
            {"task/0": 0.5, "task/2": 1.0},
        ),
        "noted": (noted, {"history/task/0": 0.5}),
        "what is drawn is as it was": (lambda: recorded(made("grpo", TASK).curriculum).draw(2, ExamplePlay())[0].n, 8),
    },
    world=World(
        says="one problem is learned along the way, the others never or always: it is chosen",
        measure=lambda train: float(study(train=train)[2] == [2]),
        on={"train": "chosen"},
        off={"train": "all"},
        moves=1.0,
    ),
    equal={"by_variance: 0 -> 1": "of a set without an end, which the recipe refuses"},
)
