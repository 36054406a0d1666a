"""URLVR: rewards without labels sharpen the start towards its mode, right or wrong; two steps at which training collapses."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace

import torch
from harness import Mechanism, World, made, said_texts

import guerdon as gd
from guerdon.core.budget import Budget
from guerdon.core.errors import UserError
from guerdon.core.example import ExamplePlay
from guerdon.studies.collapse import collapse_step, gain_at_best, model_collapse_step

TASK = gd.tasks.load("chain:1")
PROBLEM = TASK.get("train", 0)
ANSWERS = [f"= {int(PROBLEM.answer) + n}" for n in (5, 0, 1, 2)]  # the second is right
GROUPS = list(product(range(4), repeat=3))  # all that three tries can be
START = [0.4, 0.3, 0.2, 0.1]
EXAMS = [(0, 0.3), (5, 0.45), (10, 0.35), (15, 0.3), (20, 0.1)]
SEEN = [0.3, 0.5, None, 0.2, 0.1]


class Run:
    """A run that trains nothing, and keeps what it was asked to."""

    def __init__(self, budget=None):
        self.budget, self.asked, self.evaluated = budget, [], []

    def eval(self, model, exam, **how):
        self.evaluated.append(
            [[repr(metric) for metric in exam.metrics], how["tasks"], how["tries"], how["sampling"].max_tokens]
        )
        return {"pass@1": 0.3, "majority@3": 0.4}

    def train(self, lesson, budget):
        self.asked.append((lesson, budget and [budget.amount, budget.unit]))
        steps = [{"correct/mean": a} for a in SEEN]
        curve = [({"steps": step, "tokens": -1}, {"pass@1": a}) for step, a in EXAMS]
        return SimpleNamespace(metrics=SimpleNamespace(to_pylist=lambda: steps), curve=curve)


def studied(budget=None, **knobs):
    run = Run(budget)
    study = made("urlvr-scaling-study", task=TASK, model=gd.models.tabular("01", length=1), tries=3, **knobs)
    return study.body(run, 0), run


def lesson(name):
    return studied(rewards=name)[1].asked[0][0]


def rewards():
    _, run = studied()
    return [str(each.stages.scores[-1].reward) for each, _ in run.asked] + [type(run.asked[0][0].stages[0]).__name__]


def coin():
    """A coin pays right and wrong tries alike: of 200 right ones about half, within four deviations."""
    batch = said_texts((gd.Ask(PROBLEM), [ANSWERS[1]] * 200))
    value = lesson("random").stages.scores[-1](batch, Dice())["reward"]
    return abs(float(value.mean()) - 0.5) < 4 * 0.5 / 200**0.5


class Dice(ExamplePlay):
    def generator(self, *words):
        return torch.Generator().manual_seed(0)


def paid(name, p):
    """[G, 3] the advantages of every group of three tries, where answers have the probabilities `p`."""
    recipe = lesson(name)
    asks = [
        gd.Ask(gd.Task(str(i), PROBLEM.prompt, PROBLEM.answer, "chain", 1, PROBLEM.meta)) for i in range(len(GROUPS))
    ]
    batch = said_texts(*((ask, [ANSWERS[a] for a in group]) for ask, group in zip(asks, GROUPS, strict=True)))
    if name == "likelihood":  # of an answer that is one token
        batch = batch.put("reward", "track", p.log()[torch.tensor(GROUPS).flatten()].float())
    else:
        batch = recipe.stages.scores[-1](batch, ExamplePlay())
    batch = recipe.stages.credit[0](batch, ExamplePlay())
    return (batch.up(batch["advantage"], "track") / batch.up(torch.ones(batch.S), "track")).reshape(-1, 3).double()


def expected(rewards="vote", start=START, steps=60, rate=3.0):
    """The probabilities of answers after steps along the exact expectation of the gradient over all groups of tries."""
    logits, group = torch.tensor(start, dtype=torch.float64).log(), torch.tensor(GROUPS)
    advantage = paid(rewards, logits.exp())
    for _ in range(steps):
        p = logits.softmax(0)
        advantage = paid(rewards, p) if rewards == "likelihood" else advantage
        chance = p[group].prod(1)
        pull = torch.nn.functional.one_hot(group, 4).double() - p
        logits = logits + rate * (chance[:, None, None] * advantage[:, :, None] * pull).sum((0, 1)) / 3
    return logits.softmax(0)


def ends(rewards, start=START, **how):
    """The likeliest answer at the end, whether all others are below 1 %, and whether the right one is."""
    p = expected(rewards, start, **how)
    return [int(p.argmax()), bool(p.max() > 0.99), bool(p[1] < 0.01)]


def refused():
    try:
        made(
            "urlvr-scaling-study",
            task=gd.tasks.load("parity"),
            model=gd.models.tabular("01", length=1),
            rewards="vote,external",
        )
    except UserError as error:
        return str(error)


MEASURED = {
    "model_collapse_step": 3,
    "gain_at_best": 0.45 - 0.3,
    "end": 0.1,
    "collapse_step": 10,
    "curve": [list(point) for point in EXAMS],
}
mechanism = Mechanism(
    "urlvr-scaling-study",
    source="arXiv:2603.08660, abstract and summaries: intrinsic rewards sharpen the start; the Model Collapse Step",
    also=[collapse_step, model_collapse_step, gain_at_best],
    equal={
        "collapse_step: accuracy <= best - fall + ROUNDING -> accuracy < best - fall + ROUNDING": "none is a rounding away",
    },
    numbers={
        "a training for each": (
            rewards,
            [
                "majority",
                "low_entropy",
                "self_certainty",
                "likelihood",
                "flipped(correct, 0.5 by try)",
                "min of true_lines",
                "correct",
                "verified",
            ],
        ),
        "its measures": (
            lambda: studied(rewards="vote,truth", block=1)[0],
            {"single": 0.3, "confident": 0.4, "vote": MEASURED, "truth": MEASURED},
        ),
        "the start's majority": (
            lambda: studied(rewards="vote", problems=7)[1].evaluated,
            [[["accuracy()", "majority()"], 7, 3, 256]],
        ),
        "blocks": (lambda: studied(rewards="vote", block=2)[0]["vote"]["model_collapse_step"], 3),
        "under a level": (
            lambda: [studied(rewards="vote", under=u, block=1)[0]["vote"]["model_collapse_step"] for u in (0.15, 0.05)],
            [4, None],
        ),
        "a share of the budget each": (
            lambda: [each for _, each in studied(Budget(30, "steps"), rewards="vote,random,truth")[1].asked],
            [[10, "steps"]] * 3,
        ),
        "no budget": (lambda: [each for _, each in studied(rewards="vote,truth")[1].asked], [None, None]),
        "a coin": (coin, True),
        "no step checker": (refused, "parity has no step checker, which is the external check: --set rewards=vote"),
        "votes keep the mode": (lambda: ends("vote"), [0, True, True]),
        "so does likelihood": (lambda: ends("likelihood", steps=8, rate=10.0), [0, True, True]),
        "a start that is right": (lambda: ends("vote", [0.3, 0.4, 0.2, 0.1]), [1, True, False]),
        "the truth finds a rare answer": (lambda: ends("truth", [0.6, 0.1, 0.2, 0.1]), [1, True, False]),
        "lines are checked": (lambda: ends("external", [0.6, 0.1, 0.2, 0.1]), [1, True, False]),
        "two exams running": (
            lambda: [
                collapse_step([(n, a) for n, a in enumerate(curve)])
                for curve in ([0.3, 0.2, 0.2], [0.3, 0.2, 0.21, 0.2], [0.3], [])
            ],
            [1, None, None, None],
        ),
        "of another size": (lambda: collapse_step(EXAMS, fall=0.2, running=1), 20),
        "the first steps alone": (
            lambda: [model_collapse_step([]), model_collapse_step([(0, 0.5), (1, 0.5)], block=3)],
            [None, None],
        ),
        "the best exam": (lambda: gain_at_best([(0, 0.5), (1, 0.25)]), 0.0),
    },
    world=World(
        says="the answer that the start gives most often takes all, though it is wrong",
        measure=lambda rewards="vote": float(expected(rewards)[0]),
        off={"rewards": "truth"},
        moves=0.9,
    ),
)
